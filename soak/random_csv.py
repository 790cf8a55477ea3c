"""Random CSV files: what instruments, spreadsheets and people write, and now and then damage."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

__all__ = ["damaged", "random_csv"]

NAMES = [
    *("x", "y", "speed", "load", "T", "torque", "i_d", "Temperature", "col 1", "n [1/min]", "U/V"),
    *("π_rad", "Größe", "温度", "naïve", "x\u0301", "\u202eabc", "😀", "a,b", "a;b", "a\tb", 'q"q'),
    *("two\nlines", "`tick`", "<script>alert(1)</script>", "=1+1", "-x", "--help", "1", "1.5", "0"),
    *("nan", "inf", "True", "None", "cos", "exp", "int", "__class__", "x1", "x_1", " pad ", "#c"),
    *("\\", "\\end{document}", "$(rm -rf)", "*/ int main", '"""', "'", "%s", "{0}", "a" * 300),
]
SEPARATORS = [*",;\t|" * 6, " ", ":"]
ENCODINGS = ["utf-8"] * 40 + ["utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252", "utf-32"]
MISSING = ["", "NA", "NaN", "nan", "null", "N/A", "-", "?", "#N/A", "None", " ", "n.a.", "-999"]
INFINITE = ["inf", "-inf", "Infinity", "1e999", "-1E999", "∞", "#DIV/0!", "1.#INF"]
ODD_NUMBERS = [
    *("1,234.5", "1.234,5", "1 234", "1'234", "12%", "3 kg", "0x1F", "1_000", "1d5", "−3", "½"),
    *(
        "٣",
        "1e5",
        "+7",
        "007",
        " 8 ",
        "9.",
        ".5",
        "1e-400",
        "4.9e-324",
        "1.8e308",
        "--1",
        "1e",
        "e5",
    ),
    *("0" * 400, "9" * 400, "1." + "3" * 400, "TRUE", "false", "2020-01-01", "12:30", "1/2", "(5)"),
]
SIZES = [6, -9, 15, -15, 30, -30, 60, -60, 90, -90, 99, -99, 101, 150, 300, -300]
"""Powers of ten."""
DATES = ["2021-03-04", "04.03.2021", "3/4/21 12:00", "2021-03-04T05:06:07Z", "12:30:01"]
Column = list[str]


def random_csv(rng: Random) -> tuple[bytes, list[str]]:
    """Bytes of a file and the names of its targets, which most often are in it."""
    n_columns = rng.choice([1, *(2, 3, 4, 5, 6) * 3, 8, 12, rng.randint(13, 30)])
    n_rows = rng.choice([rng.randint(0, 3), *rng.choices(range(4, 61), k=9)])
    names = _names(rng, n_columns)
    columns = _columns(rng, n_columns, n_rows)
    text = _text(rng, names, columns)
    data = text.encode(rng.choice(ENCODINGS), errors="replace")
    if rng.random() < 0.1:
        data = damaged(rng, data)
    targets = [names[-1]]
    if rng.random() < 0.08:
        targets = rng.sample(names, min(len(names), rng.randint(1, 3)))
    if rng.random() < 0.03:
        targets = [rng.choice(NAMES)]
    return data, targets


