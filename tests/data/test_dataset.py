"""Tables in, canonical data sets out; every fault is one clear sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ieql.data.dataset
from ieql.data.dataset import (
    Dataset,
    Domain,
    Scaling,
    check_table,
    constant_columns,
    positions,
    split_target,
)
from ieql.data.sample import Sample
from ieql.errors import IeqlError

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write text or bytes to a file and return its path."""

    def _write(content: str | bytes, encoding: str = "utf-8") -> Path:
        path = tmp_path / "data.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return _write


def table(**columns: object) -> pd.DataFrame:
    """Ten rows of a good column 'x' and further columns."""
    return pd.DataFrame({"x": np.arange(10.0), **columns})


# --- check_table -----------------------------------------------------------------------------

GOOD = {
    "integers": np.arange(10),
    "booleans": [True, False] * 5,
    "nullable integers": pd.array(range(10), dtype="Int64"),
    "nullable floats": pd.array(np.arange(10.0), dtype="Float64"),
    "nullable booleans": pd.array([True, False] * 5, dtype="boolean"),
    "objects": np.array([1, 2.5, True, "4", 5, 6, 7, 8, 9, 10], dtype=object),
    "numbers as text": pd.array(["1.5"] * 10, dtype="str"),
    "categories": pd.Categorical([1, 2] * 5),
    "float32": np.arange(10, dtype=np.float32),
}


@pytest.mark.parametrize("kind", GOOD)
def test_columns_of_numbers_are_accepted(kind: str) -> None:
    frame = table(c=GOOD[kind])
    check_table(frame)
    assert np.isfinite(frame.to_numpy(np.float64)).all()


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (
            [1, np.nan, 3, None, 5, 6, 7, 8, 9, 10],
            "X, column 'c': 2 of 10 values are missing (NaN), the first in data row 2; fill these "
            "cells or drop the rows.",
        ),
        (
            pd.array([1, 2, pd.NA, *range(7)], dtype="Int64"),
            "X, column 'c': 1 of 10 values are missing (NaN), the first in data row 3; fill these "
            "cells or drop the rows.",
        ),
        (
            pd.array([1.5, 2, pd.NA, *range(7)], dtype="Float64"),
            "X, column 'c': 1 of 10 values are missing (NaN), the first in data row 3; fill these "
            "cells or drop the rows.",
        ),
        (
            [*range(9), -np.inf],
            "X, column 'c': 1 of 10 values are infinite, the first in data row 10; replace these "
            "cells or drop the rows.",
        ),
        (
            ["1", "2", "N", *["4"] * 7],
            "X, column 'c' holds 'N' in data row 3, which is not a number; write plain numbers (no "
            "units, no thousands separators) or leave the column out.",
        ),
        (
            ["1,234", *["1"] * 9],
            "X, column 'c' holds '1,234' in data row 1, with a comma in it; write all numbers with "
            "a decimal point, or all with a decimal comma and a semicolon between the columns, and "
            "no thousands separators.",
        ),
        (
            np.array([1, None, [], *range(7)], dtype=object),
            "X, column 'c' holds [] in data row 3, which is not a number; write plain numbers (no "
            "units, no thousands separators) or leave the column out.",
        ),
        (
            pd.date_range("2024-01-01", periods=10),
            "X, column 'c' holds dates or times; turn it into numbers (for example seconds since "
            "the start) or leave the column out.",
        ),
        (
            pd.period_range("2024", periods=10, freq="D"),
            "X, column 'c' holds dates or times; turn it into numbers (for example seconds since "
            "the start) or leave the column out.",
        ),
    ],
)
def test_bad_columns_are_refused_in_a_sentence(column: object, sentence: str) -> None:
    with pytest.raises(IeqlError) as caught:
        check_table(table(c=column))
    assert str(caught.value) == sentence


def test_arrays_and_series_are_checked_too() -> None:
    X = np.ones((10, 3))
    check_table(X)
    X[6, 1] = np.nan
    with pytest.raises(IeqlError, match=r"^X, column 2: 1 of 10 values are missing \(NaN\).*row 7"):
        check_table(X)
    with pytest.raises(IeqlError, match=r"^y, column 'torque': 1 of 10 values are infinite.*row 1"):
        check_table(pd.Series([np.inf] + [1.0] * 9, name="torque"), "y")
    with pytest.raises(IeqlError, match=r"^y, its column holds 'a' in data row 1"):
        check_table(pd.Series(["a"] * 10), "y")


