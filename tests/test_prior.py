"""Expert knowledge: presets, checks, the YAML form, and the questions the package asks of it."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ieql.errors import IeqlError
from ieql.prior import PRESETS, Prior
from ieql.units import MACHINE_UNITS, UNITS, Unit


def tanh_slope(z: np.ndarray) -> np.ndarray:
    return 1 - np.tanh(z) ** 2


TANH = Unit("tanh", np.tanh, tanh_slope, cost=4.0)

# Presets -----------------------------------------------------------------------------------------


def test_plain_is_the_papers_units_at_cost_one_and_four_pairs() -> None:
    plain = Prior.of("plain")
    assert plain.units == ("cos", "exp", "log", "sqrt", "square", "mul", "div")
    assert {plain.cost(source) for source in ("input", *plain.units)} == {1.0}
    assert plain.prohibit == ("cos(cos)", "cos(exp)", "exp(exp)", "log(log)")
    assert (plain.layers, plain.copies) == (None, None)


def test_motor_has_the_factors_of_the_papers_table() -> None:
    motor = Prior.of("motor")
    factors = {"mul": 2, "div": 5, "square": 2, "log": 5, "sqrt": 3, "exp": 5, "cos": 10}
    assert {name: motor.cost(name) for name in motor.units} == factors
    assert motor.cost("input") == 1
    assert motor.units == Prior.of("plain").units
    assert motor.prohibit == Prior.of("plain").prohibit


def test_paper_fixes_the_size_and_forbids_a_division_in_a_denominator() -> None:
    paper = Prior.of("paper")
    assert (paper.layers, paper.copies) == (4, 4)
    assert paper.allows("div", 0, "div")
    assert not paper.allows("div", 1, "div")
    assert Prior.of("plain").allows("div", 1, "div")


def test_a_prior_made_of_nothing_is_plain() -> None:
    assert Prior() == Prior.of("plain") == Prior.of({})


# What the rest of the package asks ---------------------------------------------------------------


def test_a_pair_applies_to_its_direct_composition_only() -> None:
    prior = Prior(prohibit=("cos(exp)",))
    assert not prior.allows("cos", 0, "exp")
    assert prior.allows("exp", 0, "cos")
    assert prior.allows("cos", 0, "cos")
    assert prior.allows("output", 0, "exp")


def test_a_pair_without_places_applies_to_every_argument() -> None:
    prior = Prior(prohibit=("mul(cos)", "div(exp, _)"))
    assert [prior.allows("mul", i, "cos") for i in (0, 1)] == [False, False]
    assert [prior.allows("div", i, "exp") for i in (0, 1)] == [False, True]


def test_input_rules() -> None:
    prior = Prior.of(
        {
            "inputs": {
                "T": {"not_in": ["cos", "output"]},
                "n": {"only_in": ["log"]},
                "z": {"only_in": []},
            }
        }
    )
    assert not prior.allows_input("cos", 0, "T")
    assert not prior.allows_input("output", 0, "T")
    assert prior.allows_input("log", 0, "T")
    assert prior.allows_input("log", 0, "n")
    assert not prior.allows_input("div", 1, "n")
    assert not prior.allows_input("output", 0, "n")
    assert not any(prior.allows_input(u, 0, "z") for u in (*prior.units, "output"))
    assert all(prior.allows_input(u, 0, "free") for u in (*prior.units, "output"))


def test_questions_about_what_does_not_exist_are_refused() -> None:
    prior = Prior()
    with pytest.raises(IeqlError, match="Did you mean 'cos'"):
        prior.cost("coss")
    with pytest.raises(IeqlError, match="Did you mean 'sqrt'"):
        prior.allows("sqr", 0, "cos")
    with pytest.raises(IeqlError, match="Did you mean 'sqrt'"):
        prior.allows("cos", 0, "sqr")
    with pytest.raises(IeqlError, match="cos has 1 argument"):
        prior.allows("cos", 1, "exp")
    with pytest.raises(IeqlError, match="Did you mean 'exp'"):
        prior.unit("expp")


def test_rules_must_name_columns_of_the_data() -> None:
    prior = Prior(inputs={"temprature": {"not_in": ("cos",)}})
    prior.check_columns(["temprature", "load"])
    with pytest.raises(IeqlError, match=r"'temprature'.*Did you mean 'temperature'"):
        prior.check_columns(["temperature", "load"])


def test_words_say_it_plainly() -> None:
    prior = Prior.of(
        {
            "preset": "motor",
            "inputs": {"T": {"not_in": ["cos", "exp"]}, "n": {"only_in": ["log", "output"]}},
            "layers": 2,
        }
    )
    words = prior.words()
    assert "the equation may use cos, exp, log, sqrt, square, mul, div" in words
    assert "cos costs 10 per connection" in words
    assert "exp(exp) is prohibited" in words
    assert "T does not enter cos or exp directly" in words
    assert "n enters only log or the output directly" in words
    assert "the number of layers is 2" in words
    assert "every input and unit costs 1 per connection" in Prior().words()


# Costs and custom units --------------------------------------------------------------------------


def test_costs_change_single_entries_of_the_preset() -> None:
    prior = Prior.of({"preset": "motor", "costs": {"cos": 20, "sin": 3}})
    assert prior.cost("cos") == 20
    assert prior.cost("div") == 5
    assert prior.cost("sin") == 20  # where only cosines may be used, a sine is one


def test_a_missing_cost_is_the_units_own() -> None:
    assert Prior(units=("sin",), costs={}).cost("sin") == UNITS["sin"].cost
    assert Prior(custom=(TANH,)).cost("tanh") == 4.0
    assert Prior(custom=(TANH,), costs={"tanh": 7}).cost("tanh") == 7.0


def test_a_custom_unit_stands_beside_the_table() -> None:
    prior = Prior(units=("cos",), custom=(TANH,), prohibit=("tanh(tanh)",))
    assert prior.units == ("cos", "tanh")
    assert prior.unit("tanh") is TANH
    assert prior.unit("cos") is UNITS["cos"]
    assert not prior.allows("tanh", 0, "tanh")
    assert dataclasses.replace(Prior.of("motor"), custom=(TANH,)).cost("cos") == 10


def test_a_custom_unit_cannot_be_written_down() -> None:
    prior = Prior(custom=(TANH,))
    for write in (prior.to_dict, prior.to_yaml):
        with pytest.raises(IeqlError, match="custom units \\(tanh\\)"):
            write()
    with pytest.raises(IeqlError, match=r"Prior\(custom="):
        Prior.of({"custom": [TANH]})


def test_wrong_custom_units_are_refused() -> None:
    with pytest.raises(IeqlError, match="not a Unit"):
        Prior(custom=(np.tanh,))  # type: ignore[arg-type]
    with pytest.raises(IeqlError, match="'tanh' is given twice"):
        Prior(custom=(TANH, TANH))
    with pytest.raises(IeqlError, match="rename"):
        Prior(custom=(Unit("_", np.tanh, (tanh_slope,)),))


# A value, not a container ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prior",
    [*PRESETS.values(), Prior(inputs={"T": {"not_in": ("cos",)}}, custom=(TANH,))],
    ids=[*PRESETS, "custom"],
)
def test_copies_are_equal_and_hash_alike(prior: Prior) -> None:
    for twin in (pickle.loads(pickle.dumps(prior)), copy.deepcopy(prior), copy.copy(prior)):
        assert twin == prior
        assert hash(twin) == hash(prior)
        assert twin.allows("cos", 0, "exp") is False


def test_different_priors_differ() -> None:
    assert len(set(PRESETS.values())) == 4
    assert Prior() != Prior(custom=(TANH,))
    assert Prior() != Prior(inputs={"T": {"only_in": ()}})
    assert Prior() != "plain"


def test_nothing_can_be_changed_afterwards() -> None:
    costs = {"cos": 2.0}
    prior = Prior(costs=costs, inputs={"T": {"not_in": ("cos",)}})
    costs["cos"] = 5.0
    assert prior.cost("cos") == 2.0
    with pytest.raises(TypeError):
        prior.costs["cos"] = 5.0  # type: ignore[index]
    with pytest.raises(TypeError):
        prior.inputs["T"]["not_in"] = ()  # type: ignore[index]
    with pytest.raises(dataclasses.FrozenInstanceError):
        prior.layers = 3  # type: ignore[misc]


# Reading and writing -----------------------------------------------------------------------------

CONTRACT = """
units: [cos, exp, log, sqrt, square, mul, div]
costs: {input: 1, mul: 2, div: 5, square: 2, log: 5, sqrt: 3, exp: 5, cos: 10}
prohibit:            # outer(inner)
  - cos(cos)
  - cos(exp)
  - exp(exp)
  - log(log)
