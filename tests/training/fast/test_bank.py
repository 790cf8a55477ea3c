"""A bank holds what it says: values and graph of every entry agree."""

from __future__ import annotations

import numpy as np
import pytest

from ieql.equations.builder import Builder
from ieql.equations.expression import Expression
from ieql.equations.program import addresses
from ieql.prior import Prior
from ieql.training.fast.bank import make_bank
from ieql.units import Unit

NAMES = ("a", "b", "c")
XT = np.random.default_rng(0).uniform(0.1, 2.0, (3, 40))
PARENT = Expression.parse("2*cos(3*a + 1) + b*cos(3*a + 1) + 0.5", NAMES)
OTHER = Expression.parse("exp(a) + sqrt(b + c)", NAMES)


def bank(prior: Prior | None = None, seed: int = 1):
    rng = np.random.default_rng(seed)
    domain = np.array([[0.0, 3.0], [0.0, 3.0], [0.0, 3.0]])
    sizes = (120, 160)
    return make_bank(prior or Prior.of("plain"), XT, domain, PARENT, [OTHER], rng, sizes)


def built(made, entry: int) -> Expression:
    builder = Builder(NAMES)
    return builder.expression(made.build(entry, builder, builder.copy(PARENT)[3:]))


def test_every_entry_builds_the_graph_of_its_values():
    made = bank()
    for entry in range(len(made.values)):
        if np.any(made.values[entry]):  # entries that overflowed were blanked
            value = built(made, entry).evaluate(XT.T)[:, 0]
            np.testing.assert_allclose(value, made.values[entry], rtol=1e-9, atol=1e-9)


def test_the_first_entries_are_the_inputs_the_nodes_of_the_parent_and_grafts():
    made = bank()
    np.testing.assert_array_equal(made.values[:3], XT)
    assert [made.kind_names[k] for k in made.kinds[:5]] == ["input"] * 3 + ["cos", "mul"]
    grafted = [e.nodes[k].unit.name for e, k in made.grafts]
    assert "exp" in grafted  # from the other equation
    swapped = {e.text() for e, _ in made.grafts}
    assert any("cos(3*b + 1)" in text for text in swapped)  # the parent's form of another input


def test_no_entry_is_a_prohibited_composition():
    prior = Prior.of({"inputs": {"c": {"not_in": ["cos", "exp"]}}})
    made = bank(prior)
    for entry in range(len(made.kinds)):
        if entry >= made.n_inputs + made.n_nodes + len(made.grafts):
            assert built(made, entry).is_allowed(prior)


def test_costs_are_what_a_connection_adds():
    made = bank()
    prior = Prior.of("plain")
    start = made.n_inputs + made.n_nodes + len(made.grafts)
    for entry in range(start, len(made.kinds)):
        expression = built(made, entry)
        # Where both sources are the same input they become one connection.
        if made.latest[entry] < 0 and len(expression.nodes) == 1:
            sources = [i for a in expression.nodes[0].args for i in a.sources]
            if len(sources) == made.costs[entry] - 1:
                assert expression.complexity(prior) == pytest.approx(made.costs[entry])
            assert expression.complexity(prior) <= made.costs[entry]


def test_the_same_seed_gives_the_same_bank():
    np.testing.assert_array_equal(bank(seed=3).values, bank(seed=3).values)
    assert bank(seed=3).values.shape != bank(seed=4).values.shape or not np.array_equal(
        bank(seed=3).values, bank(seed=4).values
    )


def test_entries_are_defined_in_the_domain_too():
    """Of the data alone 1/a and log(b) would do, but the domain reaches zero."""
    made = bank()
    corners = np.array([[0.0, 0.0, 0.0], [3.0, 3.0, 3.0]])
    for entry in range(len(made.values)):
        if np.any(made.values[entry]):
            assert np.isfinite(built(made, entry).evaluate(corners)).all()


@pytest.mark.parametrize("kind", ["compiled", "numpy"])
def test_units_of_the_users_own_are_brought_into_their_domains(kind):
    """Compiled or not, from below and from above."""
    value = np.vectorize(np.log10) if kind == "numpy" else np.log10
    log10 = Unit("log10", value, log10_slope, domains=((0.0, np.inf),))
    below = Unit("below", root_of_negative, root_of_negative_slope, domains=((-np.inf, 0.0),))
    made = bank(Prior(units=("log10", "below", "mul"), custom=(log10, below)))
    assert (addresses([log10, below]) is None) == (kind == "numpy")
    used = 0
    for entry in range(len(made.values)):
        if made.kind_names[made.kinds[entry]] in ("log10", "below") and np.any(made.values[entry]):
            value = built(made, entry).evaluate(XT.T)[:, 0]
            np.testing.assert_allclose(value, made.values[entry], rtol=1e-9, atol=1e-9)
            used += 1
    assert used > 100


def log10_slope(z):
    return 1 / (z * np.log(10))


def root_of_negative(z):
    return np.sqrt(-z)


def root_of_negative_slope(z):
    return -0.5 / np.sqrt(-z)
