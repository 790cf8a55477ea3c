"""Archives that are the same, byte by byte, whenever they are written."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

__all__ = ["packed", "unpacked"]

FIRST_DATE = (1980, 1, 1, 0, 0, 0)
"""The first that an archive can have."""


def packed(members: Mapping[str, bytes]) -> bytes:
    """A zip archive of files by their names, all of them with the same date.

    >>> packed({"a.txt": b"1"}) == packed({"a.txt": b"1"})
    True
    """
    file = BytesIO()
    with ZipFile(file, "w") as archive:
        for name, content in members.items():
            info = ZipInfo(name, FIRST_DATE)
            info.compress_type = ZIP_DEFLATED
            info.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            archive.writestr(info, content)
    return file.getvalue()


def unpacked(archive: bytes) -> dict[str, bytes]:
    """The files of a zip archive by their names."""
    with ZipFile(BytesIO(archive)) as file:
        return {name: file.read(name) for name in file.namelist()}
