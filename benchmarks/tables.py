"""Result files, and the tables printed from them."""

from __future__ import annotations

import json
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = [
    "comparison",
    "earlier_runs",
    "exit_code",
    "median",
    "plain",
    "read_results",
    "summary",
    "table",
    "write_results",
]

Run = Mapping[str, Any]
HEADER = (
    "problem", "median", "min", "max", "found", "right", "first/s", "fit/s", "params", "truth",
    "consts", "truth", "same", "new/said",
)  # fmt: skip


# --- files -------------------------------------------------------------------------------------


def write_results(path: str | os.PathLike[str], results: Mapping[str, Any]) -> None:
    """Write a result file whole or not at all."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(plain(results), indent=1, allow_nan=False), encoding="utf-8")
    os.replace(temporary, target)


def read_results(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a result file."""
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    if not isinstance(found, dict) or not {"about", "runs"} <= set(found):
        raise ValueError(f"{str(path)!r} is not a result file of this benchmark.")
    return found


def earlier_runs(path: Path | None, about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The runs that a result file holds already; none if there is no file yet."""
    if path is None or not path.exists():
        return []
    before = read_results(path)
    if before["about"] != about:
        raise ValueError(f"{path} was made with other arguments.")
    return list(before["runs"])


def plain(value: Any) -> Any:
    """For JSON, in which what is not finite is missing."""
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return value


# --- figures -----------------------------------------------------------------------------------


def median(values: Iterable[float | None]) -> float:
    """Median in which a missing value counts as infinite."""
    numbers = [math.inf if v is None else float(v) for v in values]
    # Not NumPy's, which would give NaN between a number and infinity: half of the runs, or more,
    # failed then.
    numbers.sort()
    n = len(numbers)
    if n == 0:
        return math.inf
    return (numbers[(n - 1) // 2] + numbers[n // 2]) / 2


def _by_problem(runs: Iterable[Run]) -> dict[str, list[Run]]:
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run["problem"], []).append(run)
    return groups


def _number(value: float, digits: int = 3) -> str:
    return "-" if not math.isfinite(value) else f"{value:.{digits}g}"


def _seconds(value: float) -> str:
    return "-" if not math.isfinite(value) else f"{value:.1f}"


def _count(value: int | None) -> str:
    return "-" if value is None else str(value)


def _known(runs: Iterable[Run], key: str) -> list[Any]:
    """The values that were recorded: some suites, and older files, do not have them all."""
    return [r[key] for r in runs if r.get(key) is not None]


def _middle(runs: Iterable[Run], key: str) -> float:
    """Median of the values that were recorded, unlike `median` leaving out the others."""
    return median(_known(runs, key))


def _ratio(runs: Sequence[Run], key: str) -> str:
    values = _known(runs, key)
    return f"{sum(map(bool, values))}/{len(values)}" if values else "-"


def _share(runs: Iterable[Run], key: str) -> str:
    """How many of how many, with the percentage."""
    values = _known(runs, key)
    if not values:
        return "-"
    n = sum(map(bool, values))
    return f"{n} of {len(values)} ({100 * n / len(values):.0f} %)"


def _row(name: str, runs: Sequence[Run]) -> list[str]:
    errors = [math.inf if r["rmse"] is None else r["rmse"] for r in runs]
    return [
        name,
        _number(median(errors)),
        _number(min(errors)),
        _number(max(errors)),
        _ratio(runs, "success"),
        _ratio(runs, "right"),
        _seconds(median(r["first_success"] for r in runs)),
        _seconds(median(r["seconds"] for r in runs)),
        _number(median(r["n_parameters"] for r in runs)),
        _count(runs[0]["n_parameters_truth"]),
        _number(median(r.get("n_constants") for r in runs)),
        _count(runs[0].get("n_constants_truth")),
        _ratio(runs, "same_structure"),
        _number(_middle(runs, "fresh_ratio")),
    ]


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def table(runs: Iterable[Run]) -> str:
    """One line per problem: test RMSE, successes, times, parameters, structure."""
    groups = _by_problem(runs)
    return _aligned([HEADER, *(_row(name, group) for name, group in groups.items())])


def summary(runs: Sequence[Run]) -> str:
    """The whole in some lines."""
    lines = [_found(runs)] if any(r["success"] is not None for r in runs) else []
    return "\n  ".join([*lines, *(f"{what}: {value}" for what, value in counts(runs))])


def _found(runs: Sequence[Run]) -> str:
    """How many were found, how soon, and what the selection missed, in one line."""
    judged = [r for r in runs if r["success"] is not None]
    groups = _by_problem(judged)
    solved = sum(2 * sum(r["success"] for r in g) > len(g) for g in groups.values())
    equal = sum(r["same_structure"] for r in judged)
    missed = sum(r["front_success"] and not r["success"] for r in judged)
    held = sum(r["front_same_structure"] for r in judged)
    passed = sum(r["front_same_structure"] and not r["same_structure"] for r in judged)
    return (
        f"solved at the median {solved} of {len(groups)}; "
        f"runs succeeded {sum(r['success'] for r in judged)} of {len(judged)}; median time to the "
        f"first success {_seconds(median(r['first_success'] for r in judged))} s; "
        f"structure equal in {equal}; the front held the structure in {held} and the selection "
        f"missed it in {passed}; it held a success and the selection missed it in {missed}"
    )


def counts(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """What is counted over all runs, each with its name."""
    rows = [
        ("right inside and beyond", _share(runs, "right")),
        ("right inside", _share(runs, "success")),
        ("right beyond", _share(runs, "success_beyond")),
        ("constants at most one more than the truth", _share(runs, "few_constants")),
        (
            "structure equal",
            _share((r for r in runs if r["success"] is not None), "same_structure"),
        ),
        ("SRBench: symbolic solution", _share(runs, "srbench")),
        ("error on new rows over the reported one, median", _number(_middle(runs, "fresh_ratio"))),
        ("selected equations with a wave below half a turn", _share(runs, "short_waves")),
        (
            "such a wave though a rival without one is within 5 nats",
            _share(runs, "short_wave_rival"),
        ),
        ("ugly", _ugly(runs)),
        ("test R², median", _number(_middle(runs, "r2_test"))),
        ("median time to the end", f"{_seconds(median(r['seconds'] for r in runs))} s"),
    ]
    return [(what, value) for what, value in rows if value != "-"]


def _ugly(runs: Sequence[Run]) -> str:
    """How many equations have a place that is written strangely, and the kinds of these places."""
    share = _share(runs, "ugly").partition(" (")[0]
    reasons = [r for found in _known(runs, "ugly_reasons") for r in found]
    kinds = Counter(reason.partition(": ")[0] for reason in reasons).most_common()
    return f"{share} ({', '.join(f'{kind} {n}' for kind, n in kinds)})" if kinds else share


# --- two results side by side ------------------------------------------------------------------


def comparison(a: Sequence[Run], b: Sequence[Run], names: tuple[str, str] = ("A", "B")) -> str:
    """Two results side by side on the problems and seeds that both have."""
    shared = {_key(r) for r in a} & {_key(r) for r in b}
    if not shared:
        return "The two results have no problem and seed in common."
    of_a, of_b = ([r for r in runs if _key(r) in shared] for runs in (a, b))
    groups_a, groups_b = _by_problem(of_a), _by_problem(of_b)
    rows = [["problem", "median A", "B", "B/A", "found A", "B", "first/s A", "B", "B/A",
             "params A", "B", "same A", "B"]]  # fmt: skip
    for name, group in groups_a.items():
        rows.append(_compared(name, group, groups_b[name]))
    lines = [f"A: {names[0]}", f"B: {names[1]}", _aligned(rows)]
    lines += [_side_by_side(of_a, of_b), f"A: {_found(of_a)}", f"B: {_found(of_b)}"]
    return "\n".join([*lines, _balance(of_a, of_b), _equally_written(of_a, of_b)])


def _side_by_side(a: Sequence[Run], b: Sequence[Run]) -> str:
    """What is counted over all runs, in two columns."""
    of_a, of_b = dict(counts(a)), dict(counts(b))
    rows = [[what, of_a.get(what, "-"), of_b.get(what, "-")] for what in of_a | of_b]
    return _aligned([["counted over all runs", "A", "B"], *rows])


def _key(run: Run) -> tuple[str, int]:
    return run["problem"], run["seed"]


def _compared(name: str, a: Sequence[Run], b: Sequence[Run]) -> list[str]:
    cells = [name]
    for key, write in (("rmse", _number), ("first_success", _seconds)):
        one, two = median(r[key] for r in a), median(r[key] for r in b)
        ratio = two / one if one > 0 and math.isfinite(one) else math.inf
        cells += [write(one), write(two), _number(ratio, 2)]
        if key == "rmse":
            cells += [_ratio(a, "success"), _ratio(b, "success")]
    cells += [_number(median(r["n_parameters"] for r in group)) for group in (a, b)]
    return [*cells, _ratio(a, "same_structure"), _ratio(b, "same_structure")]


def _balance(a: Sequence[Run], b: Sequence[Run]) -> str:
    """In how many runs only one of the two succeeded, and on how many problems it was faster."""
    won = {_key(r): bool(r["success"]) for r in a}
    only_b = sum(bool(r["success"]) and not won[_key(r)] for r in b)
    only_a = sum(not r["success"] and won[_key(r)] for r in b)
    groups_a, groups_b = _by_problem(a), _by_problem(b)
    times = [
        (median(r["first_success"] for r in group), median(r["first_success"] for r in groups_b[k]))
        for k, group in groups_a.items()
    ]
    return (
        f"only A succeeded in {only_a} runs, only B in {only_b}; median time to the first success "
        f"shorter for A on {sum(x < y for x, y in times)} of {len(times)} problems, "
        f"for B on {sum(y < x for x, y in times)}"
    )


def _equally_written(a: Sequence[Run], b: Sequence[Run]) -> str:
    """In how many runs both selected the same equation, to the letter: so should time limits."""
    known = {_key(r): r.get("equation") for r in a}
    equal = sum(r.get("equation") == known[_key(r)] for r in b)
    return f"the same equation, to the letter, in {equal} of {len(b)} runs"


def exit_code(run: Callable[[], None], kept: str) -> int:
    """Run a benchmark; 0 done, 2 wrong use, 130 interrupted, with what is `kept`."""
    try:
        run()
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"interrupted; the {kept} so far are kept", file=sys.stderr)
        return 130
    return 0
