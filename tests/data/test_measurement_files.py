"""MDF files of measurement tools: channels on one raster, on several, and what is no such file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ieql.data.cells import ColumnKind
from ieql.data.reading import read_table
from ieql.errors import IeqlError

asammdf = pytest.importorskip("asammdf")
TIMES = np.arange(0.0, 4.0, 0.1)
GEARS = {"val_0": 0, "text_0": b"low", "val_1": 1, "text_1": b"high"}


def signal(name: str, values: np.ndarray, times: np.ndarray, unit: str = "", **more: object):
    return asammdf.Signal(values, times, name=name, unit=unit, **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A fast raster with speed, torque and gear, and a slow one with a temperature."""
    with asammdf.MDF(version="4.10") as file:
        fast = [
            signal("n", 1000 + 100 * TIMES, TIMES, "1/min"),
            signal("M", 0.01 * TIMES**2, TIMES, "Nm"),
            signal("gear", (TIMES > 2).astype(np.uint8), TIMES, conversion=GEARS),
        ]
        file.append(fast, acq_name="fast", common_timebase=True)
        slow = np.arange(0.0, 4.0)
        file.append([signal("T", 20 + slow, slow, "°C")], acq_name="slow", common_timebase=True)
        file.save(tmp_path / "bench.mf4")
    return tmp_path / "bench.mf4"


def test_the_channels_of_one_raster_are_a_table(path: Path) -> None:
    table = read_table(path, sheet="fast")
    assert list(table.frame.columns) == ["time", "n", "M", "gear"]
    np.testing.assert_allclose(table.frame["n"], 1000 + 100 * TIMES)
    assert table.units == {"time": "s", "n": "1/min", "M": "Nm"}
    assert table.kinds["gear"] == ColumnKind.TEXT
    assert table.frame["gear"].tolist() == ["high" if t > 2 else "low" for t in TIMES]


def test_a_raster_may_be_named_by_its_number(path: Path) -> None:
    assert list(read_table(path, sheet="1").frame.columns) == ["time", "T"]


def test_several_rasters_are_never_interpolated_unasked(path: Path) -> None:
    with pytest.raises(IeqlError, match=r"2 rasters: 'fast' \(40 rows: 'n', 'M', 'gear'\), 'slow'"):
        read_table(path)
    with pytest.raises(IeqlError, match=r"no raster 'fats'\. Did you mean 'fast'"):
        read_table(path, sheet="fats")


def test_all_channels_are_interpolated_to_a_raster_that_the_user_gives(path: Path) -> None:
    table = read_table(path, raster=0.5)
    assert table.frame["time"].tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3]  # while all were measured
    np.testing.assert_allclose(table.frame["T"], 20 + table.frame["time"])
    assert table.frame["gear"].tolist() == ["low"] * 5 + ["high"] * 2  # the last one before
    assert any("a row every 0.5 s" in line for line in table.said())


def test_invalid_samples_are_gaps(tmp_path: Path) -> None:
    invalid = TIMES < 0.25
    with asammdf.MDF(version="4.10") as file:
        file.append(
            [
                signal("x", TIMES, TIMES, invalidation_bits=invalid),
                signal("y", 2 * TIMES, TIMES),
            ],
            common_timebase=True,
        )
        file.save(tmp_path / "gaps.mf4")
    table = read_table(tmp_path / "gaps.mf4")
    assert table.frame["x"].isna().tolist() == invalid.tolist()


def test_version_3_is_read_as_well(tmp_path: Path) -> None:
    with asammdf.MDF(version="3.30") as file:
        file.append([signal("x", TIMES, TIMES), signal("y", 2 * TIMES, TIMES)])
        file.save(tmp_path / "old.mdf")
    assert list(read_table(tmp_path / "old.mdf").frame.columns) == ["time", "x", "y"]


@pytest.mark.parametrize("length", [0, 10, 200, 1500])
def test_what_is_no_whole_file_is_one_sentence(path: Path, length: int) -> None:
    (path.parent / "cut.mf4").write_bytes(path.read_bytes()[:length])
    with pytest.raises(IeqlError, match=r"is not an MDF file|cannot be read as an MDF file"):
        read_table(path.parent / "cut.mf4")


def test_other_files_have_no_rasters(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n1,2\n")
    with pytest.raises(IeqlError, match="is not an MDF file: it has no rasters"):
        read_table(tmp_path / "t.csv", raster=1)
    with pytest.raises(IeqlError, match="raster must be a number of seconds above 0"):
        read_table(tmp_path / "t.csv", raster=0)
