"""The text of a table, wherever it comes from, and its rows with the numbers of their lines."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, TextIO

from ieql.errors import IeqlError

__all__ = ["BLANKS", "COMMENT_SIGNS", "GAPS", "Separator", "TextContent", "content_of_file"]

MOST_UNPACKED = 1_000_000_000
"""Bytes that a compressed file may have unpacked: a small file can hold endless zeros."""
PIECE = 1 << 20
GZIP = b"\x1f\x8b"
COMMENT_SIGNS = ("#", "%", "//")
FIRST_SIGNS = tuple(sign.encode() for sign in COMMENT_SIGNS)
COMMENT = re.compile(rb"[\r\n][ \t]*(?:#|%|//)")
Separator = str
BLANKS = " "
"""Any number of blanks or tabs between columns."""
GAPS = "  "
"""Two or more blanks between columns, whose names may hold one."""


@dataclass(frozen=True)
class TextContent:
    """The text of a table.

    Attributes
    ----------
    name : str
        The file as messages name it.
    open : callable
        Opens the text from its beginning.
    encoding : str
        How its characters are written.
    comment : str
        The sign that begins a comment line, or empty.
    n_comments : int
        How many such lines there are.
    is_packed : bool
        Whether it came from a compressed file.
    """

    name: str
    open: Callable[[], TextIO]
    encoding: str = "utf-8"
    comment: str = ""
    n_comments: int = 0
    is_packed: bool = False

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line with its number, from 1; comment lines are left out."""
        inside = False  # a quotation mark left open reaches over lines
        with self.open() as file:
            for number, line in enumerate(file, start=1):
                if self.comment and not inside and line.lstrip().startswith(self.comment):
                    continue
                if self.comment and line.count('"') % 2:
                    inside = not inside
                yield number, line

    def comments(self, limit: int) -> list[tuple[int, str]]:
        """The first comment lines, without their sign."""
        found: list[tuple[int, str]] = []
        with self.open() as file:
            for number, line in enumerate(file, start=1):
                text = line.strip()
                if self.comment and text.startswith(self.comment):
                    found.append((number, text.lstrip(self.comment).strip()))
                    if len(found) >= limit:
                        break
        return found

    def rows(self, separator: Separator, skip: int = 0) -> Iterator[tuple[int, list[str]]]:
        """Yield the line on which it begins and the fields of each row that is not blank.

        The first `skip` lines of the file are left out.
        """
        at = [0]

        def feed() -> Iterator[str]:
            for number, line in self.lines():
                if number > skip:
                    at[0] = number
                    yield prepared(line, separator)

        reader = csv.reader(
            feed(), delimiter=delimiter(separator), skipinitialspace=separator == BLANKS
        )
        before = 0
        for fields in reader:
            n_lines, before = reader.line_num - before, reader.line_num
            if len(fields) > 1 or (fields and fields[0].strip()):
                yield at[0] - n_lines + 1, fields

    def is_to_prepare(self, separator: Separator) -> bool:
        """Whether the lines must be changed before a parser of CSV can read them."""
        return bool(self.comment) or separator in (BLANKS, GAPS)

    def with_comments(self, comment: str, n_comments: int) -> TextContent:
        """The same text, in which lines that begin with a sign are comments."""
        return replace(self, comment=comment, n_comments=n_comments)


def delimiter(separator: Separator) -> str:
    """The sign between the columns of lines that are `prepared`."""
    return "\t" if separator == GAPS else separator


def prepared(line: str, separator: Separator) -> str:
    """A line with one sign between its columns, where they are separated by blanks."""
    if separator == BLANKS:
        return line.strip().replace("\t", " ") + "\n"
    if separator == GAPS:
        return re.sub(r"[ \t]{2,}|\t", "\t", line.strip()) + "\n"
    return line


def content_of_file(path: Path) -> TextContent:
    """Find out how a text file is written, reading it once in pieces.

    Raises
    ------
    IeqlError
        If it is no text, or too large once unpacked.
    OSError, UnicodeError
        If it cannot be read.
    """
    with path.open("rb") as file:
        is_packed = file.read(2) == GZIP
    name = repr(str(path))
    if not is_packed:
        encoding, may_comment = _look(path.open("rb"), name)
        content = TextContent(
            name, lambda: path.open(encoding=encoding, newline=""), encoding=encoding
        )
    else:
        unpacked = _unpacked(path, name)
        encoding, may_comment = _look(io.BytesIO(unpacked), name)
        content = TextContent(
            name,
            lambda: io.TextIOWrapper(io.BytesIO(unpacked), encoding=encoding, newline=""),
            encoding=encoding,
            is_packed=True,
        )
    return _with_comments(content) if may_comment else content


def _unpacked(path: Path, name: str) -> bytes:
    try:
        with gzip.open(path, "rb") as file:
            found = file.read(MOST_UNPACKED + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise IeqlError(f"{name} cannot be unpacked: {error}; pack or copy it again.") from error
    if len(found) > MOST_UNPACKED:
        raise IeqlError(
            f"{name} holds more than {MOST_UNPACKED // 10**9} GB once unpacked; unpack it, and "
            "keep what is needed of it."
        )
    return found


def _look(file: BinaryIO, name: str) -> tuple[str, bool]:
    """The encoding of a text, and whether it may have comment lines."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    encoding, may_comment, end = "utf-8-sig", False, b""
    with file:
        piece = file.read(1 << 16)
        # First the longer marks: that of UTF-32 begins like that of UTF-16.
        if piece.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
            return "utf-32", True
        if piece.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16", True
        if b"\0" in piece:
            raise IeqlError(f"{name} is not a text file; save the table as CSV first.")
        if piece.removeprefix(codecs.BOM_UTF8).lstrip(b" \t").startswith(FIRST_SIGNS):
            may_comment = True
        while piece:
            may_comment = may_comment or COMMENT.search(end + piece) is not None
            end = piece[-8:]  # what is cut between two pieces
            if encoding != "latin-1":
                try:
                    decoder.decode(piece)
                except UnicodeDecodeError:
                    encoding = "latin-1"
            piece = file.read(PIECE)
        if encoding != "latin-1":
            try:
                decoder.decode(b"", final=True)
            except UnicodeDecodeError:
                encoding = "latin-1"
    return encoding, may_comment


def _with_comments(content: TextContent) -> TextContent:
    """Take lines that begin with a sign for comments, unless most do: then it is part of them."""
    n_lines, found = 0, dict.fromkeys(COMMENT_SIGNS, 0)
    for _, line in content.lines():
        text = line.strip()
        n_lines += bool(text)
        for sign in COMMENT_SIGNS:
            found[sign] += text.startswith(sign)
    sign = max(found, key=lambda s: found[s])
    if not 0 < 2 * found[sign] < n_lines:
        return content
    return content.with_comments(sign, found[sign])