def damaged(rng: Random, data: bytes) -> bytes:
    """The same bytes after an accident: flipped, cut, repeated, overwritten."""
    content = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        if not content:
            break
        at = rng.randrange(len(content))
        to = min(len(content), at + rng.randint(1, 20))
        kind = rng.randrange(6)
        if kind == 0:
            content[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del content[at:]
        elif kind == 2:
            del content[at:to]
        elif kind == 3:
            content[at:at] = content[at:to] * rng.randint(1, 5)
        elif kind == 4:
            content[at:at] = rng.choice([b"\0", b'"', b"\xff", b"\r", b"\n\n", b",", b";", b"\x1a"])
        else:
            content[at:to] = bytes(rng.randrange(256) for _ in range(to - at))
    return bytes(content)


# --- names and columns ---------------------------------------------------------------------------


def _names(rng: Random, n: int) -> list[str]:
    if rng.random() < 0.6:
        names = [f"c{i}" for i in range(n)]
    else:
        names = [rng.choice(NAMES) for _ in range(n)]
        if rng.random() < 0.8:  # most tables have no name twice
            names = [m if m not in names[:i] else f"{m} {i}" for i, m in enumerate(names)]
    if rng.random() < 0.03:
        names[rng.randrange(n)] = rng.choice(["", " ", "Unnamed: 0"])
    return names


def _columns(rng: Random, n_columns: int, n_rows: int) -> list[Column]:
    values = [_numbers(rng, n_rows) for _ in range(n_columns)]
    if n_columns > 1 and rng.random() < 0.8:
        values[-1] = _law(rng, values[:-1])
    if n_columns > 2 and rng.random() < 0.1:
        values[1] = [3.0 * v for v in values[0]]  # two inputs that say the same
    digits = rng.choice([3, 6, 17])
    columns = [[_written(v, digits) for v in column] for column in values]
    if rng.random() < 0.15 and n_rows:
        _spoil(rng, columns)
    return columns


def _written(value: float, digits: int) -> str:
    return str(int(value)) if abs(value) < 1e6 and value == int(value) else f"{value:.{digits}g}"


def _numbers(rng: Random, n: int) -> list[float]:
    """One column of numbers as they come: measured, counted, constant, huge, tiny."""
    size = 10.0 ** (rng.choice(SIZES) if rng.random() < 0.08 else rng.randint(-3, 3))
    offset = rng.choice([*[0.0] * 12, 1.0, 1.0, -5.0, 1e3, 1e6, 1e12])
    kinds: list[Callable[[int], float]] = [
        lambda _: rng.gauss(0, 1),
        lambda _: rng.gauss(0, 1),
        lambda _: rng.uniform(0, 1),
        lambda i: i / max(n, 1),
        lambda _: rng.randint(0, 5),
        lambda _: rng.randint(0, 1),
        lambda _: rng.lognormvariate(0, 8),
        lambda _: 1.0,
        lambda i: 1.0 if i == 0 else 0.0,
        lambda _: rng.choice([-1, 1]) * 10.0 ** rng.uniform(-60, 60),
    ]
    kind = rng.choice(kinds[:5] if rng.random() < 0.7 else kinds)
    try:
        column = [size * (kind(i) + offset) for i in range(n)]
    except OverflowError:
        column = [size] * n
    return [v if math.isfinite(v) else 1e308 for v in column]


def _law(rng: Random, inputs: list[list[float]]) -> list[float]:
    """A target that depends on one or two inputs, with or without noise."""
    a, b = rng.choice(inputs), rng.choice(inputs)
    noise = rng.choice([0.0, 0.0, 1e-3, 0.1])
    laws: list[Callable[[float, float], float]] = [
        lambda x, z: 2 * x + z,
        lambda x, z: x * z,
        lambda x, _: x * x - 1,
        lambda x, z: x / z,
        lambda x, _: math.cos(3 * x),
        lambda x, _: math.exp(-abs(x)),
        lambda x, _: math.sqrt(abs(x)),
        lambda x, _: x,
    ]
    law, result = rng.choice(laws), []
    for x, z in zip(a, b, strict=True):
        try:
            value = law(x, z)
        except (ArithmeticError, ValueError):
            value = 0.0
        value *= 1 + noise * rng.gauss(0, 1)
        result.append(value if math.isfinite(value) else 1e308)
    return result


def _spoil(rng: Random, columns: list[Column]) -> None:
    """Put something into some cells that is not a plain number."""
    words = rng.choice([MISSING, INFINITE, ODD_NUMBERS, DATES, ["abc", "é", "\u00a0", '"', "'"]])
    column = rng.choice(columns)
    often = rng.choice([0.02, 0.3, 1.0])
    touched = [i for i in range(len(column)) if rng.random() < often] or [0]
    for i in touched:
        column[i] = rng.choice(words)


# --- the text ------------------------------------------------------------------------------------


def _text(rng: Random, names: list[str], columns: list[Column]) -> str:
    separator = rng.choice(SEPARATORS)
    decimal = "," if separator in ";\t|" and rng.random() < 0.3 else "."
    quote_all = rng.random() < 0.1
    rows = [list(row) for row in zip(*columns, strict=True)]
    if decimal == ",":
        rows = [[cell.replace(".", ",") for cell in row] for row in rows]
    lines = [names, *rows] if rng.random() < 0.97 else rows
    texts = [separator.join(_quoted(c, separator, quote_all) for c in line) for line in lines]
    for change in rng.choices(LAYOUTS, k=rng.choice([*[0] * 8, 1, 1, 2])):
        change(rng, texts, separator)
    end = rng.choice(["\n", "\n", "\r\n", "\r"])
    return end.join(texts) + rng.choice([end, end, "", end * 3])


def _quoted(cell: str, separator: str, always: bool) -> str:
    if always or any(c in cell for c in (separator, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _blank_line(rng: Random, lines: list[str], separator: str) -> None:
    lines.insert(rng.randint(0, len(lines)), rng.choice(["", "", "   ", separator * 3, "\t"]))


def _comment(rng: Random, lines: list[str], separator: str) -> None:
    lines.insert(
        rng.choice([0, 1, len(lines)]), rng.choice(["# made by X", "sep=;", "V;A", "[SI]"])
    )


def _trailing_separator(rng: Random, lines: list[str], separator: str) -> None:
    lines[rng.choice([0, 1]) :] = [line + separator for line in lines[rng.choice([0, 1]) :]]


def _ragged(rng: Random, lines: list[str], separator: str) -> None:
    if lines:
        i = rng.randrange(len(lines))
        lines[i] = rng.choice([lines[i] + separator + "7", lines[i].rpartition(separator)[0]])


def _spaces(rng: Random, lines: list[str], separator: str) -> None:
    lines[:] = [line.replace(separator, f" {separator} ") for line in lines]


def _repeated(rng: Random, lines: list[str], separator: str) -> None:
    if lines:
        lines[:] = lines[:1] + rng.choices(lines[1:], k=len(lines) - 1) if lines[1:] else lines * 2


def _open_quote(rng: Random, lines: list[str], separator: str) -> None:
    if lines:
        i = rng.randrange(len(lines))
        lines[i] = '"' + lines[i]


LAYOUTS: list[Callable[[Random, list[str], str], None]] = [
    _blank_line,
    _blank_line,
    _comment,
    _trailing_separator,
    _ragged,
    _spaces,
    _repeated,
    _open_quote,
]
