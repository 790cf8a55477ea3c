"""What pages are made with: templates in which all that is filled in is escaped."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Any

__all__ = ["filled", "markup", "package_file"]

NO_TEXT = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f\\ud800-\\udfff\\ufffe\\uffff]")
"""Characters that HTML does not know, and halves of such that cannot be written to a file."""


def filled(name: str, **values: Any) -> str:
    """The text of a page: a template that stands beside this file, with its values."""
    return NO_TEXT.sub("\ufffd", str(_template(name).render(**values)))


@functools.cache  # to compile one takes longer than to fill it in
def _template(name: str) -> Any:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(package_file(name))


def package_file(name: str) -> str:
    """The text of a file that stands beside this one."""
    return resources.files("ieql.report").joinpath(name).read_text(encoding="utf-8")


def markup(text: str) -> Any:
    """Mark text of our own as safe: all of the user's in it has been escaped."""
    from markupsafe import Markup

    return Markup(text)
