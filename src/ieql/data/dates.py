"""Dates and times in cells: which order of day and month a column has, and seconds from them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ieql.errors import IeqlError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ORDERS", "is_date", "seconds_since", "unclear_dates"]

ORDERS = ("day-first", "month-first")
"""What 01/02/2024 may mean: the first of February, or the second of January."""

CLOCK = (
    r"(?P<h>\d{1,2}):(?P<min>\d{2})(?::(?P<s>\d{2})(?:[.,](?P<f>\d{1,9}))?)?"
    r"\s?(?P<ampm>[AaPp][Mm])?"
)
YEAR_FIRST = re.compile(
    rf"(?P<y>\d{{4}})(?P<mark>[-/.])(?P<m>\d{{1,2}})(?P=mark)(?P<d>\d{{1,2}})"
    rf"(?:[T ]{CLOCK})?(?P<zone>Z|[+-]\d{{2}}:?\d{{2}})?"
)
YEAR_LAST = re.compile(
    r"(?P<a>\d{1,2})(?P<mark>[-/.])(?P<b>\d{1,2})(?P=mark)(?P<y>\d{4}|\d{2})"
    + rf"(?:,?[T ]{CLOCK})?"
)
CLOCK_ALONE = re.compile(CLOCK)
NOON = 12
DAY = 86_400.0


def is_date(text: str) -> bool:
    """Tell whether a text has the form of a date, a time of day or both."""
    return any(form.fullmatch(text) for form in (YEAR_FIRST, YEAR_LAST, CLOCK_ALONE))


def unclear_dates(texts: Iterable[str]) -> str:
    """Why a column of dates cannot be read without being told more; empty if it can."""
    first, second, clocks = 0, 0, False
    for text in texts:
        if found := YEAR_LAST.fullmatch(text):
            if found["mark"] != ".":  # 01.02.2024 has the day first everywhere
                first, second = max(first, int(found["a"])), max(second, int(found["b"]))
        elif (found := CLOCK_ALONE.fullmatch(text)) and found["s"] is None:
            clocks = True
    if clocks:
        return "hours and minutes or minutes and seconds"
    return "the day or the month first" if 0 < first <= NOON and 0 < second <= NOON else ""


def seconds_since(
    column: pd.Series[Any], where: str, order: str | None = None, origin: str | None = None
) -> tuple[NDArray[np.float64], str]:
    """Seconds since the first row of a column of dates or times, and what that is.

    Parameters
    ----------
    column : pandas.Series
        Dates as such, or texts for which `is_date` holds; gaps become NaN.
    where : str
        Words for the column, for messages.
    order : "day-first" or "month-first", optional
        What 01/02/2024 means.
    origin : str, optional
        What to count from instead of the first row: what an earlier call returned.
    """
    import pandas as pd

    if column.dtype.kind == "m":
        return _since(column.dt.total_seconds().to_numpy(np.float64), origin, where)
    if column.dtype.kind == "M":
        stamps = pd.DatetimeIndex(column)
        stamps = stamps if stamps.tz is None else stamps.tz_convert("UTC").tz_localize(None)
        values = stamps.to_numpy().astype("datetime64[ns]")
    else:
        present = column.notna().to_numpy()
        texts = [str(text).strip() for text in column[present]]
        unclear = unclear_dates(texts)
        if unclear and not (order and "month" in unclear):
            remedy = (
                "say --dates day-first or --dates month-first"
                if "month" in unclear
                else "write them as hours:minutes:seconds"
            )
            raise IeqlError(
                f"{where} holds {texts[0]!r} and the like, which may have {unclear}; {remedy}."
            )
        if all(CLOCK_ALONE.fullmatch(text) for text in texts):
            return _clocks(texts, present, where, origin)
        day_first = order == "day-first" if unclear else _day_first(texts, where)
        values = np.full(len(column), np.datetime64("NaT", "ns"))
        values[present] = [_stamp(text, day_first, where) for text in texts]
    known = values[~np.isnat(values)]
    if not len(known):
        raise IeqlError(f"{where} holds no date or time at all; leave the column out.")
    begin = known[0] if origin is None else _saved(origin, where)
    seconds = (values - begin) / np.timedelta64(1, "ns") / 1e9
    seconds[np.isnat(values)] = np.nan
    return seconds, str(begin)


def _saved(origin: str, where: str) -> np.datetime64:
    try:
        return np.datetime64(origin, "ns")
    except ValueError as error:
        raise IeqlError(f"{where} was counted from {origin!r}, which is no date.") from error


def _since(
    seconds: NDArray[np.float64], origin: str | None, where: str
) -> tuple[NDArray[np.float64], str]:
    known = seconds[~np.isnan(seconds)]
    if not len(known):
        raise IeqlError(f"{where} holds no time at all; leave the column out.")
    try:
        begin = float(known[0]) if origin is None else float(origin)
    except ValueError as error:
        raise IeqlError(f"{where} holds times, but the fit had dates ({origin}).") from error
    return seconds - begin, repr(begin)


def _clocks(
    texts: list[str], present: NDArray[np.bool_], where: str, origin: str | None
) -> tuple[NDArray[np.float64], str]:
    """Seconds of times of day, which must not pass midnight: nobody knows how many did."""
    seconds = np.full(len(present), np.nan)
    seconds[present] = [_time_of_day(CLOCK_ALONE.fullmatch(text), text, where) for text in texts]
    found = seconds[present]
    if np.any(np.diff(found) < -DAY / 2):
        raise IeqlError(
            f"{where} holds times of day that pass midnight; write dates with them, or seconds."
        )
    return _since(seconds, origin, where)


def _day_first(texts: list[str], where: str) -> bool:
    """Whether the day comes first, as the numbers above twelve tell."""
    pairs = [found for text in texts if (found := YEAR_LAST.fullmatch(text))]
    marked = [found for found in pairs if found["mark"] != "."]
    day_first = any(int(found["a"]) > NOON for found in marked) or not marked
    if day_first and any(int(found["b"]) > NOON for found in pairs):
        odd = next(found[0] for found in pairs if int(found["b"]) > NOON)
        raise IeqlError(
            f"{where} has the day first in some dates and the month first in others, such as "
            f"{odd!r}; write all in one way."
        )
    return day_first


def _stamp(text: str, day_first: bool, where: str) -> np.datetime64:
    found = YEAR_FIRST.fullmatch(text)
    if found is not None:
        year, month, day = found["y"], found["m"], found["d"]
        zone = found["zone"]
    else:
        found = YEAR_LAST.fullmatch(text)
        if found is None:
            raise IeqlError(f"{where} holds {text!r} among dates; write all in one way.")
        year = found["y"] if len(found["y"]) > 2 else f"20{found['y']}"
        first_is_day = day_first or found["mark"] == "."
        day, month = (found["a"], found["b"]) if first_is_day else (found["b"], found["a"])
        zone = None
    try:
        date = np.datetime64(f"{int(year):04d}-{int(month):02d}-{int(day):02d}", "ns")
    except ValueError as error:
        raise IeqlError(f"{where} holds {text!r}, which is no date; correct it.") from error
    seconds = 0.0 if found["h"] is None else _time_of_day(found, text, where)
    if zone is not None and zone != "Z":
        sign = -1 if zone[0] == "+" else 1
        seconds += sign * (3600 * int(zone[1:3]) + 60 * int(zone[-2:]))
    return date + np.timedelta64(round(seconds * 1e9), "ns")


def _time_of_day(found: re.Match[str] | None, text: str, where: str) -> float:
    assert found is not None  # the caller has matched it
    hour, minute, second = int(found["h"]), int(found["min"]), int(found["s"] or 0)
    half = (found["ampm"] or "").lower()
    if half:
        hour = hour % NOON + (NOON if half == "pm" else 0)
    if hour > 24 or minute > 59 or second > 60:
        raise IeqlError(f"{where} holds {text!r}, which is no time of day; correct it.")
    return 3600.0 * hour + 60.0 * minute + second + float(f"0.{found['f'] or 0}")