@pytest.mark.parametrize("n", [0, 1, 3])
def test_too_few_rows_are_refused(n: int) -> None:
    with pytest.raises(IeqlError) as caught:
        check_table(np.ones((n, 2)))
    assert str(caught.value) == f"X has {n} sample(s); at least 4 rows are needed."


def test_a_single_row_is_enough_to_predict_on() -> None:
    check_table(np.ones((1, 2)), min_rows=1)
    with pytest.raises(IeqlError, match=r"0 sample.*at least 1 row is needed"):
        check_table(np.ones((0, 2)), min_rows=1)


def test_duplicated_names_are_refused() -> None:
    frame = pd.DataFrame(np.ones((10, 2)), columns=["a", "a"])
    with pytest.raises(IeqlError, match="The column name 'a' appears 2 times in X"):
        check_table(frame)


@pytest.mark.parametrize(
    "exotic",
    [
        [[1.0], [1.0, 2.0]],
        np.ones(12),
        np.ones((2, 2, 2)),
        np.array([[{}, []]] * 12, dtype=object),
        np.ones((12, 0)),
        3,
    ],
    ids=["rows of two lengths", "1-d", "3-d", "objects", "no columns", "a number"],
)
def test_other_inputs_are_left_to_scikit_learn(exotic: object) -> None:
    check_table(exotic)  # does not raise: scikit-learn's own checks have better words for these


def test_constant_columns_are_listed() -> None:
    frame = table(c=[3] * 10, d=pd.array([True] * 10, dtype="boolean"))
    assert constant_columns(frame) == ["c", "d"]
    assert constant_columns(np.array([[1.0, 2.0], [1.0, 3.0]])) == [0]


# --- split_target ----------------------------------------------------------------------------


def test_split_target_takes_the_columns_asked_for() -> None:
    frame = table(load=1, torque=2, power=3)
    X, y = split_target(frame, ["torque"])
    assert (list(X), list(y)) == (["x", "load", "power"], ["torque"])
    X, y = split_target(frame, ["power", "torque"], ["load", "x"])
    assert (list(X), list(y)) == (["load", "x"], ["power", "torque"])


@pytest.mark.parametrize(
    ("targets", "inputs", "sentence"),
    [
        (
            ["torqe"],
            None,
            "The target 'torqe' is not a column of the table. Did you mean 'torque'? The columns "
            "are 'x', 'load', 'torque'.",
        ),
        (
            ["torque"],
            ["x", "laod"],
            "The input 'laod' is not a column of the table. Did you mean 'load'? The columns are "
            "'x', 'load', 'torque'.",
        ),
        (
            ["torque"],
            ["x", "torque"],
            "The column 'torque' is both a target and an input; choose one role.",
        ),
        (
            ["x", "x"],
            None,
            "The column name 'x' appears 2 times in the targets asked for; every column needs its "
            "own name.",
        ),
        ([], None, "No target is given; name the column that the equation is to explain."),
        (
            ["x", "load", "torque"],
            None,
            "No input column is left besides the target; the table needs at least one.",
        ),
    ],
)
def test_split_target_refuses_in_a_sentence(
    targets: list[str], inputs: list[str] | None, sentence: str
) -> None:
    with pytest.raises(IeqlError) as caught:
        split_target(table(load=1, torque=2), targets, inputs)
    assert str(caught.value) == sentence


def test_only_some_of_many_columns_are_listed() -> None:
    frame = pd.DataFrame(np.ones((1, 30)), columns=[f"column{j}" for j in range(30)])
    with pytest.raises(IeqlError, match="'column11' and 18 more"):
        split_target(frame, ["y"])


# --- Scaling ---------------------------------------------------------------------------------

# nothing so small that it vanishes beside the scale: that would be underflow, not rounding
FINITE = st.floats(-1e100, 1e100).map(lambda v: v if abs(v) > 1e-100 else 0.0)
MATRIX = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2), elements=FINITE)


@given(MATRIX, st.sampled_from(["minmax", "zscore"]))
def test_scaling_and_back_is_exact_to_rounding(X: np.ndarray, kind: str) -> None:
    scaling: Scaling = getattr(Scaling, kind)(X)
    back = scaling.inverse(scaling.transform(X))
    size = np.maximum(np.abs(X), np.abs(scaling.offset))
    assert (np.abs(back - X) <= 8 * np.finfo(float).eps * size).all()


