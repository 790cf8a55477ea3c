"""Run the checks of reliability, and write docs/reliability.md from what they found.

``python -m soak`` runs all that are not finished in soak/results.json, ``python -m soak NAME …``
these once more; ``--size 0.1`` takes a tenth of the cases. ``python -m soak --write`` runs nothing:
it writes docs/reliability.md from soak/results.json alone.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import pkgutil
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import soak
from ieql.errors import nearest
from ieql.model import versions
from soak.check import Check, Outcome

__all__ = ["all_checks", "main", "page", "run_checks"]

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
INTRODUCTION = """# Reliability

What was tried to break `ieql`, how often, and what happened. The page is written from
`soak/results.json` by `python -m soak --write`; every line can be repeated with its command, from
the top of the source tree. Small forms of the same checks are among the tests. `make soak` runs all
of them.
"""


def all_checks() -> dict[str, Check]:
    """The checks of all modules of this package, by name."""
    found: dict[str, Check] = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(soak.__path__)):
        if module == "__main__":
            continue
        for check in getattr(importlib.import_module(f"soak.{module}"), "CHECKS", ()):
            if check.name in found:
                raise ValueError(f"Two checks have the name {check.name!r}.")
            found[check.name] = check
    return found


def run_checks(
    checks: Sequence[Check], size: float, seed: int, out: Path, *, again: bool = False
) -> bool:
    """Run checks one after the other; each result is written at once. Whether all have passed.

    Those that `out` holds for the same size and seed are run `again` only if that is asked for.
    """
    results = _read(out)
    good = True
    for check in checks:
        known = results.get(check.name)
        if known and not again and (known["size"], known["seed"]) == (size, seed):
            good &= bool(known["passed"])
            print(f"{_line(check.name, known)} (earlier)", flush=True)
            continue
        start = time.perf_counter()
        try:
            outcome = check.run(size, seed)
        except Exception as error:  # the other checks are still to be run
            outcome = Outcome(0, False, f"the check itself failed: {error!r}")
        results[check.name] = {
            "what": check.what,
            "cases": outcome.cases,
            "passed": outcome.passed,
            "text": outcome.text,
            "seconds": round(time.perf_counter() - start, 1),
            "size": size,
            "seed": seed,
            "date": datetime.date.today().isoformat(),
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
            "versions": versions(),
        }
        _write(out, results)
        good &= outcome.passed
        print(_line(check.name, results[check.name]), flush=True)
    return good


def page(results: Mapping[str, Mapping[str, Any]]) -> str:
    """docs/reliability.md as text."""
    if not results:
        return f"{INTRODUCTION}\nNothing has been tried yet.\n"
    lines = ["| what was tried | cases | what happened | command |", "|---|--:|---|---|"]
    for name, r in results.items():
        text = r["text"] if r["passed"] else f"**failed**: {r['text']}"
        # As it was run: the size counts only where it is not the usual one.
        options = "".join(
            f" --{key} {r[key]:g}" for key, usual in (("size", 1), ("seed", 0)) if r[key] != usual
        )
        cells = (r["what"], f"{r['cases']:,}", text, f"`python -m soak {name}{options}`")
        lines.append(f"| {' | '.join(_cell(c) for c in cells)} |")
    machines = sorted(
        {f"{r['machine']}, Python {r['versions']['python']}" for r in results.values()}
    )
    dates = sorted({r["date"] for r in results.values()})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    seconds = sum(r["seconds"] for r in results.values())
    end = f"Run {when} on {'; '.join(sorted(machines))}; {seconds / 60:,.0f} minutes in all."
    return "\n".join([INTRODUCTION, *lines, "", end, ""])


def _cell(text: str) -> str:
    return " ".join(str(text).replace("|", "\\|").split())


def _line(name: str, result: Mapping[str, Any]) -> str:
    verdict = "passed" if result["passed"] else "FAILED"
    return (
        f"{name:<20} {result['cases']:>8,} cases  {verdict}  {result['text']}  "
        f"({result['seconds']:.0f} s)"
    )


def _read(path: Path) -> dict[str, dict[str, Any]]:
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _write(path: Path, results: Mapping[str, Any]) -> None:
    temporary = path.with_suffix(".tmp")
    text = json.dumps(dict(sorted(results.items())), indent=1, ensure_ascii=False)
    temporary.write_text(text + "\n", encoding="utf-8")
    os.replace(temporary, path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line says; 1 if a check failed."""
    parser = argparse.ArgumentParser(
        prog="python -m soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="checks to run, even if finished")
    parser.add_argument("--size", type=float, default=1.0, help="1: as in the table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE", help="the results")
    parser.add_argument("--list", action="store_true", help="print the names of all checks")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}, and run nothing")
    options = parser.parse_args(arguments)
    if options.write:
        PAGE.write_text(page(_read(options.out)), encoding="utf-8")
        return 0
    checks = all_checks()
    if options.list:
        for check in checks.values():
            print(f"{check.name:<20} {check.what}")
        return 0
    for name in options.names:
        if name not in checks:
            parser.error(f"there is no check {name!r}.{nearest(name, checks)}")
    chosen = [checks[name] for name in options.names] or list(checks.values())
    good = run_checks(chosen, options.size, options.seed, options.out, again=bool(options.names))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
