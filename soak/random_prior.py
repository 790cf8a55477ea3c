"""Random prior files: valid ones, valid ones with a mistake, and files made to do harm."""

from __future__ import annotations

from random import Random
from typing import Any

from soak.random_csv import damaged

__all__ = ["random_prior"]

UNITS = ["cos", "sin", "exp", "log", "sqrt", "square", "mul", "div", "identity"]
COLUMNS = ["a", "b c", "y", "z"]
NASTY_VALUES: list[Any] = [
    *(0, -1, 1, 2, 2.5, 1e300, -1e300, 1e-300, 10**30, 10**400, float("inf"), float("nan")),
    *(True, False, None, "", "abc", "1", "1e3", "\n", "\0", "é" * 50, "x" * 20_000, b"bytes"),
    *([], {}, [[]], [None], [1, 2], {"a": 1}, {1: 2}, {None: None}, ["cos", "cos"], {"cos": {}}),
]
NASTY_TEXTS = [
    "",
    "---\n",
    "--- 1\n--- 2\n",
    "null",
    "[]",
    "cos",
    "units: cos, exp",
    "units: [cos, exp",
    "units:\n\t- cos",
    "units: !!python/object/apply:os.system ['echo']",
    "units: !!python/name:os.system",
    "!!python/object/new:object {}",
    "units: !!set {cos, exp}",
    "units: !!binary Y29z",
    "costs: !!omap [cos: 1]",
    "costs: {cos: 1:30}",
    "costs: {cos: 2020-01-01}",
    "costs: {cos: 2020-99-99}",
    "costs: {? {a: 1} : 1}",
    "costs: {? [a] : 1}",
    "costs: {<<: {cos: 3}}",
    "costs: {<<: *x}",
    "costs: {<<: [1]}",
    "costs: &a {cos: *a}",
    "units: &a [cos, *a]",
    "inputs: &a {a: *a}",
    "a: &a [x, x]\nb: &b [*a, *a]\nunits: [*b, *b]",
    "units: [cos]\nunits: [exp]",
    "prohibit: [cos(]",
    "prohibit: ['cos(cos(cos))']",
    "prohibit: ['div(div, div)']",
    "prohibit: ['_(cos)']",
    "layers: 1000000000000",
    "copies: 1000000000000",
    "layers: 0x7fffffff",
    "layers: 3\ncopies: 100000",
    "costs: {cos: .inf}",
    "costs: {cos: .nan}",
    "costs: {cos: -.inf}",
    "costs: {cos: 1e400}",
    "costs: {cos: 1" + "0" * 5000 + "}",
    "costs: {input: 0}",
    "%YAML 3.0\n---\nunits: [cos]",
    "%TAG ! tag:x,2000:\n---\nunits: !y [cos]",
    "\ufeffunits: [cos]",
    "units: [cos]\n...\nrest",
    "? units\n: [cos]",
    "units: |\n  cos\n  exp",
    "{" * 500,
    "[" * 5000,
    "- " * 3000,
    "a: " * 50,
]


def random_prior(rng: Random) -> bytes:
    """Bytes of a prior file."""
    import yaml

    if rng.random() < 0.15:
        text = rng.choice(NASTY_TEXTS)
        return _accident(rng, text.encode("utf-8", errors="replace"))
    prior = _valid(rng)
    for _ in range(rng.choice([0, 0, 0, 0, 1, 1, 3])):
        prior = _mistaken(rng, prior)
    style = rng.choice([None, True, False])
    try:
        text = yaml.safe_dump(prior, default_flow_style=style, allow_unicode=rng.random() < 0.5)
    except ValueError:  # Python writes no integer of so many digits
        text = "costs: {cos: 1" + "0" * 5000 + "}"
    encoding = rng.choice(["utf-8"] * 20 + ["utf-8-sig", "utf-16", "latin-1"])
    return _accident(rng, text.encode(encoding, errors="replace"))


def _accident(rng: Random, data: bytes) -> bytes:
    return damaged(rng, data) if rng.random() < 0.1 else data


def _valid(rng: Random) -> Any:
    prior: dict[str, Any] = {}
    units = rng.sample(UNITS, rng.randint(1, len(UNITS)))
    if rng.random() < 0.6:
        prior["units"] = units
    if rng.random() < 0.2:
        prior["preset"] = rng.choice(["plain", "motor", "paper"])
    if rng.random() < 0.6:
        names = rng.sample(["input", *UNITS], rng.randint(0, 6))
        is_usual = rng.random() < 0.5
        prior["costs"] = {
            name: rng.randint(1, 9) if is_usual else 10.0 ** rng.uniform(-9, 9) for name in names
        }
    if rng.random() < 0.5:
        pairs = {_pair(rng) for _ in range(rng.randint(0, 30))}
        prior["prohibit"] = sorted(pairs)
    if rng.random() < 0.4:
        columns = rng.sample(COLUMNS[:2] if rng.random() < 0.8 else COLUMNS, rng.randint(1, 2))
        places = [*UNITS, "output"]
        prior["inputs"] = {
            column: {
                rng.choice(["not_in", "only_in"]): rng.sample(
                    places, rng.choice([0, 1, 3, len(places)])
                )
            }
            for column in columns
        }
    for key in ("layers", "copies"):
        if rng.random() < 0.15:
            prior[key] = rng.choice([1, 2, 3, 4, 7])
    return prior


def _pair(rng: Random) -> str:
    outer, inner = rng.choice(UNITS), rng.choice(UNITS)
    if outer in ("mul", "div") and rng.random() < 0.5:
        return rng.choice([f"{outer}({inner}, _)", f"{outer}(_, {inner})"])
    return f"{outer}({inner})"


def _mistaken(rng: Random, prior: Any) -> Any:
    """The same with one thing in it that does not belong there."""
    places = list(_places(prior))
    kind = rng.randrange(6)
    if kind == 0 or not places:
        return rng.choice(NASTY_VALUES) if rng.random() < 0.1 else {**_mapping(prior), "colour": 1}
    holder, key = rng.choice(places)
    if kind == 1 and isinstance(holder, dict):
        holder[_misspelt(rng, str(key))] = holder.pop(key)
    elif kind == 2:
        holder[key] = [holder[key]]
    elif kind == 3 and isinstance(holder[key], str):
        holder[key] = _misspelt(rng, holder[key])
    elif kind == 4:
        for _ in range(rng.choice([1, 5, 60])):
            holder[key] = {"inner": holder[key]} if rng.random() < 0.5 else [holder[key]]
    else:
        holder[key] = rng.choice(NASTY_VALUES)
    return prior


def _mapping(prior: Any) -> dict[Any, Any]:
    return prior if isinstance(prior, dict) else {}


def _places(value: Any, depth: int = 0) -> Any:
    """All (holder, key) in nested mappings and lists."""
    if depth > 6:
        return
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    else:
        return
    for key, item in items:
        yield value, key
        yield from _places(item, depth + 1)


def _misspelt(rng: Random, word: str) -> str:
    at = rng.randint(0, len(word))
    return word[:at] + rng.choice(["x", " ", "(", "é", "_", "\n", "'"]) + word[at + 1 :]