def test_minmax_maps_the_range_to_minus_one_and_one() -> None:
    X = np.array([[0.0, 7.0], [5.0, 7.0], [20.0, 7.0]])
    scaling = Scaling.minmax(X)
    np.testing.assert_array_equal(scaling.transform(X), [[-1, 0], [-0.5, 0], [1, 0]])
    np.testing.assert_array_equal(scaling.offset, [10, 7])
    np.testing.assert_array_equal(scaling.scale, [10, 1])


def test_minmax_does_not_overflow() -> None:
    X = np.array([[-1.7e308], [1.7e308]])
    np.testing.assert_array_equal(Scaling.minmax(X).transform(X), [[-1], [1]])


def test_zscore_counts_a_weight_as_so_many_rows() -> None:
    y = np.array([[1.0], [2.0], [5.0]])
    repeated = Scaling.zscore(np.repeat(y, [1, 3, 2], axis=0))
    weighted = Scaling.zscore(y, np.array([1.0, 3.0, 2.0]))
    np.testing.assert_allclose(weighted.offset, repeated.offset, rtol=1e-15)
    np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-15)
    np.testing.assert_allclose(repeated.scale, np.std([1, 2, 2, 2, 5, 5]), rtol=1e-15)


def test_zscore_of_a_constant_and_the_identity() -> None:
    y = np.full((7, 1), 0.1)
    assert Scaling.zscore(y).transform(y).tolist() == [[0.0]] * 7
    np.testing.assert_array_equal(Scaling.identity(1).transform(y), y)


# --- Domain ----------------------------------------------------------------------------------

X2 = np.array([[0.0, 10.0], [1.0, 30.0]])
NAMES = ("speed", "load")


def bounds(domain: Domain) -> list[tuple[float, float]]:
    return list(zip(domain.lower.tolist(), domain.upper.tolist(), strict=True))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (None, [(0, 1), (10, 30)]),
        ({"speed": (-5, 5)}, [(-5, 5), (10, 30)]),
        ([(-5, 5), (0, 100)], [(-5, 5), (0, 100)]),
        (np.array([[-5, 5], [0, 100]]), [(-5, 5), (0, 100)]),
    ],
)
def test_domain_is_what_is_declared_and_else_the_range(spec: object, expected: list) -> None:
    assert bounds(Domain.of(spec, NAMES, X2)) == expected  # type: ignore[arg-type]


def test_domain_covers_the_extra_points() -> None:
    domain = Domain.of({"load": (0, 50)}, NAMES, X2, np.array([[3.0, 40.0]]))
    assert bounds(domain) == [(0, 3), (0, 50)]


def test_a_constant_column_has_a_domain_of_one_point() -> None:
    assert bounds(Domain.of(None, ["c"], np.full((3, 1), 2.0))) == [(2, 2)]


def test_rounding_at_the_border_is_forgiven() -> None:
    domain = Domain.of({"a": (0, 0.3)}, ["a"], np.array([[0.0], [0.1 + 0.2]]))
    assert not domain.outside(np.array([[0.1 + 0.2]])).any()


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"sped": (0, 1)}, "The domain names 'sped', which is not an input. Did you mean 'speed'?"),
        (
            [(0, 1)],
            "The domain has 1 pair but there are 2 inputs; give one (low, high) for each, or "
            "a mapping with the names of some.",
        ),
        (
            {"speed": (1, 1)},
            "The domain of 'speed' must be (low, high) with low below high, but it is (1, 1).",
        ),
        (
            {"speed": (0, np.inf)},
            "The domain of 'speed' must be finite, but it is 0 to inf; give the bounds between "
            "which the equation will be used.",
        ),
        (
            {"speed": 3},
            "The domain of 'speed' must be a pair (low, high) of numbers, but it is 3.",
        ),
        (
            {"load": (15, 50)},
            "The domain of 'load' is 15 to 50 but the data range from 10 to 30; widen the domain, "
            "or drop the rows outside it.",
        ),
        (
            "wide",
            "The domain must map input names to (low, high) or list one such pair per input, but "
            "it is 'wide'.",
        ),
    ],
)
def test_bad_domains_are_refused_in_a_sentence(spec: object, sentence: str) -> None:
    with pytest.raises(IeqlError) as caught:
        Domain.of(spec, NAMES, X2)  # type: ignore[arg-type]
    assert str(caught.value) == sentence


