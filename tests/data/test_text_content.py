"""Texts are looked at once: encoding, comment lines, and what a packed file unpacks to."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ieql.data import text_content
from ieql.data.text_content import BLANKS, GAPS, content_of_file
from ieql.errors import IeqlError


def content(path: Path, text: str | bytes) -> text_content.TextContent:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return content_of_file(path)


def test_rows_know_the_lines_on_which_they_begin(tmp_path: Path) -> None:
    found = content(tmp_path / "a", 'a,b\n# no row\n\n"1\n2",3\n4,5\n')
    assert list(found.rows(",")) == [(1, ["a", "b"]), (4, ["1\n2", "3"]), (6, ["4", "5"])]
    assert list(found.rows(",", skip=4)) == [(5, ['2"', "3"]), (6, ["4", "5"])]


def test_blanks_between_columns(tmp_path: Path) -> None:
    found = content(tmp_path / "a", "  shaft speed   load\t 'x'\n 1.5 \t 2    3  \n")
    assert [fields for _, fields in found.rows(GAPS)] == [
        ["shaft speed", "load", "'x'"],
        ["1.5", "2", "3"],
    ]
    assert [len(fields) for _, fields in found.rows(BLANKS)] == [4, 3]


def test_a_sign_in_most_lines_begins_no_comment(tmp_path: Path) -> None:
    """Parts are numbered #1, #2, …: these rows were data, and must not vanish as comments."""
    text = "id,y\n" + "".join(f"#{i},{i}\n" for i in range(9))
    assert content(tmp_path / "a", text).comment == ""
    assert content(tmp_path / "a", "id,y\n#1,1\n2,2\n3,3\n").comment == "#"


def test_a_sign_within_quotation_marks_begins_no_comment(tmp_path: Path) -> None:
    found = content(tmp_path / "a", '# one\na,b\n"left\n# right",1\n2,3\n4,5\n')
    assert [fields for _, fields in found.rows(",")][1] == ["left\n# right", "1"]


@pytest.mark.parametrize("n", [0, 65_530, 65_536, 2_000_000])
def test_comments_far_down_are_seen(tmp_path: Path, n: int) -> None:
    found = content(tmp_path / "a", "a,b\n" + "1,2\n" * (n // 4) + "# here\n3,4\n5,6\n7,8\n")
    assert (found.comment, found.n_comments) == ("#", 1)


def test_a_packed_file_that_holds_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_content, "MOST_UNPACKED", 10**6)
    with pytest.raises(IeqlError, match="once unpacked; unpack it, and keep what is needed"):
        content(tmp_path / "a.gz", gzip.compress(b"1,2\n" * 300_000))


def test_a_packed_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    packed = gzip.compress(b"1,2\n" * 300_000)
    with pytest.raises(IeqlError, match=r"cannot be unpacked: .*; pack or copy it again"):
        content(tmp_path / "a.gz", packed[: len(packed) // 2])
    with pytest.raises(IeqlError, match="cannot be unpacked"):
        content(tmp_path / "a.gz", packed[:10] + b"\xff" * 30)


def test_a_packed_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IeqlError, match="is not a text file"):
        content(tmp_path / "a.gz", gzip.compress(b"\0\1\2"))
