"""The report in a browser: it sorts, explains, lets one choose, and fits a phone."""

from __future__ import annotations

import pytest
from browser import browser, missing

from fitted import model

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

EVIL = "<script>window.harm = 1</script>"
ENTER, RIGHT = "\ue007", "\ue014"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as session:
        yield session


@pytest.fixture
def page(chromium, tmp_path):
    m = model(
        ("2", "3*x + 1", "2.5*x**2 + cos(z)"),
        ("1", f"2*x*z + `{EVIL}`"),
        names=("x", "z", EVIL),
        targets=("y", EVIL),
        outside=True,
    )
    chromium.window(1200, 900)
    chromium.open(m.report(tmp_path / "report.html"))
    yield chromium
    assert chromium.messages() == []  # no error of a script, nothing refused by the policy
    assert chromium.run("return window.harm === undefined")


def column(page, k):
    script = (
        "return [...document.querySelectorAll('#front-0 tbody tr')]"
        ".map(r => r.cells[arguments[0]].dataset.value)"
    )
    return [float(value) for value in page.run(script, k)]


def test_a_click_sorts_the_front(page):
    heading = "#front-0 th:nth-child(4)"
    errors = column(page, 3)
    assert errors == sorted(errors, reverse=True)
    page.click(f"{heading} button")
    assert column(page, 3) == sorted(errors)
    assert page.run(f"return document.querySelector('{heading}').ariaSort") == "ascending"
    page.click(f"{heading} button")
    assert column(page, 3) == sorted(errors, reverse=True)
    assert page.run("return document.querySelectorAll('#front-0 [aria-sort]').length") == 1


def test_hovering_shows_the_equation(page):
    tip = "#front-0 .tip"
    assert page.run(f"return document.querySelector('{tip}').hidden")
    page.hover("#front-0 .point[data-show='0-1'] .mark")
    assert not page.run(f"return document.querySelector('{tip}').hidden")
    assert "3" in page.text(f"{tip} math")
    assert "Equation 1: complexity 1" in page.text(tip)
    page.hover("h1")
    assert page.run(f"return document.querySelector('{tip}').hidden")


def shown(page):
    return page.run(
        "return document.querySelector('#equation-0 .equation').getAttribute('aria-label')"
    )


def drawn(page):
    return page.run(
        "return document.querySelector(\".figures[data-output='0'] svg\")"
        ".getAttribute('aria-label')"
    )


def test_a_click_on_a_point_chooses_the_equation(page):
    selected, plots = shown(page), drawn(page)
    assert selected == "y = 2.5*x**2 + cos(z)"
    page.click("#front-0 .point[data-show='0-1'] .mark")
    assert shown(page) == "y = 3*x + 1"
    assert drawn(page) != plots
    assert (
        page.run("return document.querySelector('#front-0 tr[aria-current]').dataset.show") == "0-1"
    )
    assert page.text("#status") == "Showing equation 1."
    page.click("#equation-0 .link")  # back to the selected one
    assert (shown(page), drawn(page)) == (selected, plots)


def test_a_row_chooses_too_and_outputs_do_not_meddle(page):
    other = page.text("#equation-1 .formula")
    page.click("#front-0 tbody tr:first-child button")
    assert shown(page) == "y = 2"
    assert page.text("#equation-1 .formula") == other


def test_the_keyboard_reaches_everything(page):
    page.leave()  # under a resting pointer the page may scroll, and the tip would follow it
    page.run("document.querySelector('#front-0 .point[tabindex=\"0\"]').focus()")
    page.press(RIGHT)  # from the last point to the first
    assert page.until("return !document.querySelector('#front-0 .tip').hidden")
    page.press(ENTER)
    assert shown(page) == "y = 2"
    assert (
        page.run("return document.querySelectorAll('#front-0 .point[tabindex=\"0\"]').length") == 1
    )


@pytest.mark.parametrize("width", [390, 768, 1200])
def test_nothing_is_wider_than_the_window(page, width):
    page.window(width, 800)
    assert page.run("return document.documentElement.scrollWidth") <= width


def test_light_and_dark(page):
    colour = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(colour)
    page.window(1200, 900, dark=True)
    assert page.run(colour) != light


def boxes(page, selector):
    """Left, top, right and bottom of elements."""
    return page.run(
        "return [...document.querySelectorAll(arguments[0])].map(e => e.getBoundingClientRect())"
        ".map(b => [b.left, b.top, b.right, b.bottom])",
        selector,
    )


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_part_of_an_equation_covers_another(chromium, tmp_path, width):
    terms = "2.125*cos(0.25*`v [m/s]`) - 0.4966*`v [m/s]` + 1.3002*sqrt(`T [K]`)/`v [m/s]` + 31.72"
    m = model((terms,), names=("v [m/s]", "T [K]"), targets=("P [kW]",))
    chromium.window(width, 900)
    chromium.open(m.report(tmp_path / "report.html"))
    pieces = boxes(chromium, ".formula math")
    assert len(pieces) == 5
    for k, (left, top, right, bottom) in enumerate(pieces):
        for other_left, other_top, other_right, other_bottom in pieces[:k]:
            beside = left >= other_right - 1 or other_left >= right - 1
            below = top >= other_bottom - 1 or other_top >= bottom - 1
            assert beside or below
    ((left, _, right, _),) = boxes(chromium, ".formula")
    assert all(left - 1 <= piece[0] and piece[2] <= right + 1 for piece in pieces)


def test_a_term_wider_than_a_phone_scrolls_and_a_shadow_says_so(chromium, tmp_path):
    long = " + ".join(f"{k}.2345*`input {k}`" for k in range(1, 6))
    m = model((f"cos({long})",), names=tuple(f"input {k}" for k in range(1, 6)))
    chromium.window(390, 900)
    chromium.open(m.report(tmp_path / "report.html"))
    formula = "const f = document.querySelector('.formula');"
    assert chromium.run(f"{formula} return f.scrollWidth > f.clientWidth")
    attached = chromium.run(f"{formula} return getComputedStyle(f).backgroundAttachment")
    assert attached == "local, local, scroll, scroll"
    assert chromium.run(f"{formula} return getComputedStyle(f).overflowX") == "auto"


def test_on_a_phone_the_front_shows_its_equations_without_scrolling(page):
    page.window(390, 800)
    for left, _, right, _ in boxes(page, "#front-0 td.math"):
        assert 0 <= left <= right <= 390
    assert page.run("return document.querySelector('#front-0 table').getAttribute('role')")
