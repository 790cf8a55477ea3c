"""Whatever comes in, out comes an equation without NaN or one sentence; more of it in `soak`."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ieql.data.reading import read_csv
from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.prior import Prior
from ieql.regressor import IEQLRegressor
from ieql.units import UNITS
from soak import fuzz

NUMBERS = st.one_of(
    st.floats(-10, 10),
    st.integers(-3, 3).map(float),
    st.sampled_from([1e-300, 1e-90, 1e90, -1e90, 1e99, 1e300, 5e-324]),
)
ODD_NUMBERS = st.one_of(NUMBERS, st.sampled_from([np.nan, np.inf, -np.inf]))
NAMES = st.one_of(st.sampled_from(["x", "n [1/min]", "cos", "<b>", "", "\x1b[2J", "*/"]), st.text())
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4) | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)


def tiny(**parameters):
    return IEQLRegressor(**{"max_trainings": 1, "max_time": 5, "n_jobs": 1} | parameters)


def is_a_sentence(error):
    assert fuzz.fault_of_message(str(error)) == ""


def fitted_or_refused(model, X, y):
    """Fit; a refusal is one line, and a fitted model holds numbers only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # constant inputs are left out aloud
        try:
            model.fit(X, y)
        except IeqlError as error:
            is_a_sentence(error)
            return
    for c in model.fronts_[0]:
        assert np.isfinite([c.complexity, c.rmse_train, c.rmse_validation]).all()
    assert np.isfinite(model.predict(X)).all()
    assert model.report_html()


# --- Hypothesis ----------------------------------------------------------------------------------


@given(
    st.data(),
    st.integers(0, 25),
    st.lists(NAMES, min_size=1, max_size=3, unique=True),
    st.booleans(),
)
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
def test_frames(data, n_rows, names, is_odd):
    numbers = ODD_NUMBERS if is_odd else NUMBERS
    table = data.draw(hnp.arrays(float, (n_rows, len(names) + 1), elements=numbers))
    fitted_or_refused(tiny(), pd.DataFrame(table[:, 1:], columns=names), table[:, 0])


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "preset": st.sampled_from(["plain", "motor", "paper"]) | ANYTHING,
            "units": st.lists(st.sampled_from([*UNITS, "tan"]), max_size=4) | ANYTHING,
            "costs": st.dictionaries(st.sampled_from(["input", *UNITS]), ODD_NUMBERS) | ANYTHING,
            "prohibit": st.lists(st.sampled_from(["cos(cos)", "div(_, div)", "cos", "div(,)"]))
            | ANYTHING,
            "inputs": st.dictionaries(st.text(max_size=4), ANYTHING, max_size=2) | ANYTHING,
            "layers": ANYTHING,
            "copies": st.integers(-1, 5) | ANYTHING,
            "colour": ANYTHING,
        },
    )
    | ANYTHING
)
@settings(max_examples=200)
def test_priors(mapping):
    try:
        prior = Prior.of(mapping)
    except IeqlError as error:
        is_a_sentence(error)
    else:
        assert Prior.from_yaml(prior.to_yaml()) == prior


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "prior": st.sampled_from(["motor", "paper", "moter"]) | ANYTHING,
            "layers": st.sampled_from([None, 1, 2, 3, 10**9, 0]),
            "copies": st.sampled_from([None, 1, 2, 3, 10**9, 0]),
            "domain": st.dictionaries(st.sampled_from("ab"), st.tuples(ODD_NUMBERS, ODD_NUMBERS)),
            "output_bound": st.floats(5, 100) | ODD_NUMBERS,
            "selection": st.sampled_from(["MDL", "V_int", "V_int-S", "MDL", "best"]),
            "validation_fraction": st.floats(0.01, 0.9) | ODD_NUMBERS,
            "max_trainings": st.integers(0, 3),
        },
    )
)
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
def test_settings(parameters):
    X = np.random.default_rng(0).uniform(1, 2, (20, 2))
    fitted_or_refused(
        tiny(**parameters), pd.DataFrame(X, columns=["a", "b"]), X[:, 0] ** 2 - X[:, 1]
    )


@given(
    st.lists(
        st.sampled_from(
            [*"+-*/^(),`xy", "**", "2", "0", "1e308", "1e-400", ".5", " ", "cos(", "div("]
        )
        | st.sampled_from(["exp(x)", "y*(x + 1)", "log(2*x)**2", "3*x", "x**1.7", "1/y", "`n m`"])
        | st.characters(),
        max_size=12,
    ).map("".join)
)
@settings(max_examples=500)
def test_texts(text):
    try:
        found = Expression.parse(text, ["x", "y", "n m"])
    except IeqlError as error:
        is_a_sentence(error)
        return
    assert Expression.parse(found.text(), found.names) == found
    assert Expression.from_dict(found.to_dict()) == found


# --- a small part of the soak --------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    fuzz.warm_up(folder)
    return folder


@pytest.mark.slow
def test_random_csv_files(folder):
    tally = fuzz.Tally()
    for number in range(40):
        tally.add(number, *fuzz.try_csv(*fuzz.csv_case(7, number), folder))
    assert not tally.faults
    assert tally.kinds["fitted"] >= 5
    assert tally.kinds["refused"] >= 10


def test_random_prior_files(folder):
    tally = fuzz.Tally()
    for number in range(150):
        case = fuzz.prior_case(7, number)
        tally.add(number, *fuzz.try_prior(case, folder, fit=number % 25 == 0))
    assert not tally.faults
    assert min(tally.kinds[kind] for kind in ("read", "refused", "fitted")) >= 3


def test_spoilt_run_folders(folder):
    good = fuzz.good_run(folder)
    tally = fuzz.Tally()
    for number in range(50):
        tally.add(number, *fuzz.try_run(*fuzz.run_case(7, number, good, folder)))
    assert not tally.faults
    assert min(tally.kinds[kind] for kind in ("used", "refused")) >= 10


def test_a_check_says_what_it_found():
    outcomes = [check.run(0.0003, 3) for check in fuzz.CHECKS]
    assert [outcome.cases for outcome in outcomes] == [3, 3, 3]
    assert all(outcome.passed and "s per case" in outcome.text for outcome in outcomes)


@pytest.mark.parametrize("wait", [lambda: None, lambda: time.sleep(0.01)])
def test_a_hang_is_a_failure(wait):
    def endless():
        with fuzz.watchdog(0.05):
            while True:
                wait()

    with pytest.raises(fuzz.HangError, match="no end"):
        endless()


def test_faults_are_told_apart(tmp_path):
    assert "not one sentence" in fuzz.fault_of_message("two\nlines")
    assert "characters" in fuzz.fault_of_message("x" * 4_000)
    assert fuzz.command("show", str(tmp_path)) == ("refused", "")
    tally = fuzz.Tally()
    tally.add(0, "fitted", "")
    tally.add(1, "failed", "a traceback")
    assert not tally.outcome().passed
    assert "case 1: a traceback" in tally.outcome().text


# --- what it found -------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_wide_text_is_read_and_if_cut_short_said(tmp_path, encoding):
    """A spreadsheet's "Unicode text" that lost its last byte ended in a UnicodeDecodeError."""
    path = tmp_path / "wide.csv"
    path.write_bytes("a;b\n1;2\n3;4\n".encode(encoding))
    assert read_csv(path).to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(IeqlError, match="cut short"):
        read_csv(path)
