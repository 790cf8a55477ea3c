"""Laws: powers in front of and inside a unit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql.equations.expression import Expression
from ieql.prior import Prior
from ieql.training.archive import Archive
from ieql.training.fast.law_kernel import fit_law
from ieql.training.fast.laws import Law, LawForm, LawSettings, _Search, law_forms, laws
from ieql.units import Unit
from tasks import NAMES, make_task


def every_shape() -> list[LawForm]:
    return law_forms(Prior.of("plain"))


def a_law(shape: LawForm, p: list[int], q: list[int], k: float = 0.4) -> Law:
    """A law with shifted inputs, an offset and a factor."""
    return Law(shape, np.array(p), np.array(q), np.array([0.7, 1.3, k, *shape.starts, 1.5, -0.2]))


def test_a_planck_law_is_found_with_its_shifts() -> None:
    task = make_task("(x + 0.3)**3/(exp((x + 0.3)/(y + 0.8)) - 1)", low=0.0, high=2.0)
    settings = LawSettings()
    found = [
        state
        for seed in range(4)
        for state in laws(task, Archive(), np.random.default_rng(seed), settings)
        if state is not None
    ]
    best = min(found, key=lambda state: state.error)
    assert best.error < 1e-20
    assert best.expression.unit_counts().keys() == {"square", "mul", "div", "exp"}


def test_a_power_alone_is_a_law_too() -> None:
    task = make_task("2*x**2/y", low=1.0, high=3.0)
    states = list(laws(task, Archive(), np.random.default_rng(0), LawSettings()))
    exact = [s.expression for s in states if s is not None and s.error < 1e-20]
    best = min(exact, key=lambda e: e.n_parameters)
    assert best.skeleton == Expression.parse("2*x**2/y", NAMES).skeleton


def test_inputs_far_from_zero_need_no_shift() -> None:
    """A temperature from 290 to 310 K is fourteen times its span away from zero."""
    task = make_task("x**2/y", low=290.0, high=310.0)
    states = list(laws(task, Archive(), np.random.default_rng(0), LawSettings()))
    assert min(s.error for s in states if s is not None) < 1e-16 * np.var(task.train.y)


def test_signs_of_life_come_between_the_finds() -> None:
    task = make_task("x/y", low=1.0, high=3.0)
    states = laws(task, Archive(), np.random.default_rng(0), LawSettings())
    assert next(states) is None


@pytest.mark.parametrize("shape", every_shape(), ids=lambda s: f"{s.unit.name}-{s.reciprocal}")
@pytest.mark.parametrize(("p", "q"), [([1, 0], [0, 1]), ([3, -2], [1, -1]), ([0, 0], [2, 1])])
def test_what_is_fitted_is_what_is_written(shape: LawForm, p: list[int], q: list[int]) -> None:
    """The compiled law, with no step taken, has the error of the expression made of it."""
    law = a_law(shape, p, q)
    XT = np.random.default_rng(0).uniform(0.5, 2.0, (2, 50))
    inputs = np.arange(2)
    written = law.expression(NAMES, inputs, Prior.of("plain")).evaluate(XT.T)[:, 0]
    high = np.full(2, 10.0)
    theta, error = fit_law(
        law.p, law.q, shape.unit.code, 0, shape.reciprocal, law.theta, np.array([5, 6]), XT,
        written, np.ones(50), XT.min(axis=1), high, 0,
    )  # fmt: skip
    assert error < 1e-20 * np.mean(written**2)
    assert theta == pytest.approx(law.theta, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("shape", every_shape(), ids=lambda s: f"{s.unit.name}-{s.reciprocal}")
def test_constants_that_are_a_little_off_are_fitted(shape: LawForm) -> None:
    law = a_law(shape, [1, -1], [1, 2], k=0.1)
    XT = np.random.default_rng(1).uniform(0.5, 2.0, (2, 200))
    y = law.expression(NAMES, np.arange(2), Prior.of("plain")).evaluate(XT.T)[:, 0]
    free = np.array([0, 1, 2, *(3 + np.flatnonzero(shape.free)), 5, 6])
    start = law.theta * 1.02
    start[3:5] = law.theta[3:5]
    theta, error = fit_law(
        law.p, law.q, shape.unit.code, 0, shape.reciprocal, start, free, XT, y, np.ones(200),
        XT.min(axis=1), np.full(2, 10.0), 200,
    )  # fmt: skip
    assert error < 1e-10 * np.var(y)
    assert np.isfinite(theta).all()


def test_a_factor_below_the_line_stays_away_from_zero() -> None:
    """1/(x - 0.1) has a pole where the data starts; the fit does not cross it."""
    XT = np.linspace(0.5, 2.0, 40)[None, :]
    y = 1.0 / (XT[0] - 0.4)
    low = np.array([0.45])  # the declared domain starts before the data
    theta, _ = fit_law(
        np.array([-1]), np.array([0]), 0, 0, False, np.array([0.0, 0.0, 1.0, 0.0, 1.0, 0.0]),
        np.array([0, 4]), XT, y, np.ones(40), low, np.array([10.0]), 50,
    )  # fmt: skip
    assert theta[0] == pytest.approx(-0.4)
    blocked, _ = fit_law(
        np.array([-1]), np.array([0]), 0, 0, False, np.array([0.0, 0.0, 1.0, 0.0, 1.0, 0.0]),
        np.array([0, 4]), XT, y, np.ones(40), np.array([0.3]), np.array([10.0]), 50,
    )  # fmt: skip
    assert blocked[0] > -0.3


def test_weights_count() -> None:
    XT = np.array([[1.0, 2.0, 3.0]])
    theta, error = fit_law(
        np.array([1]), np.array([0]), 0, 0, False, np.array([0.0, 0.0, 1.0, 0.0, 1.0, 0.0]),
        np.array([4]), XT, np.array([2.0, 4.0, 0.0]), np.array([1.0, 1.0, 0.0]),
        np.array([1.0]), np.array([10.0]), 5,
    )  # fmt: skip
    assert theta[4] == pytest.approx(2.0)
    assert error == pytest.approx(0.0, abs=1e-20)


def test_the_prior_decides_which_shapes_there_are() -> None:
    names = {(s.unit.name, s.reciprocal) for s in law_forms(Prior.of({"units": ["exp", "mul"]}))}
    assert names == {("identity", False), ("exp", False)}
    assert law_forms(Prior.of({"units": ["exp", "div"]})) == []


@given(st.integers(0, 2**20))
def test_prohibited_compositions_never_come_up(seed: int) -> None:
    task = make_task(
        "x*exp(-x/y)",
        {"units": ["exp", "mul", "div", "square"], "prohibit": ["exp(div)"]},
        low=0.5,
        high=2.0,
        n=60,
    )
    for state in laws(task, Archive(), np.random.default_rng(seed), LawSettings(rounds=2)):
        assert state is None or state.expression.is_allowed(task.prior)


def test_without_division_no_exponent_is_negative() -> None:
    prior = {"units": ["exp", "mul", "square"]}
    task = make_task("x*exp(0.5*y)", prior, low=0.5, high=2.0)
    states = laws(task, Archive(), np.random.default_rng(0), LawSettings())
    assert all("div" not in s.expression.unit_counts() for s in states if s is not None)


def test_the_same_seed_gives_the_same_laws() -> None:
    task = make_task("x*exp(-y)", low=0.5, high=2.0)

    def texts() -> list[str]:
        states = laws(task, Archive(), np.random.default_rng(3), LawSettings())
        return [s.expression.text() for s in states if s is not None]

    assert texts() == texts()


def tanh_slope(z: np.ndarray) -> np.ndarray:
    return 1 - np.tanh(z) ** 2


@pytest.mark.parametrize("reciprocal", [False, True])
def test_a_law_of_a_users_unit_is_a_law_of_that_unit(reciprocal: bool) -> None:
    """It was fitted as z/z: the kernel took any code that it did not know for a division."""
    tanh = Unit("tanh", np.tanh, tanh_slope)
    prior = Prior(units=("mul", "div", "tanh"), custom=(tanh,))
    assert LawForm(tanh, reciprocal) in law_forms(prior)
    task = make_task(prior=prior, low=0.5, high=2.0)
    law = a_law(LawForm(tanh, reciprocal), [1, -1], [0, 1])
    written = law.expression(NAMES, np.arange(2), prior).evaluate(task.train.XT.T)[:, 0]
    sample = replace(task.train, y=written)
    search = _Search(task, sample, np.arange(2), LawSettings(steps=0), offset=True)
    assert search._fitted(law).error < 1e-20 * np.mean(written**2)
    off = replace(law, theta=law.theta * np.array([1, 1, 1.2, 0.9, 1.1, 1.0, 1.0]))
    search = _Search(task, sample, np.arange(2), LawSettings(steps=200), offset=True)
    assert search._fitted(off).error < 1e-10 * np.var(written)


def test_a_unit_that_cannot_be_compiled_is_no_part_of_a_law() -> None:
    tanh = Unit("tanh", np.vectorize(np.tanh), tanh_slope)
    prior = Prior(units=("mul", "tanh"), custom=(tanh,))
    assert [s.unit.name for s in law_forms(prior)] == ["identity"]
