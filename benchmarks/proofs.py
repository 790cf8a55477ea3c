"""What proofs decide, whether they can be trusted, and what limits cost.

``fronts``: every equation on the fronts of the suites `random`, `paper` and `small` is proved: how
many are decided, in what time, what Arb (python-flint) and the checker of certificates say of
those, and how many equations passed the sampled points of the search and were then refuted.
``planted``: equations with a pole, or with a limit that is broken, in a small part of the domain:
none may be proved. ``shapes``: ten problems with noise whose truths have a shape, fitted with and
without it: does any equation on the front break it, and what does it cost?

    python benchmarks/proofs.py fronts --n 5 --trainings 12
    python benchmarks/proofs.py planted --n 1000
    python benchmarks/proofs.py shapes --n 10 --trainings 24
"""

from __future__ import annotations

import argparse
import os
import platform
import time
import warnings
from collections import Counter
from collections.abc import Iterator

import numpy as np

import ieql.equations.finish as finishing
from ieql import IEQLRegressor
from ieql.check_certificate import NotProvedError, check
from ieql.equations.expression import Expression
from ieql.equations.safety import is_safe
from ieql.proofs import Proof, prove
from ieql.shape import Limit, Shape

IN_TIME = 2.0
"""Seconds of the processor in which an equation is to be decided: others may use the machine."""
WORDS = ("increasing", "decreasing", "convex", "concave")


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} CPUs; Python {platform.python_version()}"


# --- fronts --------------------------------------------------------------------------------------


def fronts(n: int, trainings: int, seed: int, names: tuple[str, ...]) -> None:
    """Print what is decided on the fronts of suites."""
    from suites import suite

    let_through = Counter[str]()
    sound = finishing.sound
    proved_before = finishing.prove

    def counting(e, lower, upper, *rest, **options):  # type: ignore[no-untyped-def]
        verdict = proved_before(e, lower, upper, *rest, **options)
        let_through["asked"] += 1
        if verdict.proved is False:
            let_through["refuted"] += 1
            let_through["refuted, with margins"] += is_safe(e, points["domain"])
        return verdict

    points: dict[str, np.ndarray] = {}

    def noting(e, domain, *rest, **options):  # type: ignore[no-untyped-def]
        points["domain"] = domain
        return sound(e, domain, *rest, **options)

    finishing.prove, finishing.sound = counting, noting  # type: ignore[assignment]
    print(f"fronts: {n} problems of each suite, {trainings} trainings, seed {seed}; {machine()}")
    total = Counter[str]()
    try:
        for name in names:
            found = Counter[str]()
            for problem in suite(name, n=n)[:n]:
                data = problem.draw(seed)
                model = IEQLRegressor(
                    **data.model_options, max_trainings=trainings, max_time=None, n_jobs=1,
                    random_state=seed,
                ).fit(data.X, data.y, **data.fit_options)  # fmt: skip
                for front in model.fronts_:
                    for candidate in front:
                        found += judged(candidate.expression, model.fitted_.domain)
            print(f"  {name:8} {line(found)}")
            total += found
    finally:
        finishing.prove, finishing.sound = proved_before, sound
    print(f"  {'all':8} {line(total)}")
    print(f"  sampling let through: {dict(let_through)}")


def judged(e: Expression, domain: dict[str, tuple[float, float]]) -> Counter[str]:
    """Prove an equation and four limits of each input, and ask the second judges."""
    from flint_judge import judge

    start = time.process_time()
    proof = prove(e, domain)
    seconds = time.process_time() - start
    found = Counter({"equations": 1})
    found["decided in time"] += proof.safe is not None and seconds <= IN_TIME
    limits = [Limit(word, name) for name in e.inputs_used for word in WORDS]
    start = time.process_time()
    proof = prove(e, domain, limits)
    found["limits"] += len(limits)
    found["limits decided"] += sum(v is not None for v in proof.limits.values())
    found["with limits in time"] += time.process_time() - start <= IN_TIME
    if proof.safe:
        claims = [(True, None)] + [(proof.limits[limit.text], limit) for limit in limits]
        for holds, limit in claims:
            if holds:
                verdict = judge(e, domain, limit)
                found["proved"] += 1
                found["confirmed by Arb"] += verdict.is_confirmed
                found["CONTRADICTED by Arb"] += verdict.wrong > 0
        found["certificates"] += 1
        try:
            check(proof.certificate())
            found["certificates checked"] += 1
        except NotProvedError as error:
            print(f"    not checked: {e.text()}: {error}")
    return found


def line(found: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in found.items())


# --- planted -------------------------------------------------------------------------------------


