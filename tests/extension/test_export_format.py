"""An export format is added from one file of one's own, without a change to the package."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from extension.plugin import ieql, loaded
from ieql import IEQLRegressor
from ieql.export import formats
from ieql.run.folder import RunFolder

PLUGIN = """
from ieql.export.formats import Format, register_format


def write(equations, domain, digits=3):
    lines = [f"{e.target} := {e.expression.text(e.output, digits)};" for e in equations]
    lines += [f"(* {name}: {low:.2g} to {high:.2g} *)" for name, (low, high) in domain.items()]
    return "\\n".join(lines) + "\\n"


register_format(Format("pascal", "Assignments in Pascal.", ".pas", write, ("digits",)))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working folder with a run and the file of a plugin."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "pascal_plugin.py").write_text(PLUGIN)
    x = np.linspace(0.5, 4.0, 40)
    data = pd.DataFrame({"speed": x, "load": x[::-1] ** 2})
    model = IEQLRegressor(max_trainings=2, n_jobs=1, random_state=0)
    model.fit(data, pd.Series(3.14159 * x, name="torque"))
    run = RunFolder.create(folder / "run", {}, "abc")
    run.write_model(model.fitted_.to_json())
    return folder


EXPECTED = "torque := 3.14*speed;\n(* speed: 0.5 to 4 *)\n(* load: 0.25 to 16 *)\n"


def test_it_works_in_python(folder):
    with loaded(folder / "pascal_plugin.py", formats._FORMATS):
        model = IEQLRegressor.load(folder / "run" / "model.json")
        assert model.export("pascal") == EXPECTED


def test_it_works_on_the_command_line(folder):
    export = ("export", "run", "--format")
    assert ieql(folder, "pascal_plugin.py", *export, "pascal").stdout == EXPECTED
    digits = ieql(folder, "pascal_plugin.py", *export, "pascal", "--digits", "5").stdout
    assert digits.startswith("torque := 3.1416*speed;")
    refused = ieql(folder, "pascal_plugin.py", *export, "pascl")
    assert refused.returncode == 2
    assert "latex and pascal. Did you mean 'pascal'?" in refused.stderr
