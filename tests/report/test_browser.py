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
        "return document.querySelector('#equation-0 .formula math').getAttribute('alttext')"
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