def planted_pole(rng: np.random.Generator) -> tuple[str, dict[str, tuple[float, float]]]:
    """An equation that is undefined in a small part of its domain."""
    d = int(rng.integers(1, 5))
    names = [f"x{i}" for i in range(d)]
    place, width = rng.uniform(-0.9, 0.9, d), 10.0 ** rng.uniform(-4, -1)
    ball = " + ".join(
        f"{rng.uniform(0.5, 2):.4f}*({n} - {p:.6f})**2" for n, p in zip(names, place, strict=True)
    )
    inner = (f"{ball} - {width**2:.3e}", f"1 - exp(-({ball})) - {width**2 / 4:.3e}")[
        rng.integers(2)
    ]
    outer = ("log({})", "sqrt({})", "1/({})", "x0*log({})", "exp(x0)/({})")[rng.integers(5)]
    return f"{outer.format(inner)} + {rng.normal():.3f}*x0", dict.fromkeys(names, (-1.0, 1.0))


def planted_break(rng: np.random.Generator) -> tuple[str, dict[str, tuple[float, float]], Limit]:
    """An equation that breaks a limit in a small part of its domain, and the limit."""
    d = int(rng.integers(1, 4))
    names = [f"x{i}" for i in range(d)]
    where = dict.fromkeys(names, (-1.0, 1.0))
    place, width = rng.uniform(-0.9, 0.9, d), 10.0 ** rng.uniform(-2.5, -0.5)
    ball = " + ".join(
        f"(({n} - {p:.6f})/{width:.5f})**2" for n, p in zip(names, place, strict=True)
    )
    bump = f"exp(-({ball}))"
    kind = rng.integers(4)
    rest = " - ".join(
        f"{rng.uniform(0, 1):.3f}*({n} - {p:.6f})**2" for n, p in zip(names, place, strict=True)
    )
    if kind == 0:  # a bump pierces the bound
        return f"{rng.uniform(1.02, 2):.4f}*{bump} - {rest}", where, Limit("at most", value=1.0)
    slope = rng.uniform(0.05, 0.8) * 0.857 / width  # the steepest part of a bump is 0.857/width
    if kind == 1:
        return f"{slope:.6f}*x0 + {bump}", where, Limit("increasing", "x0")
    if kind == 2:
        return f"{bump} - {slope:.6f}*x0", where, Limit("decreasing", "x0")
    curve = rng.uniform(0.05, 0.8) / width**2  # its curvature in the middle is -2/width²
    return f"{curve:.6f}*x0**2 + {bump}", where, Limit("convex", "x0")


def planted(n: int, seed: int) -> None:
    """Print how many planted poles and breaks are refuted, left open, or wrongly proved."""
    print(f"planted: {n} poles and {n} broken limits, seed {seed}; {machine()}")
    rng = np.random.default_rng(seed)
    for what in ("poles", "limits"):
        verdicts, seconds = Counter[str](), []
        for _ in range(n):
            start = time.process_time()
            if what == "poles":
                text, domain = planted_pole(rng)
                found = prove(Expression.parse(text, tuple(domain)), domain).safe
            else:
                text, domain, limit = planted_break(rng)
                e = Expression.parse(text, tuple(domain))
                found = prove(e, domain, [limit]).limits[limit.text]
            seconds.append(time.process_time() - start)
            verdicts[{True: "PROVED", False: "refuted", None: "open"}[found]] += 1
            if found:
                print(f"    wrongly proved: {text}")
        print(
            f"  {what}: {dict(verdicts)}; median {np.median(seconds):.3f} s, "
            f"largest {max(seconds):.2f} s"
        )


# --- shapes --------------------------------------------------------------------------------------