def test_samples_fill_the_domain() -> None:
    domain = Domain.of([(-2, 2), (0, 100)], NAMES, X2)
    points = domain.sample(2000, np.random.default_rng(0))
    assert points.shape == (2000, 2)
    assert not domain.outside(points).any()
    np.testing.assert_allclose(points.mean(axis=0), [0, 50], atol=0.1 * 50)
    np.testing.assert_allclose(points.min(axis=0), [-2, 0], atol=1)


def test_corners_are_all_or_a_fixed_choice() -> None:
    domain = Domain(("a", "b", "c"), np.array([0.0, 1.0, 5.0]), np.array([2.0, 3.0, 5.0]))
    assert domain.corners().tolist() == [[0, 1, 5], [0, 3, 5], [2, 1, 5], [2, 3, 5]]
    wide = Domain(tuple(f"x{j}" for j in range(40)), np.zeros(40), np.ones(40))
    corners = wide.corners(100)
    assert corners.shape == (100, 40)
    assert set(np.unique(corners)) == {0.0, 1.0}
    np.testing.assert_array_equal(corners, wide.corners(100))


def test_the_domain_is_closed_and_nan_lies_outside() -> None:
    domain = Domain.of(None, NAMES, X2)
    X = np.array([[0, 10], [1, 30], [1.1, 20], [0.5, 9], [np.nan, 20]])
    assert domain.outside(X).any(axis=1).tolist() == [False, False, True, True, True]


def test_domain_survives_json() -> None:
    domain = Domain.of({"speed": (-0.1, 1 / 3 + 1)}, NAMES, X2)
    again = Domain.from_dict(json.loads(json.dumps(domain.to_dict())))
    assert again.names == domain.names
    assert bounds(again) == bounds(domain)
    assert bounds(Domain.of(again, NAMES, X2)) == bounds(domain)


# --- Dataset ---------------------------------------------------------------------------------


def same(a: Dataset, b: Dataset) -> bool:
    """Whether two data sets are the same to the last bit."""
    arrays = (
        (a.X, b.X),
        (a.y, b.y),
        (a.weight, b.weight),
        (a.domain.lower, b.domain.lower),
        (a.domain.upper, b.domain.upper),
    )
    return all(u.tobytes() == v.tobytes() and u.shape == v.shape for u, v in arrays) and (
        (a.feature_names, a.target_names) == (b.feature_names, b.target_names)
    )


def rows(n: int = 40, d: int = 2, k: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, k))


def test_plain_data_keep_their_rows_with_weight_one() -> None:
    X, y = rows()
    data = Dataset.of(X, y[:, 0])
    assert len(data) == 40
    assert data.y.shape == (40, 1)
    assert data.weight.tolist() == [1.0] * 40
    assert sorted(map(tuple, np.c_[data.X, data.y])) == sorted(map(tuple, np.c_[X, y]))
    assert (data.feature_names, data.target_names) == (("x1", "x2"), ("y",))
    assert Dataset.of(X, np.c_[y, -y]).target_names == ("y1", "y2")


@given(
    hnp.arrays(np.int8, (12, 3), elements=st.integers(0, 2)),
    st.lists(st.integers(0, 4), min_size=12, max_size=12),
    st.randoms(use_true_random=False),
)
def test_order_and_repetition_of_rows_do_not_matter(
    values: np.ndarray, weight: list[int], random: object
) -> None:
    # two more rows of weight one, so that the target is not constant
    values = np.r_[values, [[0, 0, 0], [0, 0, 1]]].astype(float)
    weight = np.array([*weight, 1, 1])
    shuffled = np.repeat(np.arange(14), weight)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    weighted = Dataset.of(values[:, :2], values[:, 2], weight)
    repeated = Dataset.of(values[shuffled, :2], values[shuffled, 2])
    assert same(weighted, repeated)
    assert weighted.weight.sum() == weight.sum()
    assert len(np.unique(np.c_[weighted.X, weighted.y], axis=0)) == len(weighted)


@given(st.permutations(range(6)))
def test_the_sum_of_weights_does_not_depend_on_the_order(order: list[int]) -> None:
    X, y = np.ones((6, 1)), np.array([1.0, 1, 1, 1, 1, 2])
    weight = np.array([0.1, 0.2, 0.3, 1e16, 1.0, 1.0])
    assert same(Dataset.of(X, y, weight), Dataset.of(X[order], y[order], weight[order]))


