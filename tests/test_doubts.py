"""Sentences on how far an equation and its errors can be trusted."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ieql.doubts import (
    CROSS_FITTING,
    VALIDATIONS,
    caution,
    disagreement_sentence,
    outlier_sentence,
    safety_facts,
    validation_sentence,
)
from ieql.equations.expression import Expression
from ieql.selection import Candidate


def test_outliers_are_named_by_their_data_rows():
    assert outlier_sentence([16, 239], 5040) == (
        "2 of 5,040 rows lie far from the equation and were left out of the fit: data rows 17, 240."
    )
    assert outlier_sentence([0], 100, "w").startswith(
        "1 of 100 rows lies far from the equation of 'w' and was left out"
    )


def test_of_many_outliers_the_first_ten_are_named():
    sentence = outlier_sentence(range(1_500), 50_000)
    assert sentence.startswith("1,500 of 50,000 rows")
    assert sentence.endswith("data rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 1,490 more.")
    assert outlier_sentence(range(11), 50, listed=200).endswith("10, 11.")


def test_errors_that_differ_by_more_than_chance():
    assert disagreement_sentence(13.1, 0.87, 900, 100) == (
        "The training error (13.1) and the validation error (0.87) of the selected equation differ "
        "by more than chance: a few rows may dominate one of them; look at the residuals in the "
        "report."
    )
    assert disagreement_sentence(0.87, 13.1, 900, 100) is not None
    assert "equation of 'w' differ" in str(disagreement_sentence(1.0, 9.0, 90, 10, target="w"))


@pytest.mark.parametrize(
    ("train", "validation", "n_train", "n_validation"),
    [
        (1.0, 1.0, 900, 100),
        (1.0, 1.3, 90, 10),  # few rows: chance
        (1.0, 4.0, 9, 1),
        (0.0, 0.0, 900, 100),
        (math.nan, 1.0, 900, 100),
        (1.0, math.inf, 900, 100),
        (1.0, 9.0, 900, 0),
    ],
)
def test_errors_that_agree_or_say_nothing(train, validation, n_train, n_validation):
    assert disagreement_sentence(train, validation, n_train, n_validation) is None


def test_chance_alone_hardly_ever_warns():
    rng = np.random.default_rng(0)
    for _ in range(500):
        train, validation = (math.sqrt(np.mean(rng.normal(size=n) ** 2)) for n in (180, 20))
        assert disagreement_sentence(train, validation, 180, 20) is None


def test_errors_that_nobody_minds_may_differ():
    assert disagreement_sentence(1e-14, 1e-12, 900, 100) is not None
    assert disagreement_sentence(1e-14, 1e-12, 900, 100, floor=1e-9) is None


def test_with_cross_fitting_only_an_error_far_above_counts():
    def said(train, validation):
        return disagreement_sentence(train, validation, 500, 500, validation=CROSS_FITTING)

    assert said(1.0, 1.05) is None
    assert said(13.1, 0.87) is None  # it cannot be, but then it is no doubt of this kind
    assert said(1.0, 3.0) == (
        "The validation error (3) of the selected equation lies above its training error (1) by "
        "more than chance: the equation depends on individual rows; look at the residuals in the "
        "report, or take a simpler equation."
    )


def test_it_is_said_what_the_validation_error_is():
    for kind in VALIDATIONS:
        assert validation_sentence(kind).startswith("Validation error: ")


# --- safety ------------------------------------------------------------------------------------


def candidate(proved, excess=0.5):
    e = Expression.parse("1/x", ["x"])
    return Candidate(e, 2.0, 2, 0.1, 0.1, proved=proved, excess=excess)


def test_nothing_is_said_of_what_is_proved():
    assert caution(candidate(True)) is None
    assert safety_facts(candidate(True)) == ["Proved safe in the whole domain"]


def test_what_is_open_is_said_below_the_front():
    assert "a proof for the whole domain was not found" in str(caution(candidate(None)))
    facts = safety_facts(candidate(None))
    assert facts == ["Safe at all sampled points; a proof was not found"]


@pytest.mark.parametrize("proved", [True, None])
def test_what_goes_far_beyond_the_measured_values_is_flagged(proved):
    sentence = str(caution(candidate(proved, 101.0), "torque"))
    assert sentence.startswith("The selected equation of torque goes more than 100 times")
    assert len(safety_facts(candidate(proved, 101.0))) == 2
    assert len(safety_facts(candidate(proved, 99.0))) == 1


def test_what_is_refuted_is_never_called_safe():
    """No fit shows one, but a file that was edited may."""
    assert "not safe" in str(caution(candidate(False)))
    assert safety_facts(candidate(False))[0].startswith("Not safe")
