"""Rules about equations as a whole: what they say, what is refused, and that every front obeys."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql import IEQLRegressor, Prior
from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.training.archive import Archive
from ieql.training.fast.lines import lines
from ieql.training.fast.structures import Grammar
from ieql.training.trainers import State
from tasks import make_task, of_formula

NAMES = ("a", "b", "c", "d")


def kept(rules, text):
    return Expression.parse(text, NAMES).is_allowed(Prior.of(rules))


@pytest.mark.parametrize(
    ("rules", "text", "expected"),
    [
        ({"require": ["a"]}, "a*b", True),
        ({"require": ["a"]}, "2*b", False),
        ({"require": ["a"]}, "1.5", False),
        ({"together": [["a", "b"]]}, "a*b", True),
        ({"together": [["a", "b"]]}, "c", True),
        ({"together": [["a", "b"]]}, "a + c", False),
        ({"apart": [["a", "b", "c"]]}, "a + d", True),
        ({"apart": [["a", "b", "c"]]}, "b*c", False),
        ({"max_units": 1}, "a*b + c", True),
        ({"max_units": 1}, "a*b + c**2", False),
    ],
)
def test_a_rule_is_about_the_whole_equation(rules, text, expected):
    assert kept(rules, text) is expected


def test_a_single_list_may_stand_alone():
    assert Prior.of({"apart": ["a", "b"]}) == Prior.of({"apart": [["a", "b"]]})


RULES = st.fixed_dictionaries(
    {},
    optional={
        "require": st.lists(st.sampled_from(NAMES), unique=True, max_size=2),
        "max_units": st.integers(1, 9),
        "together": st.just([["a", "b"]]),
        "apart": st.just([["c", "d"]]),
    },
)


def prior_of(rules):
    try:
        return Prior.of(rules)
    except IeqlError:  # a contradiction
        return Prior.of({})


@given(RULES)
def test_rules_survive_yaml_pickling_and_mappings(rules):
    prior = prior_of(rules)
    assert Prior.from_yaml(prior.to_yaml()) == prior
    assert Prior.of(prior.to_dict()) == prior
    assert pickle.loads(pickle.dumps(prior)) == prior


@given(RULES, st.sets(st.sampled_from(NAMES)))
def test_what_lacks_no_input_needs_none(rules, inputs):
    """Adding what is missing, as often as it takes, ends with all that must be there."""
    rules = prior_of(rules).rules
    for _ in range(5):
        inputs = inputs | set(rules.missing(inputs))
    assert inputs >= set(rules.require)
    assert all(inputs.isdisjoint(g) or inputs >= set(g) for g in rules.together)


@given(RULES)
def test_every_choice_keeps_what_is_required_and_parts_what_stays_apart(rules):
    rules = prior_of(rules).rules
    for left_out in rules.choices(10):
        assert left_out.isdisjoint(rules.require)
        assert all(len(set(group) - left_out) <= 1 for group in rules.apart)


def test_rules_are_told_in_words():
    rules = {"require": ["a"], "together": ["b", "c"], "apart": ["d", "c"], "max_units": 3}
    assert Prior.of(rules).words()[-4:] == [
        "every equation has a",
        "b and c appear together or not at all",
        "at most one of d and c appears",
        "every equation has at most 3 units",
    ]


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        ({"require": "speed"}, "require: give a list of inputs"),
        ({"require": [1]}, "require: 1 is not the name of an input"),
        ({"require": ["a", "a"]}, "require: a is given twice"),
        ({"together": [["a"]]}, "must name at least two inputs"),
        ({"apart": "ab"}, "apart: give lists of inputs"),
        ({"apart": [["a", "b"], "c"]}, "apart: give a list of inputs"),
        ({"max_units": 0}, "max_units: give a whole number of at least 1"),
        ({"require": ["a"], "inputs": {"a": {"only_in": []}}}, "requires input a, but excludes it"),
        ({"require": ["a", "b"], "apart": ["a", "b"]}, "requires both a and b, but under 'apart'"),
        ({"together": ["a", "b"], "apart": ["a", "b"]}, "appear together and that they stay apart"),
        (
            {"require": ["a", "c"], "together": ["a", "b"], "apart": ["b", "c"]},
            "requires both b and c",
        ),
        (
            {"require": ["a"], "together": ["a", "b"], "inputs": {"b": {"only_in": []}}},
            "requires input b (together with a), but excludes it",
        ),
    ],
)
def test_a_rule_that_cannot_be_kept_is_refused_in_a_sentence(rules, sentence):
    with pytest.raises(IeqlError, match=r".") as caught:
        Prior.of(rules)
    assert sentence in str(caught.value).replace("'a'", "a").replace("'b'", "b")


def test_an_unknown_input_gets_the_nearest_name():
    with pytest.raises(IeqlError, match=r"'spede' under 'require'.*[Dd]id you mean 'speed'"):
        Prior.of({"require": ["spede"]}).check_columns(["speed", "load"])


def test_an_input_that_never_changes_cannot_be_required():
    X = pd.DataFrame({"a": np.arange(20.0), "b": np.ones(20)})
    model = IEQLRegressor(prior={"require": ["b"]}, max_trainings=1)
    with (
        pytest.warns(UserWarning, match="same value in every row"),
        pytest.raises(IeqlError, match="requires input 'b', which has the same value in every row"),
    ):
        model.fit(X, np.arange(20.0))


# --- the search ----------------------------------------------------------------------------------


def ruled(task, **rules):
    """A task with rules, as `ieql.target` makes it."""
    prior = replace(task.prior, **rules)
    return replace(task, prior=prior.for_parts, whole=prior)


def test_a_step_pushes_nothing_out_that_may_be_shown():
    """An equation that lacks the required input is remembered, and hides no other."""
    task = ruled(make_task("x*y + 0.5*x", noise=0.01), require=("y",))
    step = task.candidate(Expression.parse("0.5*x", task.names))
    worse = task.candidate(Expression.parse("0.1*y + x - x", task.names))
    assert (step.is_step, worse.is_step) == (True, False)
    assert step.rmse_train < worse.rmse_train
    archive = Archive([step, worse])
    assert step in list(archive)
    assert list(archive.front) == [worse]
    assert archive.rivals == [worse]
    again = Archive.from_form(archive.to_form(), {})
    assert [c.expression for c in again.front] == [worse.expression]
    assert [c.expression for c in again.steps] == [step.expression]


def test_the_mean_is_shown_only_as_long_as_nothing_else_is():
    task = ruled(make_task(), require=("y",))
    archive = State.start([task]).archives[0]
    assert [c.expression.inputs_used for c in archive.front] == [()]
    archive.add(task.candidate(Expression.parse("0.1*y", task.names)))
    assert [c.expression.inputs_used for c in archive.front] == [("y",)]


def test_too_many_units_are_refused_at_the_gate():
    task = ruled(make_task(), max_units=1)
    assert task.candidate(Expression.parse("x*y", task.names)) is not None
    assert task.candidate(Expression.parse("x*y + x**2", task.names)) is None


def test_only_structures_that_keep_the_rules_are_tried():
    prior = Prior.of({"require": ["a"], "apart": ["a", "b"]})
    grammar = Grammar(prior, ("a", "b", "c"), (0, 1, 2))
    free = Grammar(Prior.of({}), ("a", "b", "c"), (0, 1, 2))
    size = grammar.size(3)
    assert 0 < len(grammar.structures(size)) < len(free.structures(size)) == grammar.number(size)


def test_straight_lines_have_what_is_required_and_leave_out_what_stays_apart():
    task = ruled(of_formula("a + b + 0.01*c", noise=0.1), require=("c",), apart=(("a", "b"),))
    found = [c.expression.inputs_used for c in lines(task.variants[0])]
    assert found
    assert all("c" in used and len({"a", "b"} & set(used)) <= 1 for used in found)


# --- whole fits ----------------------------------------------------------------------------------


def table(n=120):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(1, 3, (n, 4)), columns=list(NAMES))
    return X, 2 * X.a * X.b + 0.3 * X.c + rng.normal(0, 0.05, n)


@pytest.mark.parametrize(
    "rules",
    [
        {"require": ["d"]},
        {"together": ["c", "d"]},
        {"apart": ["a", "b"]},
        {"max_units": 1, "require": ["c", "b"]},
        {"require": ["c"], "apart": [["a", "c", "d"]]},
    ],
    ids=str,
)
def test_every_equation_on_the_front_obeys(rules):
    X, y = table()
    model = IEQLRegressor(prior=rules, max_trainings=4, n_jobs=1, random_state=0).fit(X, y)
    front = model.fitted_.fronts[0]
    assert len(front) >= 2
    assert all(c.expression.is_allowed(Prior.of(rules)) for c in front)
    assert all(c.equation(precise=True).is_allowed(Prior.of(rules)) for c in front)


def test_a_law_is_found_although_its_weakest_input_is_required():
    """Without the rule short equations do without c; with it, none does, and the law is there."""
    X, y = table()
    options = {"max_trainings": 4, "n_jobs": 1, "random_state": 0}
    model = IEQLRegressor(prior={"require": ["c"]}, **options).fit(X, y)
    assert set(model.expression().inputs_used) == {"a", "b", "c"}
    assert model.equations_["rmse_validation"].min() < 0.06


@pytest.mark.filterwarnings("ignore::ieql.errors.DisagreementWarning")
def test_the_paper_trainer_obeys_as_well(tmp_path):
    X, y = table(60)
    options = {"trainer": "paper", "max_trainings": 2, "n_jobs": 1, "random_state": 0}
    model = IEQLRegressor(prior={"require": ["a"]}, run_dir=tmp_path / "run", **options).fit(X, y)
    shown = [c.expression.inputs_used for c in model.fitted_.fronts[0]]
    assert all("a" in used for used in shown) or shown == [()]


def test_rules_are_kept_in_files(tmp_path):
    X, y = table(60)
    model = IEQLRegressor(prior={"require": ["c"], "max_units": 2}, max_trainings=1, n_jobs=1)
    model.fit(X, y).save(tmp_path / "model.json")
    again = IEQLRegressor.load(tmp_path / "model.json")
    assert again.fitted_.prior.require == ("c",)
    assert again.fitted_.prior.max_units == 2


def test_an_equation_of_ones_own_that_breaks_a_rule_is_measured_and_told():
    X, y = table(60)
    model = IEQLRegressor(prior={"require": ["c"]}, max_trainings=1, n_jobs=1).fit(X, y)
    row = model.try_equation("k*a*b")
    assert "breaks a rule of the prior" in " ".join(row.attrs["sentences"])
