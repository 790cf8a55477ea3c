"""What is known of the output's shape: read, checked in one sentence, and written again."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pandas as pd
import pytest

from ieql import IeqlError, IEQLRegressor, Prior
from ieql.shape import Limit, Shape

TEXT = """
shape:
  bounds: [0, 250]
  increasing: [load]
  decreasing: [temperature]
  convex: [speed]
  at:
    speed: {0: [0, 3], 10: 5}
"""


def test_a_prior_file_tells_every_limit():
    assert [limit.text for limit in Prior.from_yaml(TEXT).shape.limits] == [
        "at least 0",
        "at most 250",
        "increasing in load",
        "decreasing in temperature",
        "convex in speed",
        "at least 0 at speed = 0",
        "at most 3 at speed = 0",
        "at least 5 at speed = 10",
        "at most 5 at speed = 10",
    ]


def test_a_prior_with_a_shape_is_written_and_pickled():
    prior = Prior.from_yaml(TEXT)
    for again in (
        Prior.from_yaml(prior.to_yaml()),
        Prior.from_dict(prior.to_dict()),
        pickle.loads(pickle.dumps(prior)),
    ):
        assert again == prior
        assert hash(again) == hash(prior)
    assert prior != Prior()
    assert "shape" not in Prior().to_dict()
    assert "the output is increasing in load" in prior.words()


def test_a_sign_is_a_bound():
    assert Shape.of({"sign": "positive"}).bounds == (0.0, math.inf)
    assert Shape.of({"sign": "negative", "bounds": [-5, None]}).bounds == (-5.0, 0.0)


def test_an_end_may_be_missing():
    assert Shape.of({"bounds": [None, 3]}).limits == (Limit("at most", value=3.0),)
    assert not Shape.of({"bounds": [None, None]})


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ([], "shape: give a mapping"),
        ({"incresing": ["x"]}, "unknown key 'incresing'. Did you mean 'increasing'?"),
        ({"increasing": "x"}, "shape, increasing: give a list of names"),
        ({"increasing": ["x", "x"]}, "'x' is given twice"),
        ({"increasing": ["x"], "decreasing": ["x"]}, "under both 'increasing' and 'decreasing'"),
        ({"convex": ["x"], "concave": ["x"]}, "both at once is a straight line"),
        ({"even": ["x"], "odd": ["x"]}, "both at once is zero"),
        ({"even": ["x"], "increasing": ["x"]}, "an even output falls on one side"),
        ({"bounds": [2, 1]}, "2 is above 1"),
        ({"bounds": [1, 1]}, "nothing to learn"),
        ({"bounds": [0]}, "give [low, high], with null for no bound, not [0]"),
        ({"bounds": [0, "many"]}, "'many' is not a number"),
        ({"bounds": [0, math.nan]}, "nan is not a number"),
        ({"bounds": [0, True]}, "True is not a number"),
        ({"sign": "plus"}, "give 'positive' or 'negative', not 'plus'"),
        ({"sign": "negative", "bounds": [1, 2]}, "no value within the bounds is negative"),
        ({"at": {"x": {"start": 0}}}, "shape, at, 'x': 'start' is not a number"),
        ({"at": {"x": 0}}, "shape, at, 'x': give a mapping"),
        ({"at": {1: {0: 0}}}, "put the column name 1 in quotes"),
        ({"at": {"x": {0: 1, 4: 2}}, "decreasing": ["x"]}, "at least 2 at 4 and at most 1 at 0"),
        ({"at": {"x": {0: [5, 6]}}, "bounds": [0, 1]}, "lies outside the bounds 0 to 1"),
    ],
)
def test_a_bad_shape_is_refused_in_a_sentence(shape, sentence):
    with pytest.raises(IeqlError) as error:
        Prior.of({"shape": shape})
    assert sentence in str(error.value)
    assert str(error.value).endswith((".", "?"))


def fit(shape, domain=None, y=None):
    X = pd.DataFrame({"speed": np.linspace(0, 4, 30), "load": np.cos(np.arange(30))})
    y = (X["speed"] + 2).rename("torque") if y is None else y
    return IEQLRegressor(
        prior={"shape": shape}, domain=domain, max_trainings=1, n_jobs=1, random_state=0
    ).fit(X, y)


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ({"increasing": ["sped"]}, "names the input 'sped'.* Did you mean 'speed'"),
        ({"even": ["speed"]}, "does not reach to both sides of zero"),
        ({"at": {"speed": {9: 0}}}, "'speed' = 9 lies outside its domain, 0 to 4"),
        ({"bounds": [10, 20]}, "the mean of 'torque' is 4"),
    ],
)
def test_what_the_data_or_the_domain_contradict_is_refused(shape, sentence):
    with pytest.raises(IeqlError, match=sentence):
        fit(shape)


def test_limits_that_no_equation_keeps_to_are_said_in_a_sentence():
    """A convex curve does not pass three points of which the middle one is the highest."""
    shape = {"at": {"speed": {0: 1, 2: 9, 4: 1}}, "convex": ["speed"]}
    with pytest.raises(IeqlError, match="No equation was found that keeps to the prior's shape"):
        fit(shape)
