"""The Pareto front and the criteria that select from it."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql.equations.expression import Expression, Sum
from ieql.errors import IeqlError
from ieql.selection import (
    CRITERIA,
    DEFAULT,
    EXTRAPOLATION,
    Candidate,
    Context,
    Criterion,
    Front,
    description_length,
    find_criterion,
    register_criterion,
    scores,
    select,
    thinned,
)

PAPER = ("V_int", "V_int-S", "V_int&ex")


def candidate(
    complexity: float,
    validation: float,
    extrapolation: float = math.nan,
    train: float = 0.1,
    name: Any = None,
) -> Candidate:
    """A candidate of which only the numbers matter; `name` stands in for its expression."""
    return Candidate(name, complexity, 3, train, validation, extrapolation)


def fitted(complexity: float, error: float, n_constants: int) -> Candidate:
    """A candidate with so many fitted constants, and the same error everywhere."""
    weights = tuple(1.5 + k for k in range(n_constants))
    names = tuple(f"x{k}" for k in range(n_constants))
    line = Expression(names, (), (Sum(0.0, tuple(range(n_constants)), weights),))
    return candidate(complexity, error, train=error, name=line)


def objectives(front: Front) -> list[tuple[float, float, float]]:
    """What the front compares; an extrapolation error that is missing counts as infinite."""
    return [
        (c.complexity, c.rmse_validation, np.nan_to_num(c.rmse_extrapolation, nan=math.inf))
        for c in front
    ]


# The front ---------------------------------------------------------------------------------------


def test_the_front_keeps_what_is_simpler_or_more_accurate() -> None:
    front = Front()
    assert front.add(candidate(5, 0.5))
    assert front.add(candidate(9, 0.1))
    assert front.add(candidate(1, 0.9))
    assert not front.add(candidate(9, 0.5))  # as simple as one, as accurate as another: beaten
    assert [c.complexity for c in front.candidates] == [1, 5, 9]
    assert front.add(candidate(4, 0.1))  # beats the two above it
    assert [c.complexity for c in front] == [1, 4]
    assert len(front) == 2


def test_of_equals_the_first_stays() -> None:
    front = Front([candidate(1, 0.5, name="first")])
    assert not front.add(candidate(1, 0.5, name="second"))
    assert [c.expression for c in front] == ["first"]


def test_extrapolation_is_a_third_objective() -> None:
    front = Front([candidate(1, 0.1, 9.0)])
    assert front.add(candidate(2, 0.2, 3.0))
    assert not front.add(candidate(3, 0.3, 3.0))
    assert len(front) == 2


@pytest.mark.parametrize("missing", [math.nan, math.inf])
def test_a_missing_extrapolation_error_is_the_worst(missing: float) -> None:
    front = Front([candidate(2, 0.2, 3.0)])
    assert not front.add(candidate(3, 0.3, missing))
    assert front.add(candidate(1, 0.1, missing))  # better in the other respects
    assert len(front) == 2


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_never_enters(bad: float) -> None:
    front = Front()
    assert not front.add(candidate(1, bad))
    assert not front.add(candidate(1, 0.1, train=bad))
    assert not front.add(candidate(bad, 0.1))
    assert len(front) == 0


def test_merge_adds_the_better_ones_of_another_front() -> None:
    front = Front([candidate(1, 0.9), candidate(5, 0.5)])
    assert front.merge(Front([candidate(1, 1.0), candidate(4, 0.4), candidate(8, 0.1)]))
    assert objectives(front) == [(1, 0.9, math.inf), (4, 0.4, math.inf), (8, 0.1, math.inf)]
    assert not front.merge(Front([candidate(8, 0.1)]))


def test_a_front_pickles() -> None:
    front = Front([candidate(1, 0.9, name="a"), candidate(5, 0.5, name="b")])
    again = pickle.loads(pickle.dumps(front))
    assert [c.expression for c in again] == ["a", "b"]


few = st.integers(0, 4).map(float)  # few values, so that ties are frequent
errors = few | st.sampled_from([math.nan, math.inf])
many = st.lists(st.builds(candidate, few, errors, errors, errors), max_size=12)


@given(many)
def test_no_member_beats_another(candidates: list[Candidate]) -> None:
    vectors = objectives(Front(candidates))
    for a, b in permutations(vectors, 2):
        assert any(x < y for x, y in zip(a, b, strict=True))
    assert vectors == sorted(vectors)


@given(many, st.randoms(use_true_random=False))
def test_the_order_of_adding_does_not_matter(candidates: list[Candidate], random: Any) -> None:
    shuffled = random.sample(candidates, len(candidates))
    half = len(candidates) // 2
    merged = Front(shuffled[:half])
    merged.merge(Front(shuffled[half:]))
    expected = objectives(Front(candidates))
    assert objectives(Front(shuffled)) == expected
    assert objectives(merged) == expected


@given(many, st.builds(candidate, few, errors, errors))
def test_would_accept_foretells_add(candidates: list[Candidate], new: Candidate) -> None:
    front = Front(candidates)
    expected = front.would_accept(new.complexity, new.rmse_validation, new.rmse_extrapolation)
    assert front.add(new) is expected


# The criteria ------------------------------------------------------------------------------------

SIMPLE = candidate(0, 1.0, 1.0)
MIDDLE = candidate(5, 0.2, 0.1)
COMPLEX = candidate(10, 0.0, 2.0)
THREE = [SIMPLE, MIDDLE, COMPLEX]


def test_each_criterion_by_hand() -> None:
    assert scores(THREE, "V_int") == pytest.approx([1, 0.04, 0])
    assert scores(THREE, "V_int-S") == pytest.approx([1, 0.04 + 0.25, 1])
    ex = (0.9 / 1.9) ** 2
    assert scores(THREE, "V_int&ex") == pytest.approx([1 + ex, 0.04, 1])
    assert [select(THREE, c) for c in PAPER] == [2, 1, 1]


def test_the_description_length_by_hand() -> None:
    """A hundred times the complexity is worth it only if the error falls by enough."""
    n = (900, 100)
    front = [fitted(3, 1.0, 2), fitted(5, 0.5, 4), fitted(50, 0.499, 40)]

    def by_hand(u: float, p: int, complexity: float) -> float:
        ratio = (1 - u) * (1000 - p) / (u * p)
        return float(
            1000 * np.log(1000 * u / (1000 - p)) + p * np.log(ratio) + 3.4 * complexity + 10
        )

    expected = [by_hand(0.25, 2, 3), by_hand(0.25 / 4, 4, 5), by_hand(0.499**2 / 4, 40, 50)]
    assert scores(front, "MDL", n_rows=n, mean_error=2.0) == pytest.approx(expected)
    assert select(front, "MDL", n_rows=n, mean_error=2.0) == 1


def test_with_few_rows_a_constant_must_earn_more() -> None:
    """Ten constants on twelve rows were selected for their small error."""
    simple, bent = fitted(2, 1.0, 2), fitted(4, 0.2, 10)
    assert select([simple, bent], "MDL", n_rows=(12, 0), mean_error=3.0) == 0
    assert select([simple, bent], "MDL", n_rows=(60, 0), mean_error=3.0) == 1


def test_waves_pay_what_they_cost() -> None:
    plain, wave = fitted(3, 0.5, 2), replace(fitted(3, 0.5, 2), wave_cost=12.0)
    one, other = scores([plain, wave], "MDL", n_rows=(50, 0), mean_error=3.0)
    assert other - one == pytest.approx(12.0)


def test_a_law_need_not_run_through_the_rows_far_off() -> None:
    """Hill races: a spike ran through the two slow ones, where climb and distance are the law."""
    law, spike = fitted(2, 1.0, 3), fitted(6, 0.4, 6)
    assert select([law, spike], "MDL", n_rows=(35, 0), mean_error=3.0) == 1
    with_tails = [replace(law, tails=50.0), replace(spike, tails=1.0)]
    assert select(with_tails, "MDL", n_rows=(35, 0), mean_error=3.0) == 0


def test_constants_of_one_size_are_one_and_that_costs_a_connection() -> None:
    """y = a - a·exp(-k t) has two constants; that they are two only has to be said as well."""

    def saturation(offset: float) -> Candidate:
        e = Expression.parse(f"{offset} - 24.3*exp(-0.7*t)", ("t",))
        return candidate(2, 0.1, train=0.1, name=e)

    free, tied = saturation(24.1), saturation(24.3)
    assert (free.n_constants, free.n_explained) == (3, 0)
    assert (tied.n_constants, tied.n_explained) == (2, 1)
    lengths = scores([free, tied], "MDL", n_rows=(14, 0), mean_error=10.0)
    assert lengths[1] < lengths[0]
    rows = description_length(14, 1e-4, 2, 2.0)
    assert lengths[1] == pytest.approx(rows + 3.4)


def test_an_exponent_that_is_a_simple_number_is_not_fitted() -> None:
    """Manning's law: with 2/3 the error is a little larger, and no digits have to be told."""

    def manning(exponent: float, error: float) -> Candidate:
        e = Expression.parse(f"0.9877*R**{exponent!r}", ("R",))
        return replace(candidate(3, error, train=error, name=e), precise=e)

    free, simple = manning(0.66252, 0.0424), manning(2 / 3, 0.044)
    assert (free.n_constants, free.n_fitted, free.n_explained) == (2, 2, 0)
    assert (simple.n_constants, simple.n_fitted, simple.n_explained) == (2, 1, 1)
    assert select([free, simple], "MDL", n_rows=(36, 0), mean_error=4.2) == 1
    # As long as it is not finished, a simple number is one by chance, ...
    assert replace(simple, precise=None).n_fitted == 2
    # ... and a factor is near one whatever the law: 0.25*log(h) stood in the place of an offset.
    e = Expression.parse("4.6173*sqrt(h) - 0.25*log(h)", ("h",))
    assert replace(candidate(4, 0.1, name=e), precise=e).n_fitted == 2


