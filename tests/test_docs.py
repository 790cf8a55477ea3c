"""Every code block of README.md and docs/ is run, page by page, in an empty folder.

What a block's language means here:

- ``python``: run; all blocks of a page share their names.
- ``pycon``: a session with its outputs, checked as a doctest.
- ``console``: commands after ``$``, each with what it prints; ``sh``: commands alone. ``ieql`` is
  run, of ``make`` the target must exist, ``pip`` is left alone.
- ``yaml``: must be a valid prior, domain or list of jobs; ``<!-- file: motor.yaml -->`` above it
  writes the file.
- ``text``: the output of the block directly above it, which is checked, else only to be read.
- ``<!-- setup: … -->``: Python that is run but not to be seen.

In outputs ``...`` stands for anything. Pages show natural time limits; here a fit gets `TRAININGS`
and one process, unless it has a number of trainings. Seconds end it only on a machine that has
stalled: what pages say must not depend on how busy a machine is.
"""

from __future__ import annotations

import contextlib
import copy
import doctest
import importlib.util
import io
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

import ieql.learn
from ieql import Prior
from ieql.cli import app
from ieql.cli.given import read_domain
from ieql.cli.jobs import read_jobs
from ieql.prior import KEYS

ROOT = Path(__file__).parents[1]
ABOUT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
PAGES = [*ABOUT, *sorted((ROOT / "docs").rglob("*.md"))]
TRAININGS = 8
SECONDS = 20
KINDS = ("python", "pycon", "console", "sh", "yaml", "text", "setup")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(
    r"^<!-- setup:\n(?P<setup>.*?)^-->$"
    r"|(?:^<!-- file: (?P<file>\S+) -->\n+)?"
    r"^```(?P<kind>\w*)\n(?P<body>.*?)^```$(?:\n+^```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A piece of a page that is run or checked."""

    kind: str
    body: str
    line: int
    output: str | None = None
    file: str | None = None


def blocks_of(text: str) -> list[Block]:
    found = []
    for match in BLOCK.finditer(text):
        start = match.start("body") if match["setup"] is None else match.start("setup")
        line = text.count("\n", 0, start) + 1
        if match["setup"] is not None:
            found.append(Block("setup", match["setup"], line))
        else:
            found.append(Block(match["kind"], match["body"], line, match["output"], match["file"]))
    return found


class Reader:
    """Does what a page says, block by block, in the current folder."""

    def __init__(self, page: Path) -> None:
        self.page = page
        self.names: dict[str, object] = {"__name__": "__main__"}

    def follow(self, block: Block) -> None:
        run = getattr(self, f"_{block.kind}", None)
        assert block.kind in KINDS, f"{self.page.name}, line {block.line}: which language?"
        if run is not None:
            run(block)

    def _python(self, block: Block) -> None:
        source = "\n" * (block.line - 1) + block.body  # so that a traceback tells the page's line
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, str(self.page), "exec"), self.names)
        self._check(printed.getvalue(), block.output, block.line)

    _setup = _python

    def _pycon(self, block: Block) -> None:
        example = doctest.DocTestParser().get_doctest(
            block.body, self.names, self.page.name, str(self.page), block.line - 1
        )
        told: list[str] = []
        result = doctest.DocTestRunner(optionflags=FLAGS).run(
            example, out=told.append, clear_globs=False
        )
        self.names.update(example.globs)
        assert result.failed == 0, "".join(told)

    def _yaml(self, block: Block) -> None:
        found = yaml.safe_load(block.body)
        path = Path(block.file or "example.yaml")
        path.write_text(block.body, encoding="utf-8")
        if "jobs" in found:
            read_jobs(path)
        elif set(found) <= set(KEYS):
            Prior.from_yaml(block.body)
        else:
            read_domain(path, list(found))

    def _sh(self, block: Block) -> None:
        for number, line in enumerate(block.body.splitlines()):
            if line.strip() and not line.startswith("#"):
                self._command(line, "", block.line + number)

    def _console(self, block: Block) -> None:
        for command in re.split(r"^\$ ", block.body, flags=re.MULTILINE)[1:]:
            line, _, output = command.partition("\n")
            self._command(line, output, block.line)

    def _command(self, line: str, output: str, number: int) -> None:
        program, *words = shlex.split(line, comments=True)
        where = f"{self.page.name}, line {number}: {line}"
        if program == "make":
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            for target in (word for word in words if "=" not in word):
                assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), where
        elif program == "ieql":
            file = words[words.index(">") + 1] if ">" in words else None
            result = CliRunner().invoke(app, words[:-2] if file else words)
            expected = 2 if "Error:" in output else 0
            assert result.exit_code == expected, f"{where}\n{result.output}{result.exception!r}"
            if file is not None:
                Path(file).write_text(result.stdout, encoding="utf-8")
            self._check(result.output, output, number)
        else:
            assert program == "pip", where

    def _check(self, printed: str, expected: str | None, line: int) -> None:
        if not expected:
            return
        same = doctest.OutputChecker().check_output(expected, printed, FLAGS)
        assert same, f"{self.page.name}, line {line} says\n{expected}\nbut it prints\n{printed}"


