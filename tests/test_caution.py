"""What a user is told of the safety of an equation."""

from __future__ import annotations

import pytest

from ieql.caution import caution, safety_facts
from ieql.equations.expression import Expression
from ieql.selection import Candidate


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
