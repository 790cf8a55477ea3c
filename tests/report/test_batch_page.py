"""The page of a batch: a row for each output of each run, and deaf to markup in names."""

from __future__ import annotations

import re

from fitted import model
from ieql.report.batch_page import RunEntry, batch_page

EVIL = "<script>alert(1)</script>"


def words(text: str) -> str:
    text = re.sub(r"<style>.*?</style>", "", text, flags=re.S)
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def test_a_run_has_a_row_for_each_output_with_a_link_to_its_report():
    fitted = model().fitted_
    page = batch_page(
        "bench", [RunEntry("one", "done", 3.2, model=fitted, report="one/report.html")]
    )
    assert page.count('<a href="one/report.html">one</a>') == len(fitted.targets)
    for k, target in enumerate(fitted.targets):
        assert f"<td>{target}</td>" in page
        assert f'<td class="num">{fitted.candidate(output=k).n_constants}</td>' in page
    assert "1 done." in words(page)


def test_a_run_that_failed_says_why_and_what_it_printed():
    page = batch_page(
        "bench", [RunEntry("one", "failed", 1.0, "No column 'z'.", printed="logs/one.txt")]
    )
    assert "No column &#39;z&#39;." in page
    assert '<a href="logs/one.txt">What it printed</a>' in page
    assert "1 failed." in words(page)


def test_runs_that_wait_are_counted():
    page = batch_page("bench", [RunEntry("a", "waiting"), RunEntry("b", "waiting")])
    assert "2 waiting." in words(page)


def test_names_are_text_and_nothing_is_loaded():
    page = batch_page(EVIL, [RunEntry(EVIL, "failed", 0.0, EVIL)])
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "http:" not in page.replace("http-equiv", "")
