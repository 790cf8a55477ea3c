"""Plugins: modules that register units, criteria, export formats or trainers when imported.

A package names its module in the entry-point group ``ieql.plugins``; a module or a file of one's
own is named in the environment variable ``IEQL_PLUGINS``. They are imported once, and only when a
registry is asked for a name that it does not know or for all its names: nothing else waits for
them.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
from pathlib import Path

from ieql.errors import IeqlError

__all__ = ["GROUP", "VARIABLE", "load_plugins"]

GROUP = "ieql.plugins"
"""Entry points of installed packages in which plugins are named."""
VARIABLE = "IEQL_PLUGINS"
"""Environment variable with names of modules and paths of Python files, separated by commas."""


@functools.cache
def load_plugins() -> None:
    """Import all plugins, the first time that it is called.

    Raises
    ------
    IeqlError
        If one cannot be imported; the sentence names it.
    """
    from importlib.metadata import entry_points  # takes some milliseconds

    for point in entry_points(group=GROUP):
        try:
            point.load()
        except Exception as error:
            raise _failed(f"{point.name!r} of the installed packages", error) from error
    for name in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))):
        try:
            _import_file(Path(name)) if name.endswith(".py") else importlib.import_module(name)
        except Exception as error:
            raise _failed(f"{name!r} in {VARIABLE}", error) from error


def _import_file(path: Path) -> None:
    """Import a file as a module, from a folder in which worker processes will find it, too."""
    if not path.is_file():
        raise IeqlError("there is no such file")
    folder = str(path.parent.resolve())
    if folder not in sys.path:
        sys.path.append(folder)
    importlib.invalidate_caches()
    module = importlib.import_module(path.stem)
    if Path(module.__file__ or "").resolve() != path.resolve():
        raise IeqlError(f"there is another module {path.stem!r}; rename the file")


def _failed(plugin: str, error: Exception) -> IeqlError:
    reason = str(error) if isinstance(error, IeqlError) else f"{type(error).__name__}: {error}"
    return IeqlError(f"The plugin {plugin} cannot be loaded: {reason.rstrip('.')}.")
