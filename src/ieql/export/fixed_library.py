"""The few integer functions in C that fixed-point code calls.

All numbers have 30 binary places unless it is said otherwise. Their errors are those that
`ieql.export.fixed_point` counts with; every constant is made here from its formula.
"""

from __future__ import annotations

import math
from collections.abc import Collection

__all__ = ["NAMES", "library"]

ONE = 2**30
EXP_TERMS, SIN_TERMS, LOG_TERMS = 10, 8, 7
"""Terms of the series: those that are left out are less than 1e-11."""


def _scaled(value: float) -> str:
    number = round(value * ONE)
    return f"INT64_C({number})" if number >= 0 else f"-INT64_C({-number})"


def _series(coefficients: list[float], variable: str) -> str:
    """Lines of C that compute a polynomial, given from its constant on, by Horner's rule."""
    *rest, last = coefficients
    lines = [f"    int64_t p = {_scaled(last)};"]
    for c in reversed(rest):
        sign, number = ("-", -c) if c < 0 else ("+", c)
        step = f"ieql_round(p * {variable}, INT64_C({ONE}))"
        lines.append(f"    p = {step} {sign} {_scaled(number)};")
    return "\n".join(lines)


ROUND = """\
/* The integer closest to value / divisor. */
static int64_t ieql_round(int64_t value, int64_t divisor)
{
    const int64_t half = divisor / INT64_C(2);
    return (value >= INT64_C(0)) ? ((value + half) / divisor) : ((value - half) / divisor);
}
"""

CLAMP = """\
/* The value, or the end of its domain that it passes. */
static int32_t ieql_clamp(int32_t value, int32_t low, int32_t high)
{
    return (value < low) ? low : ((value > high) ? high : value);
}
"""

SQRT = """\
/* The integer closest to the root of value * factor, digit by digit; 0 if value is negative. */
static int32_t ieql_sqrt(int32_t value, uint64_t factor)
{
    uint64_t rest = (value > 0) ? ((uint64_t)value * factor) : UINT64_C(0);
    uint64_t root = UINT64_C(0);
    uint64_t digit = UINT64_C(4611686018427387904);
    while (digit > UINT64_C(0))
    {
        const uint64_t trial = root + digit;
        const uint64_t fits = (rest >= trial) ? UINT64_C(1) : UINT64_C(0); /* no branch to guess */
        rest = rest - (fits * trial);
        root = (root / UINT64_C(2)) + (fits * digit);
        digit = digit / UINT64_C(4);
    }
    return (rest > root) ? ((int32_t)root + 1) : (int32_t)root;
}
"""


def _doublings() -> str:
    lines = []
    for step in (16, 8, 4, 2, 1):
        lines += [
            f"    if (m < INT64_C({2 ** (31 - step)}))",
            "    {",
            f"        m = m * INT64_C({2**step});",
            f"        n = n - INT64_C({step});",
            "    }",
        ]
    return "\n".join(lines)


def _log() -> str:
    return f"""\
/*
 * log(value / 2^places), value > 0. The value is m * 2^n with m from 1 to 2; log(m) is
 * 2 artanh(s), s = (m - 1) / (m + 1), or that of m / 2 if this is closer to 1.
 */
static int64_t ieql_log(int32_t value, int32_t places)
{{
    int64_t m = (int64_t)value;
    int64_t n = INT64_C(30) - (int64_t)places;
    int64_t unit = INT64_C({ONE});
{_doublings()}
    if (m > INT64_C({round(math.sqrt(2) * ONE)}))
    {{
        unit = INT64_C({2 * ONE});
        n = n + INT64_C(1);
    }}
    const int64_t s = ieql_round((m - unit) * INT64_C({ONE}), m + unit);
    const int64_t y = ieql_round(s * s, INT64_C({ONE}));
{_series([1.0 / (2 * k + 1) for k in range(LOG_TERMS)], "y")}
    const int64_t whole = ieql_round(n * INT64_C({_ln2()}), INT64_C(1048576));
    return ieql_round(s * p, INT64_C({ONE // 2})) + whole;
}}
"""


def _ln2() -> int:
    return round(math.ldexp(math.log(2.0), 50))


def _exp() -> str:
    terms = [math.sqrt(2) * math.log(2) ** k / math.factorial(k) for k in range(EXP_TERMS)]
    return f"""\
/* 2^t / 2^most, to the closest integer: a shift for the whole part of t, a series for the rest. */
static int32_t ieql_exp(uint64_t t, uint64_t most)
{{
    const uint64_t whole = t / UINT64_C({ONE});
    const uint64_t part = t % UINT64_C({ONE});
    const int64_t r = (int64_t)part - INT64_C({ONE // 2});
{_series(terms, "r")}
    const uint64_t shift = most - whole;
    uint64_t value = (uint64_t)p;
    if (shift > UINT64_C(40))
    {{
        value = UINT64_C(0);
    }}
    else if (shift > UINT64_C(0))
    {{
        value = ((value >> (shift - UINT64_C(1))) + UINT64_C(1)) >> 1U;
    }}
    else
    {{
        /* nothing to round */
    }}
    return (int32_t)value;
}}
"""


def _sin() -> str:
    quarter = math.pi / 2
    terms = [
        (-1) ** k * quarter ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(SIN_TERMS)
    ]
    return f"""\
/* The sine of a turn, which has 32 places; whole turns do not matter. */
static int32_t ieql_sin(uint64_t turn)
{{
    const uint64_t quarter = (turn / UINT64_C({ONE})) % UINT64_C(4);
    const uint64_t part = turn % UINT64_C({ONE});
    const uint64_t odd = quarter % UINT64_C(2);
    const uint64_t inner = (odd == UINT64_C(0)) ? part : (UINT64_C({ONE}) - part);
    const int64_t x = (int64_t)inner;
    const int64_t y = ieql_round(x * x, INT64_C({ONE}));
{_series(terms, "y")}
    p = ieql_round(p * x, INT64_C({ONE}));
    return (quarter < UINT64_C(2)) ? (int32_t)p : (-(int32_t)p);
}}
"""


def _texts() -> dict[str, str]:
    return {
        "ieql_round": ROUND,
        "ieql_clamp": CLAMP,
        "ieql_sqrt": SQRT,
        "ieql_log": _log(),
        "ieql_exp": _exp(),
        "ieql_sin": _sin(),
    }


NAMES = ("ieql_round", "ieql_clamp", "ieql_sqrt", "ieql_log", "ieql_exp", "ieql_sin")


def library(calls: Collection[str]) -> str:
    """The C code of these functions, in an order in which each is known before it is called."""
    return "\n".join(text for name, text in _texts().items() if name in calls)
