"""Files of jobs: YAML and tables, and one sentence for what is wrong in them."""

from __future__ import annotations

import pytest

from ieql.cli.jobs import read_jobs
from ieql.errors import IeqlError


def jobs_of(tmp_path, text, name="jobs.yaml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_jobs(path)


def test_jobs_of_yaml_with_defaults(tmp_path):
    first, second = jobs_of(
        tmp_path,
        """
        defaults: {time: 20, prior: motor}
        jobs:
          - {data: a.csv, target: torque, units: true}
          - {data: [b.csv, c.csv], target: [power, speed], time: 5, name: both}
        """,
    )
    assert first.name == "a-torque"
    assert first.arguments == (
        "--time=20",
        "--prior=motor",
        "--target=torque",
        "--units",
        "--",
        "a.csv",
    )
    assert second.name == "both"
    assert second.arguments == (
        *("--time=5", "--prior=motor", "--target=power", "--target=speed"),
        *("--", "b.csv", "c.csv"),
    )
    assert [path.name for path in second.files] == ["b.csv", "c.csv"]


def test_a_list_of_jobs_needs_no_heading(tmp_path):
    (job,) = jobs_of(tmp_path, "- {data: a.csv, target: y}")
    assert job.arguments == ("--target=y", "--", "a.csv")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_jobs_of_a_table(tmp_path, delimiter):
    rows = [["data", "target", "at_least", "units"], ["a.csv", "y", "3", "yes"], ["b.csv", "z"]]
    text = "\n".join(delimiter.join(row) for row in rows) + "\n\n"
    first, second = jobs_of(tmp_path, text, "jobs.csv")
    assert first.arguments == ("--target=y", "--at-least=3", "--units", "--", "a.csv")
    assert second.arguments == ("--target=z", "--", "b.csv")


def test_a_prior_is_a_file_of_the_job_if_there_is_one(tmp_path):
    (tmp_path / "own.yaml").write_text("units: [mul]")
    own, preset = jobs_of(
        tmp_path,
        "[{data: a.csv, target: y, prior: own.yaml}, {data: b.csv, target: y, prior: motor}]",
    )
    assert [path.name for path in own.files] == ["a.csv", "own.yaml"]
    assert [path.name for path in preset.files] == ["b.csv"]


def test_a_file_whose_name_begins_with_a_dash_is_no_option(tmp_path):
    (job,) = jobs_of(tmp_path, "- {data: -a.csv, target: y, name: a}")
    assert job.arguments[-2:] == ("--", "-a.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("jobs: []", "holds no job; write lines like"),
        ("jobs: 3", "write lines like .*, not None"),
        ("work: []", "has no jobs"),
        ("{jobs: [{data: a.csv, target: y}], default: {}}", "Did you mean 'defaults'"),
        ("- {target: y}", "job 1: 'data' is missing"),
        ("- {data: a.csv}", "job 1: Missing option '--target'"),
        ("- {data: a.csv, target: y, tme: 3}", "no option 'tme'. Did you mean 'time'"),
        ("- {data: a.csv, target: y, time: soon}", "job 1: Invalid value for '--time'"),
        ("- {data: a.csv, target: y, units: perhaps}", "units is true or false, not 'perhaps'"),
        ("- {data: a.csv, target: y, time: true}", "time takes a text or a number, not True"),
        ("- {data: a.csv, target: y, out: here}", "no option 'out'"),
        ("- {data: a.csv, target: y, name: ../x}", "'../x' cannot be the name"),
        ("- {data: a.csv, target: y, name: Logs}", "'Logs' cannot be the name"),
        ("- {data: a.csv, target: y, name: index.html}", "'index.html' cannot be the name"),
        ("- {data: [null], target: y}", "data takes a text or a number, not None"),
        ('- {data: "a\\0.csv", target: y, name: a}', "data takes a text or a number"),
        ("[{data: a.csv, target: y}, {data: A.csv, target: y}]", "jobs 1 and 2 are both called"),
        ("jobs: [", "is not a YAML file"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(tmp_path, text, message):
    with pytest.raises(IeqlError, match=message):
        jobs_of(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no column 'data'"),
        ("file,target\na.csv,y", "has no column 'data'"),
        ("data,target\na.csv,y,z", "'a.csv,y,z' has more cells than the header"),
        ("data,target\n", "holds no job"),
    ],
)
def test_what_is_wrong_in_a_table_is_said_in_a_sentence(tmp_path, text, message):
    with pytest.raises(IeqlError, match=message):
        jobs_of(tmp_path, text, "jobs.csv")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(IeqlError, match=r"Cannot read .*nothing.yaml"):
        read_jobs(tmp_path / "nothing.yaml")
