"""The paper's problems: domains, noise, and the equations written a second time, in NumPy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ieql.errors import IeqlError
from ieql.problems import PROBLEMS, Problem, demo_table, load_problem

SIMULATED = ("S0", "S1", "S2", "S3", "S4", "S5", "S6", "A1", "A2", "A3", "A4", "ambiguity")
WITH_EXTRAPOLATION = SIMULATED[:-1]
ENGINES = ("engine", "engine_motor_simple", "engine_motor_median", "engine_plain_simple")

# The row "MP" of the paper's tables, on the test domain.
MEAN_PREDICTOR = {
    "S0": 1.57,
    "S1": 0.66,
    "S2": 0.75,
    "S3": 0.64,
    "S4": 1.17,
    "S5": 0.44,
    "S6": 0.82,
    "A1": 0.88,
    "A2": 1.09,
    "A3": 0.19,
    "A4": 0.66,
    "power_loss": 1042.70,
    **dict.fromkeys(ENGINES, 60.17),
}


def s5_term(x: np.ndarray) -> np.ndarray:
    return (5 * x) ** 4 / ((5 * x) ** 4 + 1)


def a4(x: np.ndarray) -> np.ndarray:
    omega, temperature = 5 * x[0] + 1, 0.5 * x[1] + 1
    exponent = (x[2] + 1) * omega / ((x[3] + 1) * temperature)
    return (x[2] + 1) / (3 * np.pi**2) * omega**3 / (np.exp(exponent) - 1)


# Table "Complex equations on which the iEQL is evaluated", eq. (ambiguity), and the law behind the
# power loss.
EQUATIONS = {
    "S0": lambda x: (1 - x[1] ** 2) / (np.sin(2 * np.pi * x[0]) + 1.5),
    "S1": lambda x: (
        (np.sin(np.pi * x[0]) + np.sin(2 * np.pi * x[1] + np.pi / 8) + x[1] - x[2] * x[3]) / 3
    ),
    "S2": lambda x: (
        (np.sin(np.pi * x[0]) + x[1] * np.cos(2 * np.pi * x[0] + np.pi / 4) + x[2] - x[3] ** 2) / 3
    ),
    "S3": lambda x: ((1 + x[1]) * np.sin(np.pi * x[0]) + x[1] * x[2] * x[3]) / 3,
    "S4": lambda x: (
        (3.0375 * x[0] * x[1] + 5.5 * np.sin(9 / 4 * (x[0] - 2 / 3) * (x[1] - 2 / 3))) / 5
    ),
    "S5": lambda x: s5_term(x[0]) + s5_term(x[1]),
    "S6": lambda x: (
        (
            (1 - x[0]) ** 2
            + (1 - x[2]) ** 2
            + 100 * (x[1] - x[0] ** 2) ** 2
            + 100 * (x[3] - x[2] ** 2) ** 2
        )
        / 1500
    ),
    "A1": lambda x: (1.5 * np.exp(1.5 * x[0]) + 5 * np.cos(3 * x[1])) / 10,
    "A2": lambda x: np.log(2 * x[1] + 1) - np.log(4 * x[0] ** 2 + 1),
    "A3": lambda x: np.exp(-((4 * x[0] - 0.4) ** 2)) / (1.2 + (4 * x[1] - 1.9) ** 2),
    "A4": a4,
    "ambiguity": lambda x: 8 * np.cos(0.5 * x[0]) - 4,
    "power_loss": lambda x: 0.0082685 * (x[0] ** 2 + x[1] ** 2),
}


def rmse(a: np.ndarray | pd.Series, b: np.ndarray | pd.Series | float) -> float:
    return float(np.sqrt(np.mean((np.asarray(a) - np.asarray(b)) ** 2)))


def inside(X: pd.DataFrame, domain: dict[str, tuple[float, float]]) -> np.ndarray:
    return np.all([X[name].between(*pair) for name, pair in domain.items()], axis=0)


def test_all_problems_are_listed() -> None:
    assert (*SIMULATED, "power_loss", *ENGINES) == PROBLEMS


@pytest.mark.parametrize("name", PROBLEMS)
def test_parts_fit_together(name: str) -> None:
    problem = load_problem(name)
    assert problem.name == name
    assert problem.description
    for X, y in ((problem.X, problem.y), (problem.X_test, problem.y_test)):
        assert list(X.columns) == list(problem.feature_names) == list(problem.domain)
        assert len(X) == len(y)
        assert X.index.equals(y.index)
        assert inside(X, problem.domain).all()
        assert np.isfinite(y).all()


@pytest.mark.parametrize("name", EQUATIONS)
def test_truth_is_the_paper_s_equation(name: str) -> None:
    problem = load_problem(name)
    X = problem.X_test.to_numpy()
    expected = EQUATIONS[name](X.T)
    np.testing.assert_allclose(problem.truth.evaluate(X)[:, 0], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "factor", "at_zero", "at_point"),
    [  # values of the equations as printed, from an independent reading of the LaTeX
        ("engine", 31.55, 0.862879566365119, -0.47903281819307636),
        ("engine_motor_simple", 25.19, 0.7524895288335773, -0.3077404295803461),
        ("engine_motor_median", 33.09, 0.823335128031325, -0.38515565386220096),
        ("engine_plain_simple", 35.43, 0.8297534749183209, -0.44399829871672836),
    ],
)
def test_engine_equations_are_the_printed_ones(
    name: str, factor: float, at_zero: float, at_point: float
) -> None:
    X = np.array([[0, 0, 0, 0, 0], [0.5, -0.5, 0.25, -0.75, 1.0]])
    values = load_problem(name).truth.evaluate(X)[:, 0] / factor
    np.testing.assert_allclose(values, [at_zero, at_point], rtol=1e-12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_exact_equation_has_the_error_of_the_noise(name: str) -> None:
    problem = load_problem(name)
    parts = [(problem.X, problem.y), (problem.X_test, problem.y_test)]
    for X, y in parts:
        assert rmse(problem.truth.evaluate(X.to_numpy())[:, 0], y) == pytest.approx(
            problem.noise, rel=0.1
        )


@pytest.mark.parametrize("name", MEAN_PREDICTOR)
def test_the_mean_predictor_has_about_the_paper_s_error(name: str) -> None:
    problem = load_problem(name)
    # A3 as printed gives 0.167 on a large sample; no reading of its row gives the printed 0.19.
    tolerance = 0.15 if name == "A3" else 0.1
    assert rmse(problem.y_test, problem.y.mean()) == pytest.approx(
        MEAN_PREDICTOR[name], rel=tolerance
    )


def train_domain(problem: Problem) -> dict[str, tuple[float, float]]:
    low, high = (0, 1) if problem.name in ("A2", "A3", "A4") else (-1, 1)
    return dict.fromkeys(problem.feature_names, (low, high))


@pytest.mark.parametrize("name", SIMULATED)
def test_simulated_problems_have_the_paper_s_sizes_and_domains(name: str) -> None:
    problem = load_problem(name)
    d = {"A2": 2, "A3": 2, "ambiguity": 1}.get(name, 4)
    assert problem.X.shape == (10_000, d)
    assert problem.X_test.shape == (1_000, d)
    assert problem.feature_names == ("x1", "x2", "x3", "x4")[:d]
    assert problem.y.name == "y"
    assert problem.noise == 0.01
    assert inside(problem.X, train_domain(problem)).all()
    low, high = train_domain(problem)["x1"]
    assert set(problem.domain.values()) == {(2 * low, 2 * high)}
    # the test points fill the wide domain, not only the train domain
    assert inside(problem.X_test, train_domain(problem)).mean() == pytest.approx(0.5**d, abs=0.05)


@pytest.mark.parametrize("name", WITH_EXTRAPOLATION)
def test_forty_points_lie_outside_the_train_domain(name: str) -> None:
    problem = load_problem(name)
    assert problem.X_extrapolation is not None
    assert problem.y_extrapolation is not None
    assert len(problem.X_extrapolation) == len(problem.y_extrapolation) == 40
    assert not inside(problem.X_extrapolation, train_domain(problem)).any()
    assert inside(problem.X_extrapolation, problem.domain).all()
    exact = problem.truth.evaluate(problem.X_extrapolation.to_numpy())[:, 0]
    assert rmse(exact, problem.y_extrapolation) == pytest.approx(problem.noise, rel=0.5)


@pytest.mark.parametrize("name", sorted(set(PROBLEMS) - set(WITH_EXTRAPOLATION)))
def test_the_others_have_no_extrapolation_points(name: str) -> None:
    problem = load_problem(name)
    assert problem.X_extrapolation is None
    assert problem.y_extrapolation is None


def test_power_loss_has_the_paper_s_ranges() -> None:
    problem = load_problem("power_loss")
    assert "reconstruction" in problem.description
    assert problem.feature_names == ("I_D", "I_Q", "n_mtr", "T_rot")
    assert problem.y.name == "P_mod"
    assert len(problem.X_test) == round(0.2 * 24_684)
    train = problem.X.agg(["min", "max"])
    assert train.to_dict("list") == {
        "I_D": [76, 451],
        "I_Q": [76, 451],
        "n_mtr": [2001, 14_001],
        "T_rot": [-20, 150],
    }
    assert (round(problem.y.min()), round(problem.y.max())) == (95, 3364)
    assert problem.domain == {
        "I_D": (1, 525),
        "I_Q": (1, 525),
        "n_mtr": (1, 16_000),
        "T_rot": (-20, 150),
    }


def test_the_demo_table_is_the_whole_grid() -> None:
    table = demo_table()
    assert list(table.columns) == ["I_D", "I_Q", "n_mtr", "T_rot", "P_mod"]
    assert len(table) == 24_684
    assert not table.drop(columns="P_mod").duplicated().any()
    assert round(table["P_mod"].max()) == 4558
    pd.testing.assert_frame_equal(table, demo_table())


@pytest.mark.parametrize("name", ENGINES)
def test_engine_problems_have_1775_points(name: str) -> None:
    problem = load_problem(name)
    assert (len(problem.X), len(problem.X_test)) == (1420, 355)
    assert problem.y.name == "M_eng"
    assert set(problem.domain.values()) == {(-1, 1)}


@pytest.mark.parametrize("name", ["S0", "power_loss", "engine"])
def test_the_seed_decides_the_data(name: str) -> None:
    first, again, other = (load_problem(name, seed) for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(first.X, again.X)
    pd.testing.assert_series_equal(first.y, again.y)
    pd.testing.assert_series_equal(first.y_test, again.y_test)
    assert not first.y_test.equals(other.y_test)
    assert not first.X_test.equals(other.X_test)


def test_problems_are_drawn_independently() -> None:
    assert not load_problem("S0").X.equals(load_problem("S1").X)


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(IeqlError, match=r"There is no problem 'powerloss'\. Did you mean 'power_l"):
        load_problem("powerloss")


@pytest.mark.parametrize("seed", [-1, 0.5, None, True])
def test_bad_seeds_are_refused(seed: object) -> None:
    with pytest.raises(IeqlError, match="The seed must be a whole number of at least 0, but it is"):
        load_problem("S0", seed)  # type: ignore[arg-type]
