"""One structure for many groups: from Python, and on the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fitted
from ieql import IeqlError, IEQLRegressor
from ieql.cli import app
from ieql.errors import OutsideDomainWarning

GAINS = {"pump 1": 2.0, "pump 2": 2.6, "pump 3": 3.1, "pump 10": 2.3}


def measured(seed=0, n=14, gains=GAINS):
    """Rows of a fleet whose gain differs and whose offset does not."""
    rng = np.random.default_rng(seed)
    parts = []
    for name, gain in gains.items():
        x = rng.uniform(0.5, 3, n)
        y = gain * x**2 + 5 + 0.05 * rng.normal(size=n)
        parts.append(pd.DataFrame({"flow": x, "head": y, "pump": name}))
    return pd.concat(parts, ignore_index=True)


TABLE = measured()
X, Y, PUMP = TABLE[["flow"]], TABLE["head"], TABLE["pump"]
FEW = measured(n=7)  # few rows are quicker
FEW_X, FEW_Y, FEW_PUMP = FEW[["flow"]], FEW["head"], FEW["pump"]


def regressor(**options):
    few = {"units": ["square", "mul"]}  # the fewer units, the quicker a training
    asked = {"prior": few, "max_time": None, "max_trainings": 1, "random_state": 0, "n_jobs": 1}
    return IEQLRegressor(**asked | options)


@pytest.fixture(scope="module")
def model():
    return regressor().fit(X, Y, groups=PUMP)


def test_one_structure_with_a_gain_of_each_ones_own_and_a_shared_offset(model):
    assert "flow**2" in model.equations_.loc[model.equations_["selected"], "equation"].iloc[0]
    table = model.group_constants_
    assert list(table.columns) == ["group", "of", "value", "standard_error", "shared"]
    gains = table[table["of"] == "factor of flow**2"].set_index("group")
    for name, gain in GAINS.items():
        assert gains.loc[name, "value"] == pytest.approx(gain, abs=0.05)
    assert not gains["shared"].any()
    assert table[table["of"] == "offset"]["shared"].all()


def test_groups_are_named_in_their_order(model):
    assert model.groups_ == ["pump 1", "pump 2", "pump 3", "pump 10"]


def test_each_row_is_predicted_by_the_constants_of_its_group(model):
    found = model.predict(X, groups=PUMP)
    assert np.sqrt(np.mean((found - Y) ** 2)) < 0.07
    shuffled = np.random.default_rng(1).permutation(len(X))
    again = model.predict(X.iloc[shuffled], groups=PUMP.iloc[shuffled])
    assert np.array_equal(again, found[shuffled])


def test_intervals_are_those_of_the_group_and_wide_for_another_one(model):
    low, high = model.predict_interval(X, groups=PUMP).T
    assert 0.8 <= np.mean((low <= Y) & (high >= Y)) <= 1.0
    wide_low, wide_high = model.predict_interval(X).T
    assert np.mean(wide_high - wide_low) > 3 * np.mean(high - low)


def test_a_group_that_the_fit_did_not_have_gets_the_constants_of_the_fleet(model):
    with pytest.warns(OutsideDomainWarning, match="had no group 'pump 7'"):
        found = model.predict(X[:3], groups=["pump 7", "pump 1", "pump 7"])
    assert found[0] == model.predict(X[:3])[0]
    assert found[1] == model.group("pump 1").predict(X[:3])[1]


def test_the_model_of_one_group_is_a_model_like_any_other(model):
    one = model.group("pump 3")
    assert one.groups_ == []
    assert np.array_equal(one.predict(X), model.predict(X, groups=["pump 3"] * len(X)))
    assert "3.1" in one.c() or "3.0" in one.c()
    assert len(one.constants()) == len(model.constants())
    with pytest.raises(IeqlError, match="There is no group 'pump 33'"):
        model.group("pump 33")


def test_a_new_pump_is_recalibrated_from_the_fleet(model):
    """One row: that gains differ and the offset does not is known by now."""
    new = measured(seed=5, n=1, gains={"pump 11": 2.8})
    found = model.recalibrate(new[["flow"]], new["head"])
    flow = np.linspace(0.5, 3, 50)
    truth = 2.8 * flow**2 + 5
    error = found.predict(pd.DataFrame({"flow": flow})) - truth
    assert np.sqrt(np.mean(error**2)) < 0.5
    assert found.groups_ == []


def test_it_is_saved_and_loaded(model, tmp_path):
    model.save(tmp_path / "fleet.json")
    again = IEQLRegressor.load(tmp_path / "fleet.json")
    assert again.groups_ == model.groups_
    assert np.array_equal(again.predict(X, groups=PUMP), model.predict(X, groups=PUMP))
    assert np.array_equal(
        again.predict_interval(X, groups=PUMP), model.predict_interval(X, groups=PUMP)
    )
    pd.testing.assert_frame_equal(again.group_constants_, model.group_constants_)

    form = json.loads((tmp_path / "fleet.json").read_text())
    form["groups"] = form["groups"][1:]
    (tmp_path / "fleet.json").write_text(json.dumps(form))
    with pytest.raises(IeqlError, match="does not fit its groups"):
        IEQLRegressor.load(tmp_path / "fleet.json")


def test_text_and_report_show_the_constants_of_each_group(model):
    assert "pump 10" in str(model)
    assert "1 constant is shared by all groups." in str(model)
    page = model.report_html()
    assert "Table of the constants of each group" in page
    assert "pump 10" in page


def test_the_user_may_say_that_all_constants_are_shared_or_own():
    shared = regressor(group_constants="shared").fit(FEW_X, FEW_Y, groups=FEW_PUMP)
    assert shared.group_constants_["shared"].all()
    with pytest.raises(IeqlError, match="group_constants is 'some'"):
        regressor(group_constants="some").fit(X, Y, groups=PUMP)


def test_the_user_may_name_what_differs():
    """Gains differ in these rows; who says that zeros do gets zeros that differ."""
    found = regressor(group_constants=["offset"]).fit(FEW_X, FEW_Y, groups=FEW_PUMP)
    shared = found.group_constants_.groupby("of")["shared"].all()
    assert not shared["offset"]
    assert shared.drop("offset").all()
    for wrong in (["offset", "gain"], [], 3, ["offset", "own"]):
        with pytest.raises(IeqlError, match=r"^group_constants"):
            regressor(group_constants=wrong).fit(X, Y, groups=PUMP)


def test_whole_numbers_name_groups_too():
    numbers = FEW_PUMP.str.split().str[1].astype(int)
    found = regressor().fit(FEW_X, FEW_Y, groups=numbers.to_numpy())
    assert found.groups_ == ["1", "2", "3", "10"]
    assert np.isfinite(found.predict(FEW_X, groups=numbers)).all()


def test_several_outputs_each_have_constants_of_their_own():
    both = pd.DataFrame({"head": FEW_Y, "twice": 2 * FEW_X["flow"] + 1})
    found = regressor().fit(FEW_X, both, groups=FEW_PUMP)
    assert found.predict(FEW_X, groups=FEW_PUMP).shape == (len(FEW), 2)
    assert set(found.group_constants_["output"]) == {"head", "twice"}


def test_weights_say_which_rows_count():
    spoilt = FEW_Y.copy()
    spoilt[::6] += 100.0
    weight = np.ones(len(FEW))
    weight[::6] = 0.0
    found = regressor().fit(FEW_X, spoilt, groups=FEW_PUMP, sample_weight=weight)
    good = weight > 0
    assert np.sqrt(np.mean((found.predict(FEW_X, groups=FEW_PUMP) - FEW_Y)[good] ** 2)) < 0.1


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (PUMP[:5], "one group for each of the 56 rows"),
        (["a"] * 56, "the same name in every row"),
        ([None, *PUMP[1:]], "names no group in data row 1"),
        (np.linspace(0, 1, 56), "texts or whole numbers"),
    ],
)
def test_groups_that_are_wrong_get_a_sentence(groups, message):
    with pytest.raises(IeqlError, match=message):
        regressor().fit(X, Y, groups=groups)


def test_what_a_fit_with_groups_would_not_heed_is_refused():
    """A robust loss was taken, and the constants fitted by least squares all the same."""
    with pytest.raises(IeqlError, match="least squares"):
        regressor(loss="huber").fit(X, Y, groups=PUMP)


def test_a_model_without_groups_takes_none():
    plain = fitted.model()
    with pytest.raises(IeqlError, match="fitted without groups"):
        plain.predict(np.ones((2, 2)), groups=["a", "b"])


# --- the command line ----------------------------------------------------------------------------


def ieql(*words):
    done = CliRunner().invoke(app, [str(word) for word in words])
    return done.exit_code, done.output


def test_groups_come_from_a_column_and_are_used_by_the_other_commands(tmp_path):
    TABLE.to_csv(tmp_path / "pumps.csv", index=False)
    asked = ("fit", tmp_path / "pumps.csv", "--target", "head", "--groups", "pump")
    limits = ("--time", 600, "--trainings", 1, "--jobs", 1, "--seed", 0, "--out", tmp_path / "run")
    code, said = ieql(*asked, *limits)
    assert code == 0, said
    assert "pump 10" in said

    code, said = ieql("show", tmp_path / "run")
    assert code == 0
    assert "pump 10" in said
    code, said = ieql("predict", tmp_path / "run", tmp_path / "pumps.csv", "--out", tmp_path / "p")
    assert code == 0, said
    assert np.sqrt(np.mean((pd.read_csv(tmp_path / "p")["head"] - Y) ** 2)) < 0.07
    code, said = ieql("export", tmp_path / "run", "--group", "pump 3")
    assert code == 0, said
    assert "3.1" in said or "3.0" in said
    assert "pump 10" in (tmp_path / "run" / "report.html").read_text()

    code, said = ieql("try", tmp_path / "run", "a*flow**2 + b")
    assert code == 2
    assert "say in which one to try the equation, as in --group 'pump 1'." in said
    code, said = ieql("try", tmp_path / "run", "a*flow**2 + b", "--group", "pump 10")
    assert code == 0, said
    assert said.startswith("head = 2.")


def test_a_run_goes_on_and_keeps_what_it_has_found(tmp_path):
    """It was refused, and a second fit into the same folder forgot the first one."""
    FEW.to_csv(tmp_path / "pumps.csv", index=False)
    asked = ("fit", tmp_path / "pumps.csv", "--target", "head", "--groups", "pump")
    limits = ("--time", 600, "--trainings", 1, "--jobs", 1)
    code, said = ieql(*asked, *limits, "--seed", 0, "--out", tmp_path / "run")
    assert code == 0, said
    before = IEQLRegressor.load(tmp_path / "run" / "model.json")
    code, said = ieql("resume", tmp_path / "run", *limits)
    assert code == 0, said
    after = IEQLRegressor.load(tmp_path / "run" / "model.json")
    assert after.groups_ == before.groups_
    assert after.n_trainings_ > before.n_trainings_
    least = [min(c.rmse_train for c in m.fronts_[0]) for m in (before, after)]
    assert least[1] <= 1.001 * least[0]


def test_a_column_of_groups_that_is_not_there_is_named(tmp_path):
    TABLE.to_csv(tmp_path / "pumps.csv", index=False)
    asked = ("fit", tmp_path / "pumps.csv", "--target", "head", "--out", tmp_path / "run")
    code, said = ieql(*asked, "--groups", "pumps")
    assert code == 2
    assert "has no column 'pumps'" in said
    code, said = ieql(*asked, "--groups", "head")
    assert code == 2
    assert "both a group and" in said


def test_an_equation_of_ones_own_is_tried_in_one_group(model):
    """It was fitted to all rows at once and called worse by far; beside one group's equation, it
    was called better, as that seemed to pay for the constants of all the others."""
    rows = (PUMP == "pump 1").to_numpy()
    for given in ({}, {"X": X, "y": Y}):
        with pytest.raises(IeqlError, match="try the equation in one of them"):
            model.try_equation("a*flow**2 + b", **given)
    row = model.group("pump 1").try_equation("a*flow**2 + b", X=X[rows], y=Y[rows])
    assert abs(row["nats"]) < 3
