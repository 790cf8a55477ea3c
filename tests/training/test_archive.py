"""The archive keeps different equations apart and offers good parents."""

from __future__ import annotations

from dataclasses import replace

from ieql.equations.expression import Expression
from ieql.selection import Candidate, Front
from ieql.training.archive import Archive, knees


def candidate(text: str, error: float, complexity: float | None = None) -> Candidate:
    e = Expression.parse(text, ("x", "y"))
    size = float(e.n_parameters) if complexity is None else complexity
    return Candidate(e, size, e.n_parameters, error, error)


def test_equations_of_equal_size_that_are_built_differently_stay_side_by_side():
    archive = Archive([candidate("cos(2*x)", 0.5), candidate("exp(2*x)", 0.7)])
    assert len(archive) == 2
    assert len(archive.front) == 1


def test_a_cell_keeps_the_two_best():
    archive = Archive([candidate(f"cos({k}*x)", 1.0 / k) for k in range(2, 6)])
    assert sorted(c.rmse_train for c in archive) == [1 / 5, 1 / 4]
    assert not archive.would_accept(Expression.parse("cos(9*y)", ("x", "y")), 2.0, 0.3)
    assert archive.would_accept(Expression.parse("cos(9*y)", ("x", "y")), 2.0, 0.22)


def test_lines_of_trainings_do_not_push_each_other_out():
    """Their mean is better than either, as long as both are there."""
    found = [candidate(f"cos({k}*x)", 1.0 / k) for k in range(2, 6)]
    archive = Archive([replace(c, lines=(k % 2,)) for k, c in enumerate(found)])
    assert len(archive) == 4
    again = Archive.from_form(archive.to_form(), {})
    assert [c.lines for c in again] == [c.lines for c in archive]


def test_an_equation_of_known_structure_must_be_clearly_better():
    """Else the same find would be judged again and again, each time on all rows."""
    archive = Archive([candidate("cos(2*x)", 0.2)])
    assert not archive.would_accept(Expression.parse("cos(2.01*x)", ("x", "y")), 2.0, 0.199)
    assert archive.would_accept(Expression.parse("cos(3*x)", ("x", "y")), 2.0, 0.15)


def test_what_is_far_worse_than_a_simpler_equation_is_not_kept():
    archive = Archive([candidate("x", 0.1)])
    assert not archive.would_accept(Expression.parse("cos(2*x)", ("x", "y")), 2.0, 0.2)
    assert archive.would_accept(Expression.parse("cos(2*x)", ("x", "y")), 2.0, 0.12)


def test_the_same_equation_found_twice_is_kept_once():
    archive = Archive([candidate("cos(2*x)", 0.5), candidate("cos(2*x)", 0.5)])
    assert len(archive) == 1


def test_an_equation_without_a_finite_error_is_not_kept():
    assert not Archive().add(candidate("x", float("nan")))


def test_knees_leave_out_what_does_not_pay_for_its_complexity():
    front = Front(
        [
            candidate("x", 1.0, 1),
            candidate("cos(x)", 0.5, 2),
            candidate("cos(x) + y", 0.4999, 20),
        ]
    )
    assert [c.complexity for c in knees(front)] == [1, 2]


def test_what_is_shared_makes_the_same_archive_again():
    archive = Archive([candidate("x", 1.0), candidate("cos(2*x)", 0.5), candidate("exp(x)", 0.6)])
    again = Archive(archive.shared())
    assert {c.expression for c in again} == {c.expression for c in archive}
    assert again.front.candidates == archive.front.candidates