@pytest.fixture
def in_a_hurry(monkeypatch, tmp_path):
    """Give every fit little time and one process, in an empty folder, with no window to draw in."""
    learn = ieql.learn.learn

    def learn_quickly(options, *rest, **more):
        quick = copy.copy(options)
        quick.n_jobs = 1
        if options.max_trainings is None:
            quick.max_trainings = TRAININGS
            quick.max_time = min(options.max_time, SECONDS)
        return learn(quick, *rest, **more)

    monkeypatch.setattr(ieql.learn, "learn", learn_quickly)
    monkeypatch.chdir(tmp_path)
    import matplotlib

    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


LONG_PAGES = ("devices.md", "runs.md")
"""Pages with many fits."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.slow] * (p.name in LONG_PAGES)) for p in PAGES],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
@pytest.mark.usefixtures("in_a_hurry")
def test_every_block_of_a_page_does_what_it_says(page):
    if page.name == "simulation.md" and not (sys.platform == "linux" and shutil.which("cc")):
        pytest.skip("compiles an exported model: needs Linux and a C compiler")
    reader = Reader(page)
    for block in blocks_of(page.read_text(encoding="utf-8")):
        reader.follow(block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_fence_is_a_block_and_every_link_leads_somewhere(page):
    text = page.read_text(encoding="utf-8")
    fences = len(re.findall(r"^```", text, re.MULTILINE))
    blocks = [b for b in blocks_of(text) if b.kind != "setup"]
    assert fences == 2 * len(blocks) + 2 * sum(b.output is not None for b in blocks)
    prose = BLOCK.sub("", text)
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([\w-]*))?\)", prose):
        file = page.parent / target if target else page
        assert file.exists(), f"{page.name} links to {target}, which does not exist"
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), f"{target}#{anchor}"


def anchors(text: str) -> set[str]:
    """The anchors that a Markdown page has by its headings, as GitHub and others name them."""
    titles = re.findall(r"^#+ (.*)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_contents_list_every_page():
    contents = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in PAGES[len(ABOUT) :]:
        path = page.relative_to(ROOT / "docs").as_posix()
        assert path == "README.md" or f"({path})" in contents, path


def test_the_api_reference_is_up_to_date():
    place = ROOT / "docs" / "build_api.py"
    spec = importlib.util.spec_from_file_location("build_api", place)
    build_api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build_api)
    stored = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert build_api.build() == stored, "docs/api.md is out of date: run make docs"


def test_every_public_name_is_in_the_api_reference():
    stored = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert all(f"\n## {name}\n" in stored for name in ieql.__all__)


# --- the reader itself -------------------------------------------------------------------------


def test_a_block_that_prints_something_else_is_refused(in_a_hurry):
    page = "```python\nprint(1)\n```\n\n```text\n2\n```\n"
    (block,) = blocks_of(page)
    with pytest.raises(AssertionError, match="but it prints"):
        Reader(Path("page.md")).follow(block)


def test_a_command_that_fails_is_refused_unless_it_is_meant_to(in_a_hurry):
    reader = Reader(Path("page.md"))
    with pytest.raises(AssertionError, match="ieql show nowhere"):
        reader.follow(Block("console", "$ ieql show nowhere\n", 1))
    reader.follow(Block("console", "$ ieql show nowhere\nError: There is no folder ...\n", 1))


def test_a_make_target_that_does_not_exist_is_refused(in_a_hurry):
    with pytest.raises(AssertionError, match="make coffee"):
        Reader(Path("page.md")).follow(Block("sh", "make coffee\n", 1))
