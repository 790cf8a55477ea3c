"""What the fast search makes of physical units: structures, groups and growth that are right."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.equations.builder import Builder
from ieql.equations.dimensions import rule_of
from ieql.equations.expression import Expression
from ieql.prior import Prior
from ieql.training.fast import grouped as module
from ieql.training.fast.bank import make_bank
from ieql.training.fast.eliminate import fitted
from ieql.training.fast.grouped import grouped_by_units
from ieql.training.fast.lines import lines
from ieql.training.fast.screen import Screen
from ieql.training.fast.similarity import known_similarities
from ieql.training.fast.structures import RESOLUTION, Grammar
from ieql.training.trainers import mean_predictor
from tasks import of_formula

NAMES = ("m", "v", "u", "t")
UNITS = {"m": "kg", "v": "m/s", "u": "m/s", "t": "s"}


def prior(target, constants="plain"):
    return Prior(quantities={**UNITS, "out": target}, constants=constants).for_target("out")


def written(g, connections):
    """The structures of so many connections, with all weights 1; offsets only as numerators."""
    found = []
    for structure in g.structures(connections * RESOLUTION):
        nodes, output = g.flat(structure)
        sums = [len(a) for _, args in nodes for a in args] + [len(output)]
        theta = [x for n in sums for x in (0.0 if n else 1.0, *[1.0] * n)]
        found.append(g.expression(structure, theta))
    return found


@pytest.mark.parametrize("target", ["kg*m/s", "J", "1", "m"])
def test_all_structures_have_the_dimension_of_the_target(target):
    g = Grammar(prior(target), NAMES, (0, 1, 2, 3))
    rule = rule_of(prior(target), NAMES)
    for e in written(g, 4):
        # The exponents of powers, and weights of logarithms, all 1 here, are still to be fitted.
        assert "log" in e.unit_counts() or rule.mended(e) is not None, e.text()


def test_no_right_structure_is_left_out():
    wrong = Grammar(Prior(), NAMES, (0, 1, 2, 3))
    rule = rule_of(prior("J"), NAMES)
    expected = {e for e in written(wrong, 4) if rule.mended(e) is e}
    found = set(written(Grammar(prior("J"), NAMES, (0, 1, 2, 3)), 4))
    assert expected
    assert expected <= found


def test_listed_units_leave_more_structures():
    few = Grammar(prior("m"), NAMES, (1, 3)).structures(3 * RESOLUTION)
    more = Grammar(prior("m", ["m/s**2"]), NAMES, (1, 3)).structures(3 * RESOLUTION)
    assert 0 < len(few) < len(more)


def test_units_tell_the_groups():
    XT = np.random.default_rng(0).uniform(1.0, 2.0, (4, 20))
    symmetries = np.array(rule_of(prior("J"), NAMES).symmetries([0, 1, 2]))
    first = next(known_similarities(symmetries, XT, [0, 1, 2]))
    assert first.n_groups == 1
    factor, (group,) = first.values(XT)
    m, v, u, _ = XT
    assert np.ptp(group * v / u) < 1e-9 or np.ptp(group * u / v) < 1e-9
    assert np.ptp(factor / (m * v**2)) < 1e-9 or np.ptp(factor / (m * u**2)) < 1e-9


@pytest.fixture
def _small(monkeypatch):
    monkeypatch.setattr(module, "MOST_STRUCTURES", 250)
    monkeypatch.setattr(module, "ROUNDS", 0)


@pytest.mark.usefixtures("_small")
def test_a_law_of_known_groups_is_found_without_a_surrogate(monkeypatch):
    monkeypatch.setattr(module, "Smoothed", None)
    task = of_formula("m*v**2/sqrt(1 - 0.05*(v/u)**2)", ("m", "v", "u"), prior=prior("J"))
    found = grouped_by_units(task, 0)[0]
    assert found.rmse_train < 1e-9
    assert rule_of(task.prior, task.names).holds(found.expression)


def test_without_units_there_are_no_known_groups():
    assert grouped_by_units(of_formula("m*v", ("m", "v")), 0) == []


def test_the_simplest_candidate_is_zero_where_a_mean_has_no_unit():
    task = of_formula("m*v", ("m", "v"), prior=prior("kg*m/s"))
    assert mean_predictor(task).expression.text() == "0"
    plain = of_formula("m*v", ("m", "v"), prior=prior("kg*m/s", "free"))
    assert mean_predictor(plain).expression.text() != "0"


def test_lines_add_only_what_adds_up():
    task = of_formula("2*v + 3*u + 0.1*m", ("m", "v", "u"), prior=prior("m/s"))
    found = [c.expression for c in lines(task)]
    assert found
    assert all(e.inputs_used in (("v",), ("u",), ("v", "u")) for e in found)
    assert all(e.outputs[0].bias == 0.0 for e in found)


# --- growth ------------------------------------------------------------------------------------

XT = np.random.default_rng(0).uniform(0.5, 2.0, (4, 60))
PARENT = Expression.parse("2*m*v + m*u*exp(-v/u)", NAMES)
OTHER = Expression.parse("m*sqrt(v*u + u**2)*cos(3*v/u + 1)", NAMES)


def bank(target="kg*m/s"):
    return make_bank(
        prior(target), XT, XT[:, :5], PARENT, [OTHER], np.random.default_rng(1), (150, 200)
    )


def test_entries_of_a_bank_have_the_dimension_that_is_noted():
    made = bank()
    dimensions = made.dimensions
    base = dimensions.rule
    seen = 0
    for entry in np.flatnonzero(np.any(made.values, axis=1)).tolist():
        builder = Builder(NAMES)
        s = made.build(entry, builder, builder.copy(PARENT)[len(NAMES) :])
        e = builder.expression(s)
        if len(e.outputs[0].sources) == 1:
            found = base.dimensions(e)[e.outputs[0].sources[0]]
            assert found == tuple(dimensions.table[entry])
            seen += 1
    assert seen > 50


def test_only_terms_of_the_right_dimension_are_added():
    y = PARENT.evaluate(XT.T)[:, 0] + XT[0] * XT[1] ** 2 / XT[2]
    task = of_formula("m*v", NAMES, prior=prior("kg*m/s"))
    sample = task.train.head(1)
    sample = type(sample)(XT, y, np.ones(len(y)))
    screen = Screen(fitted(PARENT, sample, 5), sample, bank(), prior("kg*m/s"))
    rule = rule_of(prior("kg*m/s"), NAMES)
    proposals = [make() for make in screen.additions(3)]
    assert proposals
    assert all(rule.mended(e) is not None for e in proposals)
