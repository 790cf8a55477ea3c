"""The one family of errors a user can cause, the "did you mean" that goes with them; warnings."""

from __future__ import annotations

import difflib
import itertools
import reprlib
from collections.abc import Iterable

__all__ = [
    "DisagreementWarning",
    "FewRowsWarning",
    "IeqlError",
    "OutlierWarning",
    "OutsideDomainWarning",
    "counted",
    "nearest",
    "shown",
]

LONGEST, MOST = 300, 2_000
"""Comparing takes the product of the lengths: longer names, and more of them, have no nearest."""

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 80
_SHORT.maxlevel = 2


class IeqlError(ValueError):
    """Bad input, said in one clear sentence: what is wrong, where, and how to fix it.

    It derives from `ValueError`, which is what scikit-learn's own checks and its users expect.
    """


class OutsideDomainWarning(UserWarning):
    """Values were asked for where the equation was never checked: it says in which inputs."""


class OutlierWarning(UserWarning):
    """Rows that lie far from the equation were left out of the fit: it says which."""


class DisagreementWarning(UserWarning):
    """Training and validation error of the selected equation differ by more than chance."""


class FewRowsWarning(UserWarning):
    """There are so few rows that an equation from them is a suggestion: it says what they tell."""


def counted(n: float, what: str) -> str:
    """So many of something, in words.

    >>> counted(1, "line"), counted(1200, "row")
    ('1 line', '1,200 rows')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the valid name closest to `name`, or an empty string."""
    if len(str(name)) > LONGEST:
        return ""
    words = [str(v) for v in itertools.islice(valid, MOST)]
    matches = difflib.get_close_matches(
        str(name), [w for w in words if len(w) <= LONGEST], n=1, cutoff=0.5
    )
    return f" Did you mean {matches[0]!r}?" if matches else ""


def shown(value: object) -> str:
    """Return `value` as it stands in a message, shortened if it is large."""
    return _SHORT.repr(value)
