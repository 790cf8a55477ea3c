"""All structures, each once, in the order of what the prior says they cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql import Prior
from ieql.training.fast.batch import Batch
from ieql.training.fast.structures import RESOLUTION, Grammar, Structure


def grammar(
    prior: Prior | None = None, names: str = "x", inputs: tuple[int, ...] = (0,)
) -> Grammar:
    return Grammar(prior or Prior.of("plain"), tuple(names), inputs)


def connections(g: Grammar, k: int) -> list[Structure]:
    """The structures of k connections where each costs one."""
    return list(g.structures(k * RESOLUTION))


def test_one_connection_is_an_input() -> None:
    g = grammar(names="xy", inputs=(0, 1))
    assert [g.expression(s, [0.5, 2.0]).text() for s in connections(g, 1)] == [
        "2*x + 0.5",
        "2*y + 0.5",
    ]


def test_two_connections_are_the_units_of_an_input() -> None:
    g = grammar()
    units = sorted(g.terms[t].unit.name for s in connections(g, 2) for t in s.terms)
    assert units == ["cos", "div", "exp", "log", "sqrt", "square"]


def test_how_many_there_are_is_known() -> None:
    g = grammar()
    assert [len(connections(g, k)) for k in range(1, 6)] == [1, 6, 29, 177, 1139]


def test_no_structure_is_made_twice() -> None:
    g = grammar(names="xy", inputs=(0, 1))
    for k in (2, 3, 4):
        structures = connections(g, k)
        assert len({s.terms for s in structures}) == len(structures)
        assert all(s.size == k * RESOLUTION for s in structures)


def test_a_quadratic_is_a_square_with_an_offset_and_nothing_else() -> None:
    g = grammar()
    assert not any(
        {"square", None} == {u.name if (u := g.terms[t].unit) else None for t in s.terms}
        and all(g.terms[t].unit is None or g.terms[t].args == ((0,),) for t in s.terms)
        for s in connections(g, 3)
    )


def test_inputs_that_are_left_out_never_appear() -> None:
    g = grammar(names="xyz", inputs=(0, 2))
    for s in connections(g, 3):
        e = g.expression(s, np.linspace(0.3, 0.9, 40).tolist())
        assert "y" not in e.inputs_used


def test_what_the_prior_prohibits_never_appears() -> None:
    prior = Prior.of({"preset": "plain", "prohibit": ["cos(square)", "exp(square)"]})
    g = grammar(prior)
    for k in (2, 3, 4):
        for s in connections(g, k):
            e = g.expression(s, np.linspace(0.3, 0.9, 60).tolist())
            assert e.is_allowed(prior)


def test_costs_set_the_order() -> None:
    """With a cosine of 3 a cosine of an input comes where four connections do."""
    prior = Prior.of({"preset": "plain", "costs": {"cos": 3}})
    g = grammar(prior)

    def has_wave(size: int) -> bool:
        return any(
            (unit := g.terms[t].unit) is not None and unit.name == "cos"
            for s in g.structures(size)
            for t in s.terms
        )

    sizes = [size for size in range(1, 4 * RESOLUTION + 1) if has_wave(size)]
    assert sizes[0] == 4 * RESOLUTION
    assert g.complexity(sizes[0]) == pytest.approx(4.0)


@given(st.integers(1, 4), st.integers(0, 2**31))
def test_every_structure_has_the_complexity_of_its_size(k: int, seed: int) -> None:
    """With constants of no special kind nothing is simplified away."""
    prior = Prior.of("plain")
    g = grammar(prior, "xy", (0, 1))
    structures = connections(g, k)
    rng = np.random.default_rng(seed)
    s = structures[int(rng.integers(len(structures)))]
    batch = Batch(g, [s])
    e = g.expression(s, rng.uniform(0.2, 3.0, int(batch.at[1, 4])).tolist())
    assert e.complexity(prior) <= g.complexity(s.size) + 1e-9