def test_rows_that_rise_with_an_input_need_not_be_told_that_there_is_a_law() -> None:
    """Six rows, all rising, an R² of 0.97: their mean was selected."""
    mean, law = fitted(0, 40.4, 1), fitted(2, 6.5, 2)
    assert select([mean, law], "MDL", n_rows=(6, 0), mean_error=48.4) == 0
    rising = replace(law, dependence=5.1)
    assert select([mean, rising], "MDL", n_rows=(6, 0), mean_error=48.4) == 1
    certain = [scores([replace(law, dependence=d)], "MDL", n_rows=(6, 0))[0] for d in (10.0, 50.0)]
    assert certain[0] == certain[1]  # that there is a law does not say which


def test_a_law_must_be_worth_it_if_noise_has_heavy_tails() -> None:
    """Spikes that explained single rows of a lognormal target were selected in place of a mean."""
    mean = fitted(0, 1.0, 1)
    spike = replace(fitted(4, 0.5, 3), evidence=15.0)
    law = replace(fitted(4, 0.5, 3), evidence=60.0)
    n = (40, 0)
    assert select([mean, law], "MDL", n_rows=n, mean_error=1.0) == 1
    assert select([mean, spike], "MDL", n_rows=n, mean_error=1.0) == 0
    # What is more than worth it counts as ever.
    unknown = fitted(4, 0.5, 3)
    one, other = scores([law, unknown], "MDL", n_rows=n, mean_error=1.0)
    assert one == other


