"""Templates: what is filled in is text, and what HTML does not know is replaced."""

from __future__ import annotations

from ieql.report.templates import filled, markup, package_file

ABOUT = {"style": markup(""), "rows": [], "number": str, "counts": [("done", 2)]}


def test_what_is_filled_in_is_escaped_and_our_own_is_not():
    page = filled("batch.html", **{**ABOUT, "title": "<b>&", "style": markup("a > b {}")})
    assert "<h1>&lt;b&gt;&amp;</h1>" in page
    assert "a > b {}" in page


def test_characters_that_no_page_can_hold_are_replaced():
    page = filled("batch.html", **{**ABOUT, "title": "a\x00b\ud800"})
    assert "<h1>a\ufffdb\ufffd</h1>" in page


def test_files_beside_the_templates_are_read():
    assert ":root" in package_file("style.css")
