"""Functional mock-up units, run by FMPy: values, parameters, and what the standard asks for."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from exported import agreement, hostile_equations, various
from ieql.equations.expression import Expression
from ieql.errors import IeqlError
from ieql.export.fmu import write
from ieql.export.functions import Equation
from ieql.export.origin import Origin
from ieql.export.reproducible import unpacked

VERSIONS = ["2.0", "3.0"]
COMPILER = shutil.which("gcc") or shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler (gcc or cc)")
needs_fmpy = pytest.mark.skipif(
    importlib.util.find_spec("fmpy") is None
    or COMPILER is None
    or not sys.platform.startswith("linux"),
    reason="needs FMPy, a C compiler and Linux",
)
TORQUE = Equation("torque", Expression.parse("0.5*n*cos(2*load + 1) - 3/load", ["n", "load"]))
DOMAIN = {"n": (0.0, 6000.0), "load": (0.1, 1.0)}


def saved(folder, equations, domain=None, **options):
    path = folder / "model.fmu"
    path.write_bytes(write(equations, domain, **options))
    return path


class Instance:
    """A unit that is loaded and initialized, for co-simulation."""

    def __init__(self, path, folder):
        import fmpy
        from fmpy.fmi2 import FMU2Slave
        from fmpy.fmi3 import FMU3Slave

        self.about = fmpy.read_model_description(str(path))
        self.is_2 = self.about.fmiVersion == "2.0"
        kind = FMU2Slave if self.is_2 else FMU3Slave
        self.fmu = kind(
            guid=self.about.guid if self.is_2 else self.about.instantiationToken,
            unzipDirectory=fmpy.extract(str(path), str(folder / f"unzipped{self.is_2}")),
            modelIdentifier=self.about.coSimulation.modelIdentifier,
            instanceName="one",
        )
        self.fmu.instantiate()
        if self.is_2:
            self.fmu.setupExperiment()
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()
        self.get = self.fmu.getReal if self.is_2 else self.fmu.getFloat64
        self.set = self.fmu.setReal if self.is_2 else self.fmu.setFloat64

    def references(self, causality):
        return [v.valueReference for v in self.about.modelVariables if v.causality == causality]

    def outputs(self, X):
        """Values of all outputs at all points, (outputs, points)."""
        inputs, outputs = self.references("input"), self.references("output")
        values = []
        for row in X.tolist():
            self.set(inputs, row)
            values.append(self.get(outputs))
        return np.array(values).T

    def close(self):
        self.fmu.terminate()
        self.fmu.freeInstance()


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_in_it(version):
    origin = Origin("1f3a", {"torque": 0.12}, {"n": "1/min", "torque": "N*m"})
    members = unpacked(write([TORQUE], DOMAIN, version, origin=origin, binary=False))
    assert f"sources/fmi{version[0]}.c" in members
    assert not any(name.startswith("binaries/") for name in members)
    assert b"torque = 0.5*n*cos(2*load + 1) - 3/load" in members["documentation/index.html"]
    source = members["sources/model.h"].decode()
    assert "c[1] * u2 + c[2] * u3;" in source
    root = ElementTree.fromstring(members["modelDescription.xml"])
    assert root.get("fmiVersion") == version
    assert "SHA-256 1f3a" in root.get("description")
    assert "0.12 N*m" in root.get("description")
    assert "generationDateAndTime" not in root.attrib
    variables = {
        v.get("name"): {**v.attrib, **dict(*(c.items() for c in v))}
        for v in root.iter()
        if v.get("causality")
    }
    assert variables["n"]["causality"] == "input"
    assert (variables["n"]["min"], variables["n"]["max"]) == ("0.0", "6000.0")
    assert variables["n"]["start"] == "3000.0"
    assert variables["n"]["unit"] == "1/min"
    assert variables["torque"]["causality"] == "output"
    constants = [v["start"] for v in variables.values() if v["causality"] == "parameter"]
    assert constants == ["2.0", "0.5", "-3.0"]


def test_the_same_model_gives_the_same_bytes():
    for version in VERSIONS:
        assert write([TORQUE], DOMAIN, version) == write([TORQUE], DOMAIN, version)


def test_a_version_or_name_that_is_none():
    with pytest.raises(IeqlError, match=r"^version must be 2\.0 or 3\.0, not 1\.0\.$"):
        write([TORQUE], version=1.0)
    with pytest.raises(IeqlError, match=r"^A model cannot be called 'a b': give a word"):
        write([TORQUE], name="a b")
    assert write([TORQUE], version=2) == write([TORQUE], version=2.0) == write([TORQUE])


@needs_compiler
@pytest.mark.parametrize("version", VERSIONS)
def test_the_source_compiles_without_a_warning(version, tmp_path):
    for name, content in unpacked(write(various(20)[0], version=version, binary=False)).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wno-unused-parameter", "-pedantic", "-Werror"]
    command = [COMPILER, *strict, "-shared", "-fPIC", f"sources/fmi{version[0]}.c", "-o", "x.so"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr[:2000]


@needs_fmpy
@pytest.mark.parametrize("version", VERSIONS)
def test_edges_and_random_points(version, tmp_path):
    from fmpy.validation import validate_fmu

    equations, X = various(40)
    path = saved(tmp_path, equations, version=version)
    assert validate_fmu(str(path)) == []
    instance = Instance(path, tmp_path)
    found = instance.outputs(X)
    instance.close()
    assert agreement(equations, found, X) > 0.8


@needs_fmpy
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", ["CoSimulation", "ModelExchange"])
def test_a_simulation(version, kind, tmp_path):
    """Inputs over the time; the constant -3, a parameter, becomes -6."""
    from fmpy import simulate_fmu

    path = saved(tmp_path, [TORQUE], DOMAIN, version=version, name="model")
    times = np.linspace(0, 4, 5)
    columns = [("time", float), ("n", float), ("load", float)]
    signal = np.array([(t, 1000.0, 0.5) for t in times], dtype=columns)
    for constant in (-3.0, -6.0):
        result = simulate_fmu(
            str(path), stop_time=4, output_interval=1.0, input=signal, fmi_type=kind,
            output=["torque"], start_values={"c3": constant},
        )  # fmt: skip
        expected = TORQUE.expression.evaluate(np.array([[1000.0, 0.5]]))[0, 0]
        expected += (constant + 3.0) / 0.5
        np.testing.assert_allclose(result["torque"], expected, rtol=1e-12)


@needs_fmpy
@pytest.mark.parametrize("version", VERSIONS)
def test_hostile_names(version, tmp_path):
    from fmpy.validation import validate_fmu

    equations, X, expected = hostile_equations()
    path = saved(tmp_path, equations, version=version)
    assert validate_fmu(str(path)) == []
    instance = Instance(path, tmp_path)
    np.testing.assert_allclose(instance.outputs(X), expected, rtol=1e-12)
    instance.close()


@needs_fmpy
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_refused(version, tmp_path):
    """To set an output, to ask for what there is not, and another model's token."""
    import fmpy

    path = saved(tmp_path, [TORQUE], version=version)
    instance = Instance(path, tmp_path)
    [output] = instance.references("output")
    with pytest.raises(fmpy.fmi1.FMICallException):
        instance.set([output], [1.0])
    with pytest.raises(fmpy.fmi1.FMICallException):
        instance.get([output + 1])
    state = instance.fmu.getFMUState()
    before = instance.get([output])
    instance.set(instance.references("input"), [7.0, 0.5])
    assert instance.get([output]) != before
    instance.fmu.setFMUState(state)
    assert instance.get([output]) == before
    instance.fmu.freeFMUState(state)
    instance.close()
    other = fmpy.extract(str(path), str(tmp_path / "other"))
    with pytest.raises(Exception, match="instantiate"):
        fmpy.simulate_fmu(other, model_description=_with_another_token(other), stop_time=1)


def _with_another_token(folder):
    import fmpy

    about = fmpy.read_model_description(folder)
    about.guid = about.instantiationToken = "{another}"
    return about