def test_the_description_length_takes_the_simplest_of_exact_equations() -> None:
    """Below rounding a smaller error means nothing."""
    front = [fitted(2, 1e-13, 2), fitted(9, 1e-16, 5)]
    assert select(front, "MDL", mean_error=1.0, n_rows=(900, 100)) == 0


def test_an_equation_that_goes_far_beyond_the_measured_values_pays_ten_nats() -> None:
    """Selected only if the data ask for it; what is merely not proved pays nothing."""
    n = (900, 100)
    calm = fitted(3, 0.5, 2)
    wild = replace(fitted(3, 0.4975, 2), proved=True, excess=1e6)
    needed = replace(wild, rmse_train=0.49, rmse_validation=0.49)
    still = replace(wild, proved=None, excess=99.0)
    assert select([calm, wild], "MDL", n_rows=n) == 0
    assert select([calm, needed], "MDL", n_rows=n) == 1
    assert select([calm, still], "MDL", n_rows=n) == 1
    far, near = scores([wild, still], "MDL", n_rows=n)
    assert far - near == pytest.approx(20.0)


def test_thinning_leaves_out_what_is_hardly_better_than_something_simpler() -> None:
    front = [candidate(1, 1.0), candidate(2, 0.999), candidate(3, 0.5), candidate(4, 0.4999)]
    assert [c.complexity for c in thinned(front)] == [1, 3]


def test_thinning_keeps_what_extrapolates_clearly_better() -> None:
    front = [candidate(1, 1.0, 1.0), candidate(2, 1.0, 0.95), candidate(3, 1.0, 0.5)]
    assert [c.complexity for c in thinned(front)] == [1, 3]


def test_the_index_is_that_of_the_given_order() -> None:
    assert select([COMPLEX, SIMPLE, MIDDLE], "V_int-S") == 2


