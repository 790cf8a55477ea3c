"""Run folders from strangers: valid ones in which a value, a key or some bytes are others."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

from soak.random_csv import damaged

__all__ = ["spoil_run"]

FILES = ["model.json", "model.json", "evidence.json", "run.json", "checkpoint.json", "front.jsonl"]
VALUES: list[Any] = [
    *(None, True, 0, 1, -1, 2, 1.5, 1e300, -1e300, 1e-320, 10**25, 10**400, 2**31, 2**63),
    *(float("nan"), float("inf"), float("-inf"), "", "x", "cos", "nan", "1e5", "x" * 20_000),
    *("<script>alert(1)</script>", "\x1b[2J", "two\nlines", "\ud800", "/dev/zero", "../../x"),
    *([], {}, [[]], [None], [1, 2], {"a": 1}, [[0.0, [0], [1.0]]], ["cos", [[0, [0], [1]]]]),
]


def spoil_run(rng: Random, run: Path) -> None:
    """Change one file of a run folder."""
    path = run / rng.choice(FILES)
    content = path.read_bytes()
    if path.suffix == ".jsonl" or rng.random() < 0.2:
        path.write_bytes(damaged(rng, content))
        return
    form = json.loads(content)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        form = _spoilt(rng, form)
    path.write_text(json.dumps(form), encoding="utf-8", errors="surrogatepass")


def _spoilt(rng: Random, form: Any) -> Any:
    """The same with another value, or without one, or with one twice, at a random depth."""
    holder: Any = None
    key: Any = None
    value = form
    while isinstance(value, dict | list) and value and (holder is None or rng.random() < 0.75):
        holder = value
        key = rng.choice(list(value)) if isinstance(value, dict) else rng.randrange(len(value))
        value = value[key]
    if holder is None:
        return deepcopy(rng.choice(VALUES))
    kind = rng.randrange(8)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, list):
        holder.insert(key, value)
    elif kind == 2 and isinstance(value, int | float):
        holder[key] = rng.choice([-value, value + 1, value * 1e9, str(value), [value]])
    elif kind == 3 and isinstance(value, list):
        value.reverse()
    else:
        # Copies: spoilt again, a value would else come to hold itself.
        holder[key] = deepcopy(rng.choice(VALUES))
    return form
