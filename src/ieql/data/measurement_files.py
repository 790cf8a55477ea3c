"""Tables in MDF files, as measurement and calibration tools write them (ASAM MDF 3 and 4).

Such a file holds channels on several rasters: some every 10 ms, others every second. Channels of
one raster are a table. Those of several are not, unless they are interpolated, which is done only
where the user says at which times.
"""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ieql.data.notes import Kind, Note, listed
from ieql.data.sheet_files import check_size, damaged, reader
from ieql.errors import IeqlError, nearest

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MDF_ENDINGS", "MeasuredTable", "table_of_mdf"]

MDF_ENDINGS = (".mf4", ".mdf")
NAMED = 4
"""Channels of a raster, and rasters, that a message names."""
MASTERS = (2, 3)
"""Types of the channels that hold the times of a group, written or computed."""
TIME = "time"


@dataclass(frozen=True, eq=False)
class MeasuredTable:
    """A table from a file of measurements.

    Attributes
    ----------
    frame : pandas.DataFrame
        The times, in seconds, and the channels.
    units : dict
        Units of the columns, as far as the file tells them.
    notes : tuple of Note
        What was done, and what was left out.
    """

    frame: pd.DataFrame
    units: dict[str, str]
    notes: tuple[Note, ...]


@dataclass(frozen=True, eq=False)
class _Raster:
    """Channels that were measured at the same times."""

    name: str
    times: NDArray[np.float64]
    places: list[tuple[str, int, int]]
    """Name, group and index of each channel."""

    @property
    def words(self) -> str:
        channels = listed([name for name, _, _ in self.places], NAMED)
        return f"{self.name!r} ({len(self.times):,} rows: {channels})"


def table_of_mdf(path: Path, group: str | None, raster: float | None) -> MeasuredTable:
    """The channels of a file on one raster, or interpolated to a raster that the user gives.

    Parameters
    ----------
    path : Path
        The file.
    group : str, optional
        The name of a raster, or its number, if only its channels are wanted.
    raster : float, optional
        Seconds between two rows to which all channels are interpolated.

    Raises
    ------
    IeqlError
        If it is no such file, or there are several rasters and the user says nothing of them.
    """
    name = repr(str(path))
    with path.open("rb") as start:  # what may not be read is said as of other files
        if start.read(3) not in (b"MDF", b"UnF"):
            raise IeqlError(f"{name} is not an MDF file: it does not begin like one.")
    asammdf = reader("asammdf", "mdf", "MDF")
    with _opened(asammdf, path, name) as file:
        try:
            return _table(file, name, group, raster)
        except IeqlError:
            raise
        except Exception as error:  # whatever a damaged file makes the reader raise
            raise damaged(name, "an MDF", error) from error


def _opened(asammdf: Any, path: Path, name: str) -> Any:
    """The file as its reader has it; of one that is cut short the reader complains twice."""
    fault, hook = None, sys.unraisablehook
    sys.unraisablehook = lambda _: None  # it cannot close what it could not open, and says so
    try:
        return asammdf.MDF(str(path))
    except Exception as error:
        fault = damaged(name, "an MDF", error)
    finally:
        gc.collect()
        sys.unraisablehook = hook
    raise fault