inputs:              # what may enter which unit directly
  temperature: {not_in: [cos, exp]}
"""


@pytest.mark.parametrize("kind", [str, Path])
def test_a_prior_file(tmp_path: Path, kind: type) -> None:
    path = tmp_path / "motor.yaml"
    path.write_text(CONTRACT, encoding="utf-8")
    motor = dataclasses.replace(
        PRESETS["motor"], inputs={"temperature": {"not_in": ("cos", "exp")}}
    )
    assert Prior.of(kind(path)) == motor
    assert Prior.of(motor) is motor


def test_yaml_reads_like_the_contract() -> None:
    text = Prior.of({"preset": "motor", "inputs": {"T": {"not_in": ["cos"]}}}).to_yaml()
    assert "units: [cos, exp, log, sqrt, square, mul, div]\n" in text
    assert "cos: 10" in text
    assert "not_in: [cos]" in text


def test_a_key_without_a_value_means_none_of_it() -> None:
    assert Prior.from_yaml("prohibit:\n#  - cos(cos)\n").prohibit == ()
    assert Prior.from_yaml("preset: paper\nlayers:\n").layers is None


names = st.sampled_from(sorted(UNITS))
places = st.lists(st.sampled_from([*sorted(UNITS), "output"]), unique=True).map(tuple)
pairs = st.builds("{}({})".format, names, names) | st.just("div(_, div)")
priors = st.builds(
    Prior,
    units=st.lists(names, min_size=1, unique=True).map(tuple),
    costs=st.dictionaries(
        names | st.just("input"),
        st.floats(min_value=0, exclude_min=True, allow_infinity=False) | st.integers(1, 10**20),
    ),
    prohibit=st.lists(pairs, unique=True).map(tuple),
    inputs=st.dictionaries(
        st.text(), st.builds(lambda k, v: {k: v}, st.sampled_from(["not_in", "only_in"]), places)
    ),
    layers=st.none() | st.integers(1, 9),
    copies=st.none() | st.integers(1, 9),
)


@given(priors)
def test_what_is_written_is_what_is_read(prior: Prior) -> None:
    assert Prior.from_dict(prior.to_dict()) == prior
    assert Prior.from_yaml(prior.to_yaml()) == prior
    assert pickle.loads(pickle.dumps(prior)) == prior


# Refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"unit": ["cos"]}, "Unknown key 'unit'.*Did you mean 'units'"),
        ({3: 1}, "Unknown key 3.*Valid keys"),
        ({"preset": "motr"}, "Did you mean 'motor'"),
        ({"preset": None}, "Unknown preset None.*Valid presets"),
        ({"units": ["coss"]}, "units: there is no unit 'coss'. Did you mean 'cos'"),
        ({"units": ["cos", "cos"]}, "units: 'cos' is given twice"),
        ({"units": []}, "allows no unit"),
        ({"units": None}, "allows no unit"),
        ({"units": "cos"}, "units: give a list of names, not 'cos'"),
        ({"units": [True]}, "units: True is not a name"),
        ({"costs": {"coss": 1}}, "costs: .*Did you mean 'cos'"),
        ({"costs": ["cos"]}, "costs: give a mapping"),
        ({"costs": {"cos": 0}}, "cost of 'cos' must be a positive, finite number, not 0"),
        ({"costs": {"cos": -1}}, "cost of 'cos' must be"),
        ({"costs": {"cos": float("nan")}}, "cost of 'cos' must be"),
        ({"costs": {"cos": float("inf")}}, "cost of 'cos' must be"),
        ({"costs": {"cos": 10**400}}, "cost of 'cos' must be"),
        ({"costs": {"cos": True}}, "cost of 'cos' must be"),
        ({"costs": {"cos": "two"}}, "cost of 'cos' must be"),
        ({"prohibit": ["cos"]}, "'cos' is not a composition; write 'cos\\(exp\\)'"),
        ({"prohibit": ["cos(cos(cos))"]}, "not a composition"),
        ({"prohibit": ["cos(coss)"]}, "prohibit, 'cos\\(coss\\)': .*Did you mean 'cos'"),
        ({"prohibit": ["coss(cos)"]}, "Did you mean 'cos'"),
        ({"prohibit": ["cos()"]}, "there is no unit ''"),
        ({"prohibit": ["cos(_)"]}, "exactly one inner unit"),
        ({"prohibit": ["div(cos, exp)"]}, "exactly one inner unit"),
        ({"prohibit": ["cos(_, exp)"]}, "exactly one inner unit"),
        ({"prohibit": ["cos(exp)", " cos( exp )"]}, "'cos\\(exp\\)' is given twice"),
        ({"inputs": {"T": {"not_in": ["cos"], "only_in": ["exp"]}}}, "'T': .* not both"),
        ({"inputs": {"T": {}}}, "either 'not_in' or 'only_in'"),
        ({"inputs": {"T": {"notin": ["cos"]}}}, "Did you mean 'not_in'"),
        ({"inputs": {"T": ["cos"]}}, "'T': give a mapping"),
        ({"inputs": {"T": {"not_in": "cos"}}}, "'T', not_in: give a list"),
        ({"inputs": {"T": {"not_in": ["outputs"]}}}, "Did you mean 'output'"),
        ({"inputs": {"T": {"not_in": ["cos", "cos"]}}}, "'T', not_in: 'cos' is given twice"),
        ({"inputs": {3: {"not_in": ["cos"]}}}, "put the column name 3 in quotes"),
        ({"layers": 0}, "layers: give a whole number of at least 1, not 0"),
        ({"layers": True}, "layers: give a whole number"),
        ({"copies": 2.0}, "copies: give a whole number"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[object, object], message: str) -> None:
    with pytest.raises(IeqlError, match=message):
        Prior.of(settings)


@pytest.mark.parametrize("spec", [None, 3, ["cos"], b"plain"])
def test_what_is_no_prior_is_refused(spec: object) -> None:
    with pytest.raises(IeqlError, match="A prior is a preset name"):
        Prior.of(spec)


@pytest.mark.parametrize("spec", ["moter", Path("moter"), "moter\0", "m" * 5000])
def test_neither_preset_nor_file(spec: object) -> None:
    with pytest.raises(IeqlError, match=r"neither a preset \(plain, motor, .*\)|cannot be read"):
        Prior.of(spec)


def test_the_nearest_preset_is_named() -> None:
    with pytest.raises(IeqlError, match="Did you mean 'motor'"):
        Prior.of("moter")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"units: [cos", r"not valid YAML: .*line"),
        (b"units: !!timestamp cos", "not valid YAML"),
        (b"[" * 2000, "not valid YAML"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"", "A prior is a mapping"),
        (b"- cos", "A prior is a mapping"),
        (b"unitz: [cos]", "Did you mean 'units'"),
        (b"costs: {cos: 1, cos: 2}", "'cos' is given twice"),
        ("#é".encode() * 1_000_000, "larger than 200 kB"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(IeqlError, match=message) as caught:
        Prior.of(path)
    assert "bad.yaml" in str(caught.value)


def test_python_objects_in_yaml_are_not_made() -> None:
    with pytest.raises(IeqlError, match="not valid YAML"):
        Prior.from_yaml("units: !!python/object/apply:os.getcwd []")


def test_messages_stay_short_however_large_the_value() -> None:
    with pytest.raises(IeqlError) as caught:
        Prior.of({"units": ["x" * 100_000]})
    assert len(str(caught.value)) < 300


# --- units of real machines ----------------------------------------------------------------------


def test_only_the_preset_engineering_has_units_of_machines() -> None:
    names = {u.name for u in MACHINE_UNITS}
    for preset in ("plain", "motor", "paper"):
        assert not names & set(Prior.of(preset).units)
    engineering = Prior.of("engineering")
    assert set(engineering.units) == set(Prior.of("plain").units) | names - {"power"}
    assert engineering.cost("tanh") == 1.5
    assert engineering.cost("cos") == 1.0
    assert not engineering.allows("step", 0, "step")
    assert Prior.from_yaml(engineering.to_yaml()) == engineering


def test_nothing_enters_a_fitted_exponent() -> None:
    prior = Prior.of({"units": ["signed_power", "power", "max"]})
    for name in ("signed_power", "power"):
        assert prior.allows(name, 0, "max")
        assert not prior.allows(name, 1, "max")
        assert prior.allows_input(name, 0, "x")
        assert not prior.allows_input(name, 1, "x")
    assert prior.allows_input("max", 1, "x")


def test_units_of_machines_are_read_by_their_names() -> None:
    assert set(Prior.of({"units": ["cos", "abs", "max"]}).named_units) == {"abs", "max"}
    assert Prior(custom=(TANH,)).named_units == {"tanh": TANH}
    assert Prior.of("plain").named_units == {}