def test_a_constant_that_is_a_trifle_better_outside_does_not_win() -> None:
    """Seen on A3 and S5: all equations were worse outside than the mean, and tied with it."""
    mean, law = candidate(0, 1.0, 0.999), candidate(5, 0.01, 3.0)
    assert select([mean, law], "V_int&ex", mean_error=1.0, mean_error_extrapolation=1.0) == 1
    # One that is really better outside wins.
    mean = candidate(0, 0.5, 0.2)
    assert select([mean, law], "V_int&ex", mean_error=1.0, mean_error_extrapolation=1.0) == 0


def test_errors_are_clipped_at_the_mean_predictors() -> None:
    # Validation errors 1.0 and 0.4 are both no better than the mean: they count the same.
    three = [candidate(0, 1.0), candidate(1, 0.4), candidate(2, 0.0)]
    assert scores(three, "V_int", mean_error=0.4) == pytest.approx([1, 1, 0])
    assert scores(three, "V_int", mean_error=0.4, literal=True) == pytest.approx([1, 0.16, 0])


def test_one_wild_extrapolation_error_does_not_flatten_the_others() -> None:
    truth = candidate(6, 0.011, 0.01)
    overfit = candidate(30, 0.010, 5.0)  # a little better inside, useless outside
    wild = candidate(20, 0.012, 1e9)
    three = [truth, overfit, wild]
    assert select(three, "V_int&ex", literal=True) == 1  # next to 1e9, 0.01 and 5.0 are the same
    assert select(three, "V_int&ex", mean_error=1.0, mean_error_extrapolation=2.0) == 0


def test_candidates_that_are_not_finite_are_left_out() -> None:
    four = [*THREE, candidate(3, 0.1, math.inf)]
    values = scores(four, "V_int&ex")
    assert values[:3] == pytest.approx(scores(THREE, "V_int&ex"))
    assert values[3] == math.inf
    assert np.isfinite(scores(four, "V_int-S")).all()  # which asks for no extrapolation error


def test_the_literal_form_neither_fails_on_nor_selects_what_is_not_finite() -> None:
    values = scores([*THREE, candidate(3, math.inf), candidate(4, math.nan)], "V_int", literal=True)
    assert values.tolist() == [0, 0, 0, math.inf, math.inf]
    assert select([candidate(3, math.nan), candidate(4, 0.5)], "V_int", literal=True) == 1


@pytest.mark.parametrize("criterion", PAPER)
@pytest.mark.parametrize("literal", [False, True])
def test_equal_candidates_score_zero_and_the_first_is_taken(criterion: str, literal: bool) -> None:
    twins = [candidate(3, 0.5, 0.5), candidate(3, 0.5, 0.5)]
    assert scores(twins, criterion, literal=literal).tolist() == [0, 0]
    assert select(twins, criterion, literal=literal) == 0


def test_of_equals_the_simplest_is_taken() -> None:
    assert select([candidate(3, 0.5), candidate(2, 0.5), candidate(2, 0.5)], "V_int") == 1
    # For a constant target the mean predictor is perfect: the simplest equation is enough.
    assert select([candidate(9, 1e-17), candidate(0, 0.0)], "V_int-S", mean_error=0.0) == 1


positive = st.floats(0, 1e6)


@given(
    st.lists(st.builds(candidate, positive, positive, positive), min_size=1, max_size=9),
    st.sampled_from(PAPER),
    st.none() | positive,
)
def test_scores_lie_between_zero_and_the_number_of_terms(
    candidates: list[Candidate], criterion: str, mean: float | None
) -> None:
    limits = {"mean_error": mean, "mean_error_extrapolation": mean}
    values = scores(candidates, criterion, **limits)
    assert ((values >= 0) & (values <= 2)).all()
    index = select(candidates, criterion, **limits)
    assert values[index] == values.min()
    equals = [c.complexity for c, v in zip(candidates, values, strict=True) if v == values.min()]
    assert candidates[index].complexity == min(equals)


def test_refusals() -> None:
    with pytest.raises(IeqlError, match=r"'V_int_S'.*Did you mean 'V_int-S'"):
        select(THREE, "V_int_S")
    with pytest.raises(IeqlError, match="no candidate"):
        select([], "V_int")
    with pytest.raises(IeqlError, match="give X_extrapolation and y_extrapolation"):
        select([candidate(1, 0.1)], "V_int&ex")
    with pytest.raises(IeqlError, match="None of the 1 candidates has finite values for V_int&ex"):
        select([candidate(1, 0.1, math.inf)], "V_int&ex")
    with pytest.raises(IeqlError, match="None of the 1 candidates"):
        select([candidate(1, math.nan)], "V_int", literal=True)


