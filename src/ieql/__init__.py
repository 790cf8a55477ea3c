"""Informed equation learning: from a table of measurements to a compact equation.

The public names are loaded on first use, so that ``import ieql`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ieql.data.reading import read_table
    from ieql.errors import IeqlError
    from ieql.fitted_formula import fit_formula
    from ieql.prior import Prior
    from ieql.problems import load_problem
    from ieql.regressor import IEQLRegressor
    from ieql.units import Unit

__version__ = "0.1.0"  # the one place: pyproject.toml reads it from here
__all__ = [
    "IEQLRegressor",
    "IeqlError",
    "Prior",
    "Unit",
    "fit_formula",
    "load_problem",
    "read_table",
]

_HOMES = {
    "IEQLRegressor": "ieql.regressor",
    "IeqlError": "ieql.errors",
    "Prior": "ieql.prior",
    "Unit": "ieql.units",
    "fit_formula": "ieql.fitted_formula",
    "load_problem": "ieql.problems",
    "read_table": "ieql.data.reading",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'ieql' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
