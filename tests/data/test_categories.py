"""Columns of words as inputs: one for each of their levels."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql import IeqlError, IEQLRegressor
from ieql.data.categories import Categories, has_few_levels, level_input
from ieql.data.dataset import Domain
from ieql.data.notes import sentences
from ieql.data.reading import read_table
from ieql.data.roles import Roles, take
from ieql.equations.expression import Expression
from ieql.errors import OutsideDomainWarning
from ieql.prior import Prior

TABLE = pd.DataFrame({"x": [1.0, 2, 3, 4], "gear": [10, 2, 2, 10], "mode": ["b", "a", "c", "a"]})
BOTH = Categories.of(TABLE, ["gear", "mode"])


def test_levels_are_in_order_numbers_by_their_size() -> None:
    assert BOTH.levels == {"gear": ("2", "10"), "mode": ("a", "b", "c")}


def test_each_level_is_an_input_in_the_place_of_its_column() -> None:
    table, unknown = BOTH.encoded(TABLE)
    names = ["x", "{gear: 2}", "{gear: 10}", "{mode: a}", "{mode: b}", "{mode: c}"]
    assert list(table.columns) == names
    assert table["{gear: 10}"].tolist() == [1, 0, 0, 1]
    assert not unknown.any()
    assert BOTH.columns(names) == ["x", "gear", "mode"]
    assert BOTH.places(names) == ((1, 2), (3, 4, 5))


def test_a_whole_number_is_the_same_level_with_and_without_a_point() -> None:
    """A column of whole numbers with gaps is read as 1.0, 2.0."""
    floats = TABLE.assign(gear=TABLE["gear"].astype(float))
    assert BOTH.encoded(floats)[0].equals(BOTH.encoded(TABLE)[0])


def test_rows_with_a_new_level_are_told() -> None:
    other = TABLE.assign(mode=["b", "x", "y", "a"])
    table, unknown = BOTH.encoded(other)
    assert unknown[:, 1].tolist() == [False, True, True, False]
    assert table.loc[1, ["{mode: a}", "{mode: b}", "{mode: c}"]].tolist() == [0, 0, 0]
    assert BOTH.unknown_levels(other, unknown) == "'x', 'y' in 'mode'"


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (TABLE.rename(columns={"mode": "mood"}), "no column 'mode'.*Did you mean 'mood'"),
        (TABLE.assign(mode="a"), "needs two levels at least"),
        (TABLE.set_axis(["x", "mode", "mode"], axis=1), "several columns 'mode'"),
        (TABLE.assign(mode=["a", None, "b", "c"]), "1 of 4 values are missing.*data row 2"),
        (pd.DataFrame({"mode": [f"m{i}" for i in range(60)]}), "60 different values"),
    ],
)
def test_what_is_no_category_is_refused(frame: pd.DataFrame, message: str) -> None:
    with pytest.raises(IeqlError, match=message):
        Categories.of(frame, ["mode"])


def test_a_column_may_not_be_called_like_a_level() -> None:
    with pytest.raises(IeqlError, match=r"the name of a level of 'mode'; rename it"):
        BOTH.encoded(TABLE.assign(**{"{mode: a}": 1.0}))


def test_levels_enter_sums_and_products_alone() -> None:
    prior = BOTH.rules(Prior())
    assert prior.allows_input("output", 0, "{mode: a}")
    assert prior.allows_input("mul", 0, "{mode: a}")
    assert not prior.allows_input("exp", 0, "{mode: a}")
    assert prior.allows_input("exp", 0, "x")
    assert BOTH.rules(prior) == prior


def test_a_rule_about_a_category_is_one_about_all_its_levels() -> None:
    prior = BOTH.rules(Prior.of({"inputs": {"mode": {"only_in": ["output"]}}}))
    assert not prior.allows_input("mul", 0, "{mode: b}")
    assert prior.allows_input("mul", 0, "{gear: 2}")
    assert "mode" not in prior.inputs


def test_a_prior_without_products_has_offsets_alone() -> None:
    prior = BOTH.rules(Prior(units=("cos", "exp"), prohibit=()))
    assert prior.inputs["{gear: 2}"]["only_in"] == ("output",)


def test_points_of_the_domain_have_one_level_each() -> None:
    domain = Domain(("x", "a", "b", "c"), np.zeros(4), np.array([5.0, 1, 1, 1]), ((1, 2, 3),))
    for points in (domain.sample(50, np.random.default_rng(0)), domain.corners()):
        assert np.all(points[:, 1:].sum(axis=1) == 1.0)
        assert set(np.unique(points[:, 1:])) == {0.0, 1.0}
    assert len(domain.corners()) == 6


@given(st.text(min_size=1, max_size=8), st.text(min_size=1, max_size=8))
def test_the_name_of_a_level_is_read_back_from_an_equation(column: str, level: str) -> None:
    name = level_input(column, level)
    expression = Expression.parse(Expression.parse("2*x + 1", ["x"]).text(), ["x"])
    renamed = Expression((name,), expression.nodes, expression.outputs)
    assert Expression.parse(renamed.text(), [name]) == renamed


def test_names_of_levels_need_no_backticks() -> None:
    expression = Expression.parse("2*{gear: 3}*x + {mode: a=b}", ["x", "{gear: 3}", "{mode: a=b}"])
    assert expression.text() == "2*{gear: 3}*x + {mode: a=b}"


def test_words_that_come_again_may_be_a_category() -> None:
    assert has_few_levels(pd.Series(["a", "b"] * 5))
    assert not has_few_levels(pd.Series([f"remark {i}" for i in range(10)]))
    assert not has_few_levels(pd.Series(["ok"] * 10))


# --- files ---------------------------------------------------------------------------------------

CSV = "x,mode,y\n" + "".join(f"{i},{'ab'[i % 2]},{2 * i}\n" for i in range(9)) + "9,,3\n"


def test_categories_of_a_file_are_taken_as_they_are_written(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    table = read_table(tmp_path / "t.csv")
    found = take(table, Roles(("y",), categories=("mode",)))
    assert list(found.X.columns) == ["x", "mode"]
    assert found.X["mode"].tolist()[:3] == ["a", "b", "a"]
    assert "1 of 10 rows, which have gaps ('mode' 1)" in " ".join(sentences(found.notes))


def test_a_column_of_words_that_is_left_out_could_be_a_category(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    found = take(read_table(tmp_path / "t.csv"), Roles(("y",)))
    said = "Left out: text in 'mode'; their levels become inputs if --categories names them."
    assert said in sentences(found.notes)


def test_a_category_that_is_no_input_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(CSV)
    with pytest.raises(IeqlError, match=r"'mood' is to be a category.*Did you mean 'mode'"):
        take(read_table(tmp_path / "t.csv"), Roles(("y",), categories=("mood",)))


# --- fits ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gears() -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    gear = rng.integers(1, 4, 90)
    X = pd.DataFrame({"speed": rng.uniform(0, 5, 90), "gear": [f"g{k}" for k in gear]})
    y = 2 * X["speed"] + np.array([0, 0.0, 3.0, -1.5])[gear] + rng.normal(0, 0.01, 90)
    return X, y


@pytest.fixture(scope="module")
def model(gears: tuple[pd.DataFrame, pd.Series]) -> IEQLRegressor:
    model = IEQLRegressor(categories=["gear"], max_trainings=2, n_jobs=1, random_state=0)
    return model.fit(*gears)


def test_each_level_has_the_offset_that_it_needs(
    model: IEQLRegressor, gears: tuple[pd.DataFrame, pd.Series]
) -> None:
    X, y = gears
    assert np.std(model.predict(X) - y) < 0.012
    e = model.expression()
    assert e.n_parameters == 3  # the speed, and two of the three gears
    assert "{gear: g" in e.text()


def test_a_new_level_has_no_value_and_a_warning_says_so(model: IEQLRegressor) -> None:
    X = pd.DataFrame({"speed": [1.0, 1.0], "gear": ["g1", "R"]})
    with pytest.warns(OutsideDomainWarning, match=r"1 of 2 rows of X .* have: 'R' in 'gear'"):
        values = model.predict(X)
    assert np.isfinite(values[0])
    assert np.isnan(values[1])
    with pytest.raises(IeqlError, match="'R' in 'gear'; leave them out"):
        model.recalibrate(X, [2.0, 2.0])


def test_a_missing_column_is_named(model: IEQLRegressor) -> None:
    with pytest.raises(IeqlError, match="lacks the column 'gear', which is a category"):
        model.predict(pd.DataFrame({"speed": [1.0]}))


def test_a_loaded_model_knows_its_categories(
    model: IEQLRegressor, gears: tuple[pd.DataFrame, pd.Series], tmp_path: Path
) -> None:
    model.save(tmp_path / "m.json")
    loaded = IEQLRegressor.load(tmp_path / "m.json")
    np.testing.assert_array_equal(loaded.predict(gears[0]), model.predict(gears[0]))
    assert loaded.fitted_.categories == model.fitted_.categories
    damaged = (tmp_path / "m.json").read_text().replace('"g3"', '"g9"')
    (tmp_path / "m.json").write_text(damaged)
    with pytest.raises(IeqlError, match="its categories do not fit the inputs"):
        IEQLRegressor.load(tmp_path / "m.json")


def test_suggested_points_have_a_level_each(model: IEQLRegressor) -> None:
    found = model.suggest(3)
    assert set(found["gear"]) <= {"g1", "g2", "g3"}
    assert not [name for name in found.columns if name.startswith("{")]


def test_exports_say_what_their_arguments_mean(model: IEQLRegressor) -> None:
    used = [n for n in model.expression().inputs_used if n.startswith("{")]
    level = used[0].removeprefix("{gear: ").removesuffix("}")
    assert f"gear_{level}: 1 where gear is {level}, else 0" in model.c()
    assert f"gear_{level}" in model.python()


def test_an_empty_table_is_refused_for_that() -> None:
    empty = pd.DataFrame({"x": [], "gear": []})
    with pytest.raises(IeqlError, match="at least 4 rows"):
        IEQLRegressor(categories=["gear"], max_trainings=1).fit(empty, [])


def test_categories_need_names() -> None:
    model = IEQLRegressor(categories=["gear"], max_trainings=1)
    with pytest.raises(IeqlError, match="X must be a DataFrame"):
        model.fit(np.ones((5, 1)), np.arange(5.0))
    with pytest.raises(IeqlError, match="must be a list of names"):
        IEQLRegressor(categories=3).fit(np.ones((5, 1)), np.arange(5.0))


def test_nothing_is_said_where_all_levels_are_known(
    model: IEQLRegressor, gears: tuple[pd.DataFrame, pd.Series]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(gears[0])
