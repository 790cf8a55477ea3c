"""Print the lowest versions of the dependencies that pyproject.toml allows, as constraints.

python .ci/lowest.py > constraints-lowest.txt
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def lowest() -> str:
    """The lower bound of every dependency as a pinned version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = ["# Written by .ci/lowest.py from the lower bounds in pyproject.toml."]
    for requirement in project["dependencies"]:
        found = re.fullmatch(r"([\w-]+)>=([\d.]+)", requirement)
        if found is None:
            raise SystemExit(f"{requirement!r} in pyproject.toml has no plain lower bound.")
        lines.append(f"{found[1]}=={found[2]}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(lowest(), end="")
