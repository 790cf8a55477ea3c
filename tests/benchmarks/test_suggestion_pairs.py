"""Whether suggested measurements decide: the pairs, the judge and the command."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ieql import IEQLRegressor
from ieql.equations.expression import Expression

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import suggestions
from fits import Settings
from reference import refitted
from suggestions import PAIRS
from tables import read_results


def found(pair, text):
    return suggestions.judged(pair, Expression.parse(text, tuple(pair.rows)))


def test_there_are_thirty_pairs_in_one_and_two_inputs():
    assert len({pair.name for pair in PAIRS}) == len(PAIRS) == 30
    assert {len(pair.domain) for pair in PAIRS} == {1, 2}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_the_first_table_does_not_decide_but_the_domain_does(pair):
    X, y = pair.first(0)
    rival = refitted(Expression.parse(pair.rival, tuple(pair.rows)), X.to_numpy(), pair.exact(X))
    inside = rival.evaluate(X.to_numpy())[:, 0] - pair.exact(X)
    # Half the sum of the squares is what the rows tell for the law, in nats.
    assert np.sum((inside / pair.noise) ** 2) / 2 < 7
    everywhere = pair.random(2000, 1).to_numpy()
    with np.errstate(all="ignore"):
        apart = np.abs(rival.evaluate(everywhere)[:, 0] - pair.exact(everywhere)) / pair.noise
    assert np.nanmax(apart) > 4.5
    assert np.sqrt(np.nanmean(apart**2)) > 1.2  # the rival is not right there
    for name, (low, high) in pair.domain.items():
        assert X[name].between(low, high).all()
    assert np.isfinite(pair.exact(list(product(*pair.domain.values())))).all()
    assert np.std(y - pair.exact(X)) == pytest.approx(pair.noise, rel=0.7)


def test_the_law_is_right_and_the_rival_has_another_structure():
    for pair in PAIRS[::4]:
        own = found(pair, pair.law)
        assert (own["structure"], own["right"], own["rmse"]) == (True, True, 0.0)
        assert not found(pair, pair.rival)["structure"]


def test_the_structure_may_be_written_otherwise_with_other_constants():
    pair = next(p for p in PAIRS if p.name == "growth_factor")
    assert found(pair, "2.5*x/exp(-0.2*z)")["structure"]
    assert not found(pair, "2.5*x/exp(-0.2*z)")["right"]
    assert found(pair, "1.9*x*exp(0.38*z) + 0.01")["structure"]  # one constant more
    assert not found(pair, "1.9*x*exp(0.38*z) + 0.01*z + 0.01*x")["structure"]


def test_the_same_seed_gives_the_same_rows():
    pair = PAIRS[0]
    pd.testing.assert_frame_equal(pair.first(1)[0], pair.first(1)[0])
    np.testing.assert_array_equal(pair.first(1)[1], pair.first(1)[1])
    assert not np.array_equal(pair.first(1)[1], pair.first(2)[1])
    some, other = pair.random(5, 1), pair.random(5, 2)
    noise = [pair.measured(X, 1) - pair.exact(X) for X in (some, other)]
    np.testing.assert_allclose(*noise)  # the same wherever it is measured


def test_one_pair_from_the_command_line(tmp_path, capsys, monkeypatch):
    """One fit of one training stands for all; what it finds does not matter here."""
    out = tmp_path / "results.json"
    monkeypatch.setattr(suggestions, "warm_up", lambda n_jobs: None)
    fits, fit = [], suggestions._fit

    def fit_once(*arguments):
        fits.append(fits[0] if fits else fit(*arguments))
        return fits[0]

    monkeypatch.setattr(suggestions, "_fit", fit_once)
    command = ["--pairs", "shifted_i*", "--max-trainings", "1", "--jobs", "1", "--out", str(out)]
    assert suggestions.main(command) == 0
    printed = capsys.readouterr().out
    assert len(fits) == 3
    assert "[1/1] shifted_inverse seed 0" in printed
    assert "right in the whole domain    of 1" in printed
    (run,) = read_results(out)["runs"]
    assert np.shape(run["suggested"]["points"]) == np.shape(run["random"]["points"]) == (5, 1)
    assert run["before"]["equation"]

    assert suggestions.main(command) == 2
    assert "--resume" in capsys.readouterr().err
    assert suggestions.main([*command, "--resume", "--time", "3"]) == 2
    assert "another time" in capsys.readouterr().err
    monkeypatch.setattr(suggestions, "run_pair", None)  # nothing is run again
    assert suggestions.main([*command, "--resume"]) == 0


def test_what_is_listed_and_what_is_not_there(capsys):
    assert suggestions.main(["--list", "--limit", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert suggestions.main(["--pairs", "S9"]) == 2
    assert "No pair has such a name" in capsys.readouterr().err
    assert suggestions.summary([]) == "no pair was run"


def test_an_interrupted_fit_ends_the_run(monkeypatch):
    monkeypatch.setattr(IEQLRegressor, "fit", lambda self, X, y: None)
    monkeypatch.setattr(IEQLRegressor, "interrupted_", True)
    with pytest.raises(KeyboardInterrupt):
        suggestions.run_pair(PAIRS[0], 0, Settings(1.0, 1))
