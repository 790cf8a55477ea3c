"""Equations by which symbolic regression is usually compared, as far as our units express them.

Points are those of McDermott et al. (2012), "Genetic programming needs better benchmarks", for
Nguyen, Keijzer, Vladislavleva and Korns, and of Jin et al. (2019). Where the usual test points are
few random ones, 1,000 are drawn instead. Left out are equations with singularities among their own
points (Korns 2, 3, 9, 10, 13–15), and Keijzer 6, which is a sum of a varying number of terms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi

__all__ = ["EQUATIONS", "Classic"]


@dataclass(frozen=True)
class Classic:
    """A formula, and where its train and test points lie."""

    name: str
    formula: str
    train: Mapping[str, str]
    test: Mapping[str, str]


def _all(names: str, spec: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), spec)


def _nguyen() -> list[Classic]:
    rows = [
        ("x**3 + x**2 + x", "x", -1, 1),
        ("x**4 + x**3 + x**2 + x", "x", -1, 1),
        ("x**5 + x**4 + x**3 + x**2 + x", "x", -1, 1),
        ("x**6 + x**5 + x**4 + x**3 + x**2 + x", "x", -1, 1),
        ("sin(x**2)*cos(x) - 1", "x", -1, 1),
        ("sin(x) + sin(x + x**2)", "x", -1, 1),
        ("log(x + 1) + log(x**2 + 1)", "x", 0, 2),
        ("sqrt(x)", "x", 0, 4),
        ("sin(x) + sin(y**2)", "x y", 0, 1),
        ("2*sin(x)*cos(y)", "x y", 0, 1),
        ("exp(y*log(x))", "x y", 0, 1),  # x to the power of y
        ("x**4 - x**3 + 0.5*y**2 - y", "x y", 0, 1),
    ]
    return [
        Classic(
            f"Nguyen-{k}",
            formula,
            _all(names, f"U[{low},{high},20]"),
            _all(names, f"U[{low},{high},1000]"),
        )
        for k, (formula, names, low, high) in enumerate(rows, start=1)
    ]


def _keijzer() -> list[Classic]:
    wave = f"0.3*x*sin({2 * pi}*x)"
    one = [
        (1, wave, "E[-1,1,0.1]", "E[-1,1,0.001]"),
        (2, wave, "E[-2,2,0.1]", "E[-2,2,0.001]"),
        (3, wave, "E[-3,3,0.1]", "E[-3,3,0.001]"),
        (
            4,
            "x**3*exp(-x)*cos(x)*sin(x)*(sin(x)**2*cos(x) - 1)",
            "E[0,10,0.05]",
            "E[0.05,10.05,0.05]",
        ),
        (7, "log(x)", "E[1,100,1]", "E[1,100,0.1]"),
        (8, "sqrt(x)", "E[0,100,1]", "E[0,100,0.1]"),
        (9, "log(x + sqrt(x**2 + 1))", "E[0,100,1]", "E[0,100,0.1]"),
    ]
    two = [
        (11, "x*y + sin((x - 1)*(y - 1))"),
        (12, "x**4 - x**3 + 0.5*y**2 - y"),
        (13, "6*sin(x)*cos(y)"),
        (14, "8/(2 + x**2 + y**2)"),
        (15, "x**3/5 + y**3/2 - y - x"),
    ]
    five = {"x": "U[-1,1,{n}]", "y": "U[1,2,{n}]", "z": "U[-1,1,{n}]"}
    return [
        *(Classic(f"Keijzer-{k}", f, {"x": a}, {"x": b}) for k, f, a, b in one),
        Classic(
            "Keijzer-5",
            "30*x*z/((x - 10)*y**2)",
            {x: spec.format(n=1000) for x, spec in five.items()},
            {x: spec.format(n=10_000) for x, spec in five.items()},
        ),
        Classic(
            "Keijzer-10", "exp(y*log(x))", _all("x y", "U[0,1,100]"), _all("x y", "E[0.01,1,0.01]")
        ),
        *(
            Classic(f"Keijzer-{k}", f, _all("x y", "U[-3,3,20]"), _all("x y", "E[-3,3,0.01]"))
            for k, f in two
        ),
    ]


def _vladislavleva() -> list[Classic]:
    bumps = "exp(-x1)*x1**3*cos(x1)*sin(x1)*(cos(x1)*sin(x1)**2 - 1)"
    ball = " + ".join(f"(x{k} - 3)**2" for k in range(1, 6))
    names = "x1 x2 x3 x4 x5"
    rows = [
        (
            "exp(-(x1 - 1)**2)/(1.2 + (x2 - 2.5)**2)",
            _all("x1 x2", "U[0.3,4,100]"),
            _all("x1 x2", "E[-0.2,4.2,0.1]"),
        ),
        (bumps, {"x1": "E[0.05,10,0.1]"}, {"x1": "E[-0.5,10.5,0.05]"}),
        (
            f"{bumps}*(x2 - 5)",
            {"x1": "E[0.05,10,0.1]", "x2": "E[0.05,10.05,2]"},
            {"x1": "E[-0.5,10.5,0.05]", "x2": "E[-0.5,10.5,0.5]"},
        ),
        (f"10/(5 + {ball})", _all(names, "U[0.05,6.05,1024]"), _all(names, "U[-0.25,6.35,5000]")),
        (
            "30*(x1 - 1)*(x3 - 1)/(x2**2*(x1 - 10))",
            {"x1": "U[0.05,2,300]", "x2": "U[1,2,300]", "x3": "U[0.05,2,300]"},
            {"x1": "E[-0.05,2.1,0.15]", "x2": "E[0.95,2.05,0.1]", "x3": "E[-0.05,2.1,0.15]"},
        ),
        ("6*sin(x1)*cos(x2)", _all("x1 x2", "U[0.1,5.9,30]"), _all("x1 x2", "E[-0.05,6.05,0.02]")),
        (
            "(x1 - 3)*(x2 - 3) + 2*sin((x1 - 4)*(x2 - 4))",
            _all("x1 x2", "U[0.05,6.05,300]"),
            _all("x1 x2", "U[-0.25,6.35,1000]"),
        ),
        (
            "((x1 - 3)**4 + (x2 - 3)**3 - (x2 - 3))/((x2 - 2)**4 + 10)",
            _all("x1 x2", "U[0.05,6.05,50]"),
            _all("x1 x2", "E[-0.25,6.35,0.2]"),
        ),
    ]
    return [Classic(f"Vladislavleva-{k}", f, a, b) for k, (f, a, b) in enumerate(rows, start=1)]


def _jin() -> list[Classic]:
    formulas = [
        "2.5*x1**4 - 1.3*x1**3 + 0.5*x2**2 - 1.7*x2",
        "8*x1**2 + 8*x2**3 - 15",
        "0.2*x1**3 + 0.5*x2**3 - 1.2*x2 - 0.5*x1",
        "1.5*exp(x1) + 5*cos(x2)",
        "6*sin(x1)*cos(x2)",
        "1.35*x1*x2 + 5.5*sin((x1 - 1)*(x2 - 1))",
    ]
    train, test = _all("x1 x2", "U[-3,3,100]"), _all("x1 x2", "U[-3,3,1000]")
    return [Classic(f"Jin-{k}", f, train, test) for k, f in enumerate(formulas, start=1)]


def _korns() -> list[Classic]:
    """Five inputs in [-50, 50], those under a root or logarithm in [0, 50]."""
    rows = [
        (1, "1.57 + 24.3*v", ""),
        (4, "-2.3 + 0.13*sin(z)", ""),
        (5, "3 + 2.13*log(w)", "w"),
        (6, "1.3 + 0.13*sqrt(x)", "x"),
        (7, "213.80940889 - 213.80940889*exp(-0.54723748542*x)", ""),
        (8, "6.87 + 11*sqrt(7.23*x*v*w)", "x v w"),
        (11, "6.87 + 11*cos(7.23*x**3)", ""),
        (12, "2 - 2.1*cos(9.8*x)*sin(1.3*w)", ""),
    ]
    equations = []
    for k, formula, positive in rows:
        specs = _all("x y z v w", "U[-50,50,10000]") | _all(positive, "U[0,50,10000]")
        equations.append(Classic(f"Korns-{k}", formula, specs, specs))
    return equations


EQUATIONS: tuple[Classic, ...] = (
    *_nguyen(),
    *_keijzer(),
    *_vladislavleva(),
    *_jin(),
    *_korns(),
)
