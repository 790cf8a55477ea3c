"""The one list of options, and those who read it."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from typer.testing import CliRunner

from ieql import IeqlError, IEQLRegressor, Prior
from ieql.cli import app
from ieql.options import (
    FitOptions,
    Resume,
    checked,
    default_of,
    listed,
    options,
    parameters,
    plain_settings,
    stored,
)
from ieql.run.settings import differences


def test_the_estimator_has_these_parameters_and_no_others():
    assert list(IEQLRegressor().get_params()) == sorted(options())
    assert list(inspect.signature(IEQLRegressor).parameters) == list(options())
    assert IEQLRegressor().get_params() == {name: default_of(name) for name in options()}


def test_each_is_documented_once_in_the_docstring_that_help_shows():
    lines = str(IEQLRegressor.__doc__).splitlines()
    for name in options():
        assert sum(line.strip().startswith(f"{name} : ") for line in lines) == 1, name


def test_the_command_line_has_a_flag_for_each_that_names_one():
    said = CliRunner().invoke(app, ["fit", "--help"]).output
    for option in options().values():
        assert option.flag is None or f"{option.flag.name} " in said


def test_a_run_goes_on_with_what_may_change():
    said = CliRunner().invoke(app, ["resume", "--help"]).output
    for option in options().values():
        if option.flag is not None:
            assert (f"{option.flag.name} " in said) == (option.resume is not Resume.FIXED)


def test_checking_makes_values_plain_and_leaves_the_given_ones_alone():
    given = FitOptions(prior={"preset": "motor"}, layers=np.int64(2), max_time=np.float64(5.0))
    found = checked(given)
    assert isinstance(found.prior, Prior)
    assert (type(found.layers), type(found.max_time)) == (int, float)
    assert given.prior == {"preset": "motor"}
    assert type(found) is FitOptions
    assert type(checked(IEQLRegressor())) is FitOptions  # not the estimator that it was read from


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": 0}, "layers must be None or a whole number of at least 1, not 0"),
        ({"copies": True}, "copies must be None or a whole number"),
        ({"max_time": -1}, "max_time must be None or a positive number, not -1"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number other than 0"),
        (
            {"loss": "squred"},
            "There is no loss 'squred'; the choices are .*, relative. Did you mean",
        ),
        ({"selection": 3}, "There is no selection criterion 3; the choices are MDL"),
        ({"trainer": "fsat"}, "There is no trainer 'fsat'; the choices are fast, paper"),
        ({"validation_fraction": 0.95}, "must lie between 0 and 0.9, not 0.95"),
        ({"max_time": None}, "Give max_time or max_trainings"),
        ({"min_time": 90}, "min_time .* is 90 s, but max_time .* is 60 s"),
    ],
)
def test_what_makes_no_sense_is_refused(change, message):
    with pytest.raises(IeqlError, match=message):
        checked(FitOptions(**change))


def test_what_is_stored_listed_or_fixes_a_run_is_part_of_the_list():
    asked = checked(FitOptions(random_state=3, trainer="paper", prior="motor"))
    assert set(stored(asked)) <= set(options())
    assert set(listed(asked)) <= set(options())
    settings = plain_settings(asked)
    assert list(settings) == list(options()) == list(parameters(asked))
    assert settings["prior"] == Prior.of("motor").to_dict()
    assert settings["trainer"]["n_strengths"] == 12  # spelled out: a preset may change some day
    assert settings["random_state"] == 3


def test_a_run_from_before_there_were_groups_goes_on():
    now = plain_settings(FitOptions())
    assert differences({k: v for k, v in now.items() if k != "group_constants"}, now) == []