def test_negative_zero_is_zero() -> None:
    X, y = rows()
    X[0], X[1], y[1] = [0.0, 1.0], [-0.0, 1.0], y[0]
    data = Dataset.of(X, y)
    assert len(data) == 39
    assert data.weight.max() == 2.0
    assert not np.signbit(data.X[data.X == 0]).any()


def test_different_rows_with_the_same_hash_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        ieql.data.dataset, "_row_hash", lambda X, y: np.zeros(len(X), dtype=np.uint64)
    )
    X, y = rows(20)
    X, y = np.r_[X, X[:5]], np.r_[y, y[:5]]
    order = np.random.default_rng(1).permutation(25)
    data = Dataset.of(X, y)
    assert len(data) == 20
    assert data.weight.sum() == 25
    assert same(data, Dataset.of(X[order], y[order]))


def test_the_order_is_unlike_that_of_the_rows() -> None:
    ramp = np.arange(1000.0)
    data = Dataset.of(ramp[:, None], ramp)
    assert abs(np.corrcoef(data.X[:, 0], ramp)[0, 1]) < 0.1


def test_rows_without_weight_do_not_widen_the_domain() -> None:
    X, y = rows()
    X[0] = 100
    weight = np.r_[0, np.ones(39)]
    assert same(Dataset.of(X, y, weight), Dataset.of(X[1:], y[1:]))
    assert Dataset.of(X, y, weight, X_extra=[[7.0, 0.0]]).domain.upper[0] == 7


def test_input_arrays_are_not_changed() -> None:
    X, y = rows()
    X[3] = -0.0
    before = X.tobytes(), y.tobytes()
    X.setflags(write=False)
    Dataset.of(X, y)
    assert (X.tobytes(), y.tobytes()) == before


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        (
            [1.0] * 39,
            "sample_weight must hold one number for each of the 40 rows, but its shape is (39,).",
        ),
        (
            [1.0] * 38 + [-1, 1],
            "sample_weight must be finite and not negative, but it is -1 in data row 39.",
        ),
        (
            [np.nan] + [1.0] * 39,
            "sample_weight must be finite and not negative, but it is nan in data row 1.",
        ),
        ([0.0] * 40, "sample_weight is zero in every row: there is nothing to learn from."),
    ],
)
def test_bad_weights_are_refused_in_a_sentence(weight: list[float], sentence: str) -> None:
    with pytest.raises(IeqlError) as caught:
        Dataset.of(*rows(), weight)
    assert str(caught.value) == sentence


def test_a_constant_target_is_refused() -> None:
    X, _ = rows()
    with pytest.raises(IeqlError) as caught:
        Dataset.of(X, np.full(40, 3))
    assert str(caught.value) == "The target 'y' is 3.0 in every row: there is nothing to learn."
    with pytest.raises(IeqlError, match=r"target 'a' is 3\.0 in every row"):
        Dataset.of(X, np.full((40, 2), 3), target_names=["a", "b"])


def test_beside_others_a_constant_target_is_an_equation_too() -> None:
    X, y = rows()
    data = Dataset.of(X, np.c_[y, np.zeros(40)], target_names=["a", "b"])
    assert np.all(data.y[:, 1] == 0.0)
    assert np.ptp(data.y[:, 0]) > 0.0


def test_bad_shapes_and_names_are_refused() -> None:
    X, y = rows()
    with pytest.raises(IeqlError, match="X has 40 rows but y has 39"):
        Dataset.of(X, y[1:])
    with pytest.raises(IeqlError, match="2 columns but 1 name: name each"):
        Dataset.of(X, y, feature_names=["a"])
    with pytest.raises(IeqlError, match="The column name 'a' is duplicated"):
        Dataset.of(X, y, feature_names=["a", "a"])


def test_a_declared_domain_reaches_the_data_set() -> None:
    X, y = rows()
    data = Dataset.of(X, y, domain={"b": (-9, 9)}, feature_names=["a", "b"])
    assert data.domain.to_dict() == {"a": [X[:, 0].min(), X[:, 0].max()], "b": [-9, 9]}
    assert Dataset.of(X, y, domain=data.domain).domain is data.domain


@given(st.integers(8, 60), st.floats(0, 0.9, exclude_min=True), st.integers(0, 2**32), st.randoms())
def test_a_split_puts_every_row_in_one_part(
    n: int, fraction: float, seed: int, random: object
) -> None:
    X, y = rows(n)
    order = list(range(n))
    random.shuffle(order)  # type: ignore[attr-defined]
    train, validation = Dataset.of(X, y).split(fraction, seed)
    assert len(train) >= 1
    assert len(validation) == max(1, round(fraction * n))
    together = np.r_[train.y, validation.y]
    assert sorted(together[:, 0]) == sorted(y[:, 0])
    again = Dataset.of(X[order], y[order]).split(fraction, seed)
    assert same(train, again[0])
    assert same(validation, again[1])