SHAPED: tuple[tuple[str, dict[str, tuple[float, float]], dict[str, object]], ...] = (
    ("3*sqrt(x) + 0.5*y", {"x": (0.0, 4.0), "y": (0.0, 2.0)},
     {"increasing": ["x", "y"], "concave": ["x"], "sign": "positive"}),
    ("5*exp(-0.7*x) + y", {"x": (0.0, 4.0), "y": (0.0, 2.0)},
     {"decreasing": ["x"], "increasing": ["y"], "convex": ["x"], "bounds": [0, 8]}),
    ("4*x/(x + 1.5)", {"x": (0.0, 6.0)},
     {"increasing": ["x"], "concave": ["x"], "bounds": [0, 5]}),
    ("x**2 + 0.5*x*y + 1", {"x": (0.0, 3.0), "y": (0.0, 3.0)},
     {"increasing": ["x", "y"], "convex": ["x"], "sign": "positive"}),
    ("2*log(x + 1) - 0.3*y**2", {"x": (0.0, 8.0), "y": (0.0, 2.0)},
     {"increasing": ["x"], "decreasing": ["y"], "concave": ["x", "y"]}),
    ("x*y/(1 + x)", {"x": (0.0, 5.0), "y": (0.0, 3.0)},
     {"increasing": ["x", "y"], "at": {"x": {0: 0}}, "bounds": [0, 3]}),
    ("3*cos(x) + 0.2*y", {"x": (-2.0, 2.0), "y": (0.0, 3.0)},
     {"even": ["x"], "increasing": ["y"]}),
    ("x**3 - 0.5*x", {"x": (-2.0, 2.0)}, {"odd": ["x"]}),
    ("1/(0.3 + x) + 0.4*y", {"x": (0.0, 3.0), "y": (0.0, 2.0)},
     {"decreasing": ["x"], "convex": ["x"], "increasing": ["y"], "bounds": [0, 6]}),
    ("exp(0.5*x)*sqrt(y + 0.2)", {"x": (0.0, 3.0), "y": (0.0, 4.0)},
     {"increasing": ["x", "y"], "convex": ["x"], "concave": ["y"], "sign": "positive"}),
)  # fmt: skip
"""Truth, domain and shape of each problem."""
TEST_ROWS = 2_000


def shapes(n: int, trainings: int, seed: int, rows: int, noise: float) -> None:
    """Print, for problems whose truths have a shape, what keeping to it costs.

    The noise is a part of the spread.
    """
    print(
        f"shapes: {n} problems of {rows} rows, noise {noise:g} of the spread, {trainings} "
        f"trainings, seed {seed}; {machine()}"
    )
    ratios = []
    for text, domain, shape in SHAPED[:n]:
        rng = np.random.default_rng(seed)
        truth = Expression.parse(text, tuple(domain))
        lower, upper = np.array(list(domain.values())).T
        X, test = (rng.uniform(lower, upper, (m, len(lower))) for m in (rows, TEST_ROWS))
        exact = truth.evaluate(X)[:, 0]
        y = exact + rng.normal(0, noise * exact.std(), rows)
        limits = Shape.of(shape).limits
        errors, seconds, wrong = [], [], []
        for prior in ({}, {"shape": shape}):
            start = time.perf_counter()
            model = IEQLRegressor(
                prior=prior, domain=list(domain.values()), max_trainings=trainings, max_time=None,
                n_jobs=1, random_state=seed,
            )  # fmt: skip
            named = {f"x{i}": name for i, name in enumerate(domain)}
            model.fit(frame(X, named.values()), y)
            seconds.append(time.perf_counter() - start)
            predicted = model.predict(frame(test, named.values()))
            errors.append(float(np.sqrt(np.mean((predicted - truth.evaluate(test)[:, 0]) ** 2))))
            proofs = [prove(c.expression, domain, limits) for c in model.fronts_[0]]
            wrong.append(sum(any(v is False for v in p.limits.values()) for p in proofs))
            last: list[Proof] = proofs
        # Noise alone moves constants that much: a smaller difference is none.
        floor = noise * exact.std() * np.sqrt(3 / rows)
        ratios.append(max(errors[1], floor) / max(errors[0], floor))
        n_open = sum(any(v is None for v in p.limits.values()) for p in last)
        print(
            f"  {text:28} error {errors[0]:.4g} -> {errors[1]:.4g} (x{ratios[-1]:.2f}); on the "
            f"front {wrong[0]} -> {wrong[1]} break it, {len(last) - wrong[1] - n_open} proved, "
            f"{n_open} open; {seconds[0]:.1f} -> {seconds[1]:.1f} s"
        )
    within = sum(r <= 1.1 for r in ratios)
    print(f"  within 10 % of the free fit: {within} of {len(ratios)}; largest x{max(ratios):.2f}")


def frame(X: np.ndarray, names: Iterator[str]) -> object:
    import pandas as pd

    return pd.DataFrame(X, columns=list(names))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=("fronts", "planted", "shapes"))
    parser.add_argument("--n", type=int, default=10, help="problems, or planted equations")
    parser.add_argument("--trainings", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=150, help="of a problem with a shape")
    parser.add_argument("--noise", type=float, default=0.05, help="in those, of the spread")
    parser.add_argument("--suites", nargs="+", default=["random", "paper", "small"])
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.part == "fronts":
        fronts(asked.n, asked.trainings, asked.seed, tuple(asked.suites))
    elif asked.part == "planted":
        planted(asked.n, asked.seed)
    else:
        shapes(asked.n, asked.trainings, asked.seed, asked.rows, asked.noise)


if __name__ == "__main__":
    main()
