"""Dates and times: seconds since the first row, or a sentence on what is unclear."""

from __future__ import annotations

import pandas as pd
import pytest

from ieql.data.dates import is_date, seconds_since, unclear_dates
from ieql.errors import IeqlError


@pytest.mark.parametrize(
    ("cells", "seconds"),
    [
        (["2024-01-31", "2024-02-01"], [0, 86400]),
        (["2024-01-31T23:59:59.5Z", "2024-02-01T00:00:00Z"], [0, 0.5]),
        (["2024-01-31 12:00:00+01:00", "2024-01-31 12:00:00-0130"], [0, 9000]),
        (["31.01.2024 08:00", "1.2.2024 08:00"], [0, 86400]),
        (["31/01/24", "01/02/24"], [0, 86400]),
        (["01/31/2024 11:59:59 PM", "02/01/2024 12:00:00 AM"], [0, 1]),
        (["08:00:00", "08:00:01,250"], [0, 1.25]),
        (["2024/02/28", "2024/03/01"], [0, 2 * 86400]),
    ],
)
def test_seconds_since_the_first_row(cells: list[str], seconds: list[float]) -> None:
    assert all(map(is_date, cells))
    found, _ = seconds_since(pd.Series(cells), "X")
    assert found.tolist() == seconds


def test_gaps_stay_gaps_and_an_origin_is_kept() -> None:
    first, begin = seconds_since(pd.Series([None, "2024-01-01", "2024-01-02"]), "X")
    assert str(first.tolist()) == "[nan, 0.0, 86400.0]"
    later, again = seconds_since(pd.Series(["2024-01-03"]), "X", origin=begin)
    assert (later.tolist(), again) == ([2 * 86400.0], begin)


def test_dates_of_a_frame_are_taken_as_they_are() -> None:
    stamps = pd.Series(pd.date_range("2024-01-01", periods=3, freq="h", tz="Europe/Berlin"))
    assert seconds_since(stamps, "X")[0].tolist() == [0, 3600, 7200]
    spans = pd.Series(pd.to_timedelta(["1h", None, "2h"]))
    assert str(seconds_since(spans, "X")[0].tolist()) == "[0.0, nan, 3600.0]"


@pytest.mark.parametrize("order", ["day-first", "month-first"])
def test_the_user_says_what_is_first(order: str) -> None:
    cells = pd.Series(["01/02/2024", "02/02/2024"])
    days = {"day-first": 1, "month-first": 31}[order]
    assert seconds_since(cells, "X", order)[0].tolist() == [0, days * 86400.0]


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["01/02/2024", "02/02/2024"], "say --dates day-first or --dates month-first"),
        (["08:00", "08:01"], "hours and minutes or minutes and seconds; write them as hours:"),
        (["31/01/2024", "01/31/2024"], "has the day first in some dates and the month first in"),
        (["31.02.2024"], "holds '31.02.2024', which is no date; correct it"),
        (["25:61:00"], "holds '25:61:00', which is no time of day"),
        (["23:59:59", "00:00:01"], "times of day that pass midnight; write dates with them"),
        (["2024-01-01", "08:00:00"], "holds '08:00:00' among dates; write all in one way"),
    ],
)
def test_what_cannot_be_read_is_refused(cells: list[str], sentence: str) -> None:
    with pytest.raises(IeqlError) as caught:
        seconds_since(pd.Series(cells), "'f.csv', column 't'")
    assert str(caught.value).startswith("'f.csv', column 't' ")
    assert sentence in str(caught.value)


def test_points_between_day_and_month_are_clear() -> None:
    assert unclear_dates(["01.02.2024"]) == ""
    assert unclear_dates(["01-02-2024"]) != ""


def test_times_do_not_go_on_from_dates() -> None:
    with pytest.raises(IeqlError, match="holds times, but the fit had dates"):
        seconds_since(pd.Series(["08:00:00"]), "X", origin="2024-01-01T00:00:00.000000000")