def _table(file: Any, name: str, group: str | None, raster: float | None) -> MeasuredTable:
    rasters = _rasters(file, name)
    if group is not None:
        rasters = [_chosen(rasters, group, name)]
    if len(rasters) > 1 and raster is None:
        raise IeqlError(
            f"{name} has channels on {len(rasters)} rasters: "
            f"{', '.join(r.words for r in rasters[:NAMED])}"
            f"{' and more' if len(rasters) > NAMED else ''}; name one with --sheet, or say "
            "--raster SECONDS to interpolate all of them."
        )
    times = rasters[0].times if raster is None else _grid(rasters, raster, name)
    n_channels = sum(len(r.places) for r in rasters)
    check_size(len(times) * (1 + n_channels), name)
    columns: dict[str, Any] = {TIME: times}
    units = {TIME: "s"}
    left_out = []
    for own in rasters:
        for channel, number, index in own.places:
            if channel in columns:
                raise IeqlError(
                    f"{name} has several channels {channel!r}; name the raster of one of them with "
                    "--sheet, or rename them."
                )
            signal = file.get(group=number, index=index, ignore_invalidation_bits=True)
            values = _values(signal)
            if values is None:
                left_out.append(channel)
                continue
            columns[channel] = values if raster is None else _at(times, own.times, values)
            if signal.unit:
                units[channel] = str(signal.unit)
    notes = [Note(Kind.FACT, f"MDF, {listed([r.name for r in rasters], NAMED)}")]
    if raster is not None:
        words = f"a row every {raster:g} s; numbers with decimals are interpolated, all others last"
        notes.append(Note(Kind.READ, f"{words} until they change"))
    if left_out:
        notes.append(Note(Kind.LEFT_OUT, f"{listed(left_out)}, which hold no single numbers"))
    import pandas as pd

    return MeasuredTable(pd.DataFrame(columns), units, tuple(notes))


def _rasters(file: Any, name: str) -> list[_Raster]:
    """The channels of a file by their times; groups with the same times are one raster."""
    found: list[_Raster] = []
    for number, part in enumerate(file.groups):
        places = [
            (str(channel.name), number, index)
            for index, channel in enumerate(part.channels)
            if channel.channel_type not in MASTERS and channel.name != TIME
        ]
        times = np.asarray(file.get_master(number), dtype=np.float64)
        if not len(times) or not places:
            continue
        same = next((r for r in found if np.array_equal(r.times, times)), None)
        if same is not None:
            same.places.extend(places)
            continue
        title = str(getattr(part.channel_group, "acq_name", "") or number)
        if title in (r.name for r in found):
            title = str(number)
        found.append(_Raster(title, times, places))
    if not found:
        raise IeqlError(f"{name} has no channel with values.")
    return found


def _chosen(rasters: Sequence[_Raster], group: str, name: str) -> _Raster:
    for own in rasters:
        if group in (own.name, str(own.places[0][1])):
            return own
    names = [own.name for own in rasters]
    raise IeqlError(
        f"{name} has no raster {group!r}.{nearest(group, names)} The rasters are "
        f"{listed(names, NAMED)}."
    )


def _grid(rasters: Sequence[_Raster], raster: float, name: str) -> NDArray[np.float64]:
    """Times at equal distances while all channels were measured."""
    first = max(float(own.times[0]) for own in rasters)
    last = min(float(own.times[-1]) for own in rasters)
    n = math.floor((last - first) / raster * (1.0 + 1e-12)) + 1
    if n < 1:
        raise IeqlError(f"{name}: the channels were never measured at the same time.")
    check_size(n, name)
    return np.asarray(first + raster * np.arange(n), dtype=np.float64)


def _values(signal: Any) -> NDArray[Any] | None:
    """The values of a channel: numbers with NaN for what is invalid, or texts; None for arrays."""
    samples = np.asarray(signal.samples)
    if samples.ndim != 1 or samples.dtype.kind not in "biufSU":
        return None
    invalid = getattr(signal, "invalidation_bits", None)
    invalid = None if invalid is None else np.asarray(invalid, dtype=bool)
    if samples.dtype.kind in "SU":
        texts = [_text(value) for value in samples.tolist()]
        found = np.array(texts, dtype=object)
        if invalid is not None and invalid.any():
            found[invalid] = None
        return found
    if invalid is not None and invalid.any():
        numbers = samples.astype(np.float64)
        numbers[invalid] = np.nan
        return numbers
    return samples


def _text(value: Any) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return str(text).rstrip("\0").strip()


def _at(times: NDArray[np.float64], own: NDArray[np.float64], values: NDArray[Any]) -> Any:
    """The values of a channel at other times: between its own, or the last one before."""
    if values.dtype.kind == "f":
        return np.interp(times, own, values)
    return values[np.maximum(np.searchsorted(own, times * (1 + 1e-12), side="right") - 1, 0)]