def test_a_front_may_leave_points_outside_aside():
    better_inside, better_outside = candidate(2, 0.1, 0.9), candidate(2, 0.2, 0.1)
    assert len(Front([better_inside, better_outside])) == 2
    assert Front([better_inside, better_outside], outside=False).candidates == (better_inside,)


def test_an_equation_that_does_not_predict_its_own_rows_is_not_selected():
    """All rows fit the constants; one of two equations owes its small error to single rows."""
    honest = replace(fitted(2.0, 1.0, 2), rmse_validation=1.1)
    bent = replace(fitted(3.0, 0.6, 3), rmse_validation=8.0)
    assert select([honest, bent], "MDL", n_rows=(40, 0)) == 0


def test_the_description_length_selects_something_whatever_the_errors():
    wild = replace(fitted(9, 1e300, 3), rmse_validation=math.inf)
    assert select([wild, replace(fitted(3, 1e300, 3), rmse_validation=1.0)], "MDL") == 1


# The registry ------------------------------------------------------------------------------------


def training_errors(candidates: Any, context: Context) -> Any:
    return [c.rmse_train for c in candidates]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry to add to, put back afterwards."""
    monkeypatch.setattr("ieql.selection._CRITERIA", found := dict(CRITERIA))
    monkeypatch.setattr("ieql.selection.CRITERIA", found)


def test_the_registry_lists_our_criteria_in_order() -> None:
    assert list(CRITERIA) == ["MDL", "V_int", "V_int-S", "V_int&ex"]
    assert all(criterion.name == name for name, criterion in CRITERIA.items())
    assert DEFAULT in CRITERIA
    assert [name for name in CRITERIA if EXTRAPOLATION in CRITERIA[name].needs] == ["V_int&ex"]
    with pytest.raises(TypeError):
        CRITERIA["mine"] = CRITERIA["MDL"]  # type: ignore[index]


@pytest.mark.usefixtures("registry")
def test_a_criterion_of_ones_own_selects() -> None:
    register_criterion(Criterion("train", "the least training error", training_errors))
    assert find_criterion("train").takes == "the least training error"
    front = [candidate(9, 0.1, train=0.5), candidate(3, 0.9, train=0.2), candidate(2, 9, train=0.2)]
    assert select(front, "train") == 2  # of equals the simplest
    assert scores(front, "train").tolist() == [0.5, 0.2, 0.2]


@pytest.mark.usefixtures("registry")
def test_a_criterion_of_ones_own_gets_what_the_fit_knows() -> None:
    seen: list[Context] = []

    def spy(candidates: Any, context: Context) -> Any:
        seen.append(context)
        return np.zeros(len(candidates))

    register_criterion(Criterion("spy", "whatever comes first", spy))
    select(THREE, "spy", mean_error=2.0, largest_complexity=9.0, n_rows=(7, 3))
    assert seen == [Context(mean_error=2.0, largest_complexity=9.0, n_rows=(7, 3))]


def test_a_taken_name_is_refused() -> None:
    with pytest.raises(IeqlError, match="already a selection criterion 'MDL'; choose another name"):
        register_criterion(Criterion("MDL", "the least training error", training_errors))
    assert CRITERIA["MDL"].values is not training_errors


@pytest.mark.usefixtures("registry")
def test_the_message_about_what_a_criterion_lacks_comes_from_its_entry() -> None:
    register_criterion(Criterion("far", "the best outside", training_errors, (EXTRAPOLATION,)))
    message = (
        "The criterion far needs labelled points outside the data: give X_extrapolation and "
        "y_extrapolation, or choose MDL."
    )
    assert find_criterion("far").lacking(EXTRAPOLATION) == message
    with pytest.raises(IeqlError) as caught:
        select([candidate(1, 0.1)], "far")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0], "bad gives 1 values for 3 candidates"),
        ([math.nan] * 3, "None of the 3 candidates has finite values for bad"),
    ],
)
def test_values_that_cannot_be_compared_are_refused(values: Any, message: str) -> None:
    bad = Criterion("bad", "nothing", lambda candidates, context: values)
    with pytest.raises(IeqlError, match=message):
        bad.select(THREE, Context())


@pytest.mark.parametrize("name", ["V_in", 3, None, [1], {}, "x" * 100_000])
def test_what_is_no_criterion_is_refused_in_a_sentence(name):
    """A list ended in "unhashable type", a long text in a message of the same length."""
    with pytest.raises(IeqlError, match=r"There is no selection criterion .*; the choices") as said:
        find_criterion(name)
    assert len(str(said.value)) < 300