def test_splits_differ_by_seed_and_keep_the_domain() -> None:
    data = Dataset.of(*rows())
    train, validation = data.split(0.1, 0)
    assert len(validation) == 4
    assert train.domain is data.domain
    assert not same(validation, data.split(0.1, 1)[1])


def test_few_rows_are_not_split() -> None:
    data = Dataset.of(*rows(7))
    train, validation = data.split(0.5, 0)
    assert train is data
    assert validation is data


@pytest.mark.parametrize("fraction", [0, -0.1, 0.91, np.nan])
def test_bad_fractions_are_refused(fraction: float) -> None:
    with pytest.raises(IeqlError, match=r"fraction must be above 0 and at most 0\.9, but it is"):
        Dataset.of(*rows()).split(fraction, 0)


def test_one_of_several_targets_is_as_if_it_were_alone() -> None:
    X, y = rows(30, k=2)
    X, y = np.r_[X, X[:10]], np.r_[y, y[:10]]
    y[30:, 1] += 1  # repeated rows for the first target, different ones for the second
    both = Dataset.of(X, y, target_names=["a", "b"])
    assert len(both) == 40
    assert len(both.target(0)) == 30
    for k, name in enumerate(["a", "b"]):
        assert same(both.target(k), Dataset.of(X, y[:, k], target_names=[name]))


def test_a_subset_takes_rows_in_order() -> None:
    data = Dataset.of(*rows())
    part = data.subset(np.array([5, 2]))
    np.testing.assert_array_equal(part.X, data.X[[5, 2]])
    np.testing.assert_array_equal(part.y, data.y[[5, 2]])
    assert part.feature_names == data.feature_names


# --- rows and cells ------------------------------------------------------------------------------


@given(
    st.lists(st.integers(1, 40), min_size=2, max_size=8),
    st.floats(0.05, 0.9),
    st.integers(0, 9),
)
def test_rows_are_split_not_cells(counts: list[int], fraction: float, seed: int) -> None:
    """Ten thousand rows in ten cells: nine cells had trained, and one had validated."""
    n = sum(counts)
    if n < 8:
        return
    x = np.arange(len(counts), dtype=float)
    data = Dataset.of(x[:, None], x, counts)
    train, validation = data.split(fraction, seed)
    assert validation.weight.sum() == min(max(round(fraction * n), 1), n - 1)
    assert train.weight.sum() + validation.weight.sum() == n
    together = {float(y): 0.0 for y in x}
    for part in (train, validation):
        assert (part.weight > 0).all()
        for y, weight in zip(part.y[:, 0].tolist(), part.weight.tolist(), strict=True):
            together[y] += weight
    assert list(together.values()) == counts


def test_weights_that_are_no_counts_are_precisions() -> None:
    """1/σ² in any unit: only the ratios matter, and each row is one measurement."""
    X, y = rows(40)
    weight = np.random.default_rng(3).uniform(0.1, 5.0, 40)
    one, thousand = Dataset.of(X, y, weight), Dataset.of(X, y, 1000 * weight)
    assert one.weight.sum() == pytest.approx(40)
    np.testing.assert_allclose(one.weight, thousand.weight)
    train, validation = one.split(0.1, 0)
    assert (len(train), len(validation)) == (36, 4)


def test_rows_of_which_there_are_billions_are_split_by_shares() -> None:
    x = np.arange(5.0)
    train, validation = Dataset.of(x[:, None], x, np.full(5, 4e9)).split(0.1, 0)
    assert validation.weight.sum() == pytest.approx(2e9, rel=1e-6)
    assert train.weight.sum() == pytest.approx(18e9, rel=1e-6)


def test_rows_are_found_again_in_the_users_table() -> None:
    X, y = rows(30)
    X[7], y[7] = X[3], y[3]
    X[9, 0] = -0.0
    wanted = Sample(np.ascontiguousarray(X[[3, 9]].T), y[[3, 9], 0], np.ones(2))
    assert positions(X, y[:, 0], wanted) == [3, 7, 9]
    assert positions(X, y[:, 0], Sample(np.empty((2, 0)), np.empty(0), np.empty(0))) == []
