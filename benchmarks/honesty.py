"""Whether the numbers hold that are printed beside an equation.

``coverage``: ten structures with constants that are not round, each fitted to many draws of noise
from a perturbed start, all the way to the equation as it is shown: how often does a constant ±
1.96 standard errors hold the true one? ``errors``: fits to tables of 40, 100 and 1,000 rows of
random equations, and of pure noise: the error on fresh rows over the validation error that was
reported, for the selected equation and for the one with the least validation error. ``intervals``:
random equations with plain and with heteroscedastic noise, on 100 and on 30 rows: how often does
the interval of a level hold a fresh row? Their structures are known, and only the constants are
fitted, all the way to the equation as it is shown; with ``--search`` the structures are searched.

    python benchmarks/honesty.py coverage --draws 300
    python benchmarks/honesty.py errors --problems 20 --trainings 24 --out errors.json
    python benchmarks/honesty.py intervals --problems 200
    python benchmarks/honesty.py intervals --search --problems 50 --time 20 --out intervals.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import warnings
from pathlib import Path

import numpy as np

from ieql import IEQLRegressor
from ieql.data.dataset import Scaling
from ieql.data.sample import Sample
from ieql.equations.expression import Expression
from ieql.equations.finish import finish
from ieql.equations.program import free_constants
from ieql.equations.simplify import gauge
from ieql.equations.standard_form import standard_form
from ieql.prior import Prior
from random_equations import equations

NAMES = ("x", "y")
LOW, HIGH = 0.5, 3.5
STRUCTURES = (
    "2.137*x + 0.4718",
    "1.731*x**2 - 0.8137*y + 3.219",
    "2.417*exp(-0.6931*x) + 0.3117",
    "3.142*x/(x + 1.273)",
    "1.413*cos(2.237*x + 0.3719) + 0.5171*y",
    "0.8317*sqrt(x + 0.3719) + 0.2713*y**2",
    "1.713*log(x + 0.7131) - 0.3713*x*y",
    "2.371*exp(-0.4713*x)*y + 1.137",
    "(1.137*x + 2.371)/(y + 0.5137)",
    "0.7313*x*y**2 + 1.317*cos(1.713*y) - 0.4137*x",
)
"""Constants that no rounding would hit by chance."""


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} CPUs; Python {platform.python_version()}"


def coverage(draws: int, rows: int, noise: float) -> None:
    """Print the coverage of ± 1.96 standard errors for each structure and over all."""
    prior = Prior.of({"prohibit": []})
    points = np.random.default_rng(1).uniform(LOW, HIGH, (2, 2000))
    one, none = Scaling(np.zeros(1), np.ones(1)), Scaling(np.zeros(2), np.ones(2))
    held, held_precise, asked = [], [], []
    print(f"coverage: {draws} draws of {rows} rows, noise {noise:g} of the spread; {machine()}")
    for k, text in enumerate(STRUCTURES):
        # As it is shown, with scales that cancel in one place.
        truth = standard_form(gauge(Expression.parse(text, NAMES)), points.T, prior)
        inside = inside_precise = total = same = 0
        for draw in range(draws):
            rng = np.random.default_rng([k, draw])
            XT = rng.uniform(LOW, HIGH, (2, rows))
            exact = truth.evaluate(XT.T)[:, 0]
            sample = Sample(XT, exact + noise * exact.std() * rng.normal(size=rows), np.ones(rows))
            theta = truth.constants()
            free = free_constants(truth)
            theta[free] *= 1 + 0.05 * rng.normal(size=len(free))
            found = finish(truth.with_constants(theta), none, one, sample, points, prior)
            if found is None or found.expression.skeleton != truth.skeleton:
                continue
            same += 1
            errors = np.array(found.standard_errors)[free]
            for e, is_shown in ((found.expression, True), (found.precise, False)):
                z = (e.constants() - truth.constants())[free] / errors
                n = int(np.sum(np.abs(z) <= 1.96))
                inside, inside_precise = inside + n * is_shown, inside_precise + n * (not is_shown)
            total += len(free)
        held.append(inside), held_precise.append(inside_precise), asked.append(total)
        share = f"{inside / total:.3f} (all digits {inside_precise / total:.3f})" if total else "-"
        print(f"  {share}  in {same} of {draws} draws the same structure: {text}", flush=True)
    print(
        f"  all: {sum(held) / sum(asked):.3f} as shown, {sum(held_precise) / sum(asked):.3f} with "
        f"all digits, of {sum(asked):,} constants"
    )


def errors(
    n_problems: int, sizes: list[int], trainings: int, seconds: float, out: Path | None
) -> None:
    """Print medians of fresh over reported errors; a file keeps each fit, and is gone on with."""
    done = json.loads(out.read_text()) if out is not None and out.exists() else {}
    print(
        f"errors: {n_problems} problems, at most {trainings} trainings, {seconds:g} s; {machine()}"
    )
    for noise in (0.1, None):
        for rows in sizes:
            ratios = []
            for k, equation in zip(range(n_problems), equations(5, n_relevant=None), strict=False):
                key = f"{equation.name}/{rows}/{noise}"
                if key not in done:
                    done[key] = _ratios(equation, rows, noise, k, trainings, seconds)
                    if out is not None:
                        out.write_text(json.dumps(done, indent=1))
                ratios.append(done[key])
            selected, best = np.nan_to_num([r[:2] for r in ratios], nan=np.inf).T
            kind = "pure noise" if noise is None else f"noise {noise:g} of the spread"
            print(
                f"  {rows:5d} rows, {kind}: fresh over reported, median {np.median(selected):.2f} "
                f"(quartiles {np.quantile(selected, 0.25):.2f}, {np.quantile(selected, 0.75):.2f}; "
                f"largest {selected.max():.1f}) for the selected equation, {np.median(best):.2f} "
                f"for the front's best; {sum(r[2] for r in ratios)} constants selected",
                flush=True,
            )


def _ratios(equation, rows, noise, seed, trainings, seconds):
    rng = np.random.default_rng([7, seed])
    low, high = np.array(list(equation.ranges.values()), dtype=float).T
    X = rng.uniform(low, high, (rows + 4000, len(low)))
    exact = Expression.parse(equation.formula, list(equation.ranges)).evaluate(X)[:, 0]
    y = (
        rng.normal(size=len(X))
        if noise is None
        else exact + noise * exact.std() * rng.normal(size=len(X))
    )
    model = IEQLRegressor(max_trainings=trainings, max_time=seconds, n_jobs=1, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:rows], y[:rows])
        table = model.equations_
        reported = table["rmse_validation"].to_numpy()
        chosen = int(np.flatnonzero(table["selected"])[0])
        best = int(np.argmin(reported))
        fresh = [
            float(np.sqrt(np.mean((model.predict(X[rows:], index=k) - y[rows:]) ** 2)))
            for k in (chosen, best)
        ]
    return [fresh[0] / reported[chosen], fresh[1] / reported[best], chosen == 0]


GROUPS = {
    "plain, 100 rows": (100, False),
    "heteroscedastic, 100 rows": (100, True),
    "plain, 30 rows": (30, False),
    "heteroscedastic, 30 rows": (30, True),
}
"""Number of rows, and whether the noise depends on where a row lies."""
FRESH = 2000
ROWS_PER_CONSTANT = 4
"""A structure with more constants is none for so few rows."""


def intervals(
    n_problems: int,
    level: float,
    noise: float,
    search: tuple[int, float] | None,
    groups: str,
    out: Path | None,
) -> None:
    """Print how often intervals hold fresh rows, per group; a file keeps each fit."""
    done = json.loads(out.read_text()) if out is not None and out.exists() else {}
    how = f"searches of {search[1]:g} s" if search else "known structures"
    print(f"intervals of {level:g}: {n_problems} problems, {how}, noise {noise:g}; {machine()}")
    for group, (rows, uneven) in GROUPS.items():
        if groups not in group:
            continue
        found = []
        for k, (name, truth, ranges) in enumerate(_truths(rows)):
            if len(found) == n_problems:
                break
            key = f"{name}/{group}/{level}/{noise}/{search}"
            if key not in done:
                seed = np.random.default_rng([11, k, rows, uneven])
                problem = _drawn(truth, ranges, rows, uneven, noise, seed)
                done[key] = _held(truth, problem, rows, level, k, search)
                if out is not None:
                    out.write_text(json.dumps(done, indent=1))
            if done[key] is not None:
                found.append([np.nan if x is None else x for x in done[key]])
        table = np.array(found)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a column without any number
            inside, quiet, noisy, outside, *_ = np.nanmean(table, axis=0)
            width = np.nanmedian(table[:, 5])
            # Every constant counts alike, not every problem.
            n_constants = float(table[:, 6].sum())
            constants = np.nansum(table[:, 4] * table[:, 6]) / max(n_constants, 1.0)
            spread = table[:, 0].std()
        print(
            f"  {group}: inside the data {inside:.3f} (± {spread:.3f} over the problems; quieter "
            f"half {quiet:.3f}, noisier half {noisy:.3f}), 30 % outside {outside:.3f}, constants "
            f"± 1.96 standard errors {constants:.3f} of {n_constants:.0f}; width over that of the "
            f"noise alone, median "
            f"{width:.2f}",
            flush=True,
        )


def _truths(rows):
    """Random equations with constants that are not round, few enough for the rows."""
    for equation in equations(9, n_relevant=None):
        truth = gauge(Expression.parse(equation.formula, list(equation.ranges)))
        free = free_constants(truth)
        if len(free) * ROWS_PER_CONSTANT <= rows:
            rng = np.random.default_rng([3, *map(ord, equation.name)])
            low, high = np.array(list(equation.ranges.values()), dtype=float).T
            theta = truth.constants()
            theta[free] *= rng.uniform(0.75, 1.3, len(free))
            truth = truth.with_constants(theta)
            if np.all(np.isfinite(truth.evaluate(rng.uniform(low, high, (FRESH, len(low)))))):
                yield equation.name, truth, equation.ranges


def _drawn(truth, ranges, rows, uneven, noise, rng):
    """Inputs, targets and noise levels: those to fit, as many as asked for, and fresh ones.

    The last rows lie outside the data, by up to 30 % of the range on either side.
    """
    low, high = np.array(list(ranges.values()), dtype=float).T
    X = rng.uniform(low, high, (rows + 2 * FRESH, len(low)))
    side = rng.choice([-1.0, 1.0], (FRESH, len(low)))
    beyond = np.where(side > 0, high, low) + side * rng.uniform(0, 0.3, side.shape) * (high - low)
    one = rng.integers(len(low), size=FRESH)
    X[rows + FRESH :] = np.where(np.arange(len(low)) == one[:, None], beyond, X[rows + FRESH :])
    exact = truth.evaluate(X)[:, 0]
    spread = np.nanstd(exact[:rows])
    size = np.full(len(X), noise * spread)
    if uneven:
        # In proportion to the value, to an input, or growing exponentially with one.
        x = (X[:, rng.integers(len(low))] - low.min()) / (high.max() - low.min())
        law = rng.integers(3)
        relative = [np.abs(exact) / spread, 0.1 + np.abs(x), np.exp(2.0 * x)][law]
        size = size * relative / np.sqrt(np.mean(relative[:rows] ** 2))
    return X, exact + size * rng.normal(size=len(X)), size


def _held(truth, problem, rows, level, seed, search):
    """Shares of rows and constants that lie where they are said to; None if there is no fit."""
    X, y, size = problem
    found = (_searched if search else _refitted)(truth, X[:rows], y[:rows], seed, search)
    if found is None:
        return None
    ends, constants = found
    low, high = ends(X[rows:], level).T
    inside = (low <= y[rows:]) & (y[rows:] <= high)
    fresh, beyond = np.arange(len(inside)) < FRESH, np.isfinite(low) & np.isfinite(y[rows:])
    noisy = size[rows:] > np.median(size[rows : rows + FRESH])
    shares = [inside[fresh & part].mean() for part in (True, ~noisy, noisy) if np.any(fresh & part)]
    shares = [shares[0], *(shares[1:] if len(shares) == 3 else [np.nan] * 2)]
    held, counted = (np.nan, 0) if constants is None else constants
    shares += [inside[~fresh & beyond].mean(), held]
    known = 2 * _normal_quantile(level) * size[rows : rows + FRESH].mean()
    shares += [np.mean(high[:FRESH] - low[:FRESH]) / known, counted]
    return [float(x) if np.isfinite(x) else None for x in shares]


def _normal_quantile(level):
    from scipy.special import ndtri

    return float(ndtri(0.5 + 0.5 * level))


def _refitted(truth, X, y, seed, _):
    """Interval of the equation whose structure is known, and the share of constants held."""
    rng = np.random.default_rng([5, seed])
    d = X.shape[1]
    points = rng.uniform(X.min(axis=0), X.max(axis=0), (2000, d)).T.copy()
    # As it would be shown: else hardly any has constants to compare.
    truth = standard_form(truth, X, Prior.of({"prohibit": []}))
    free = free_constants(truth)
    theta = truth.constants()
    theta[free] *= 1 + 0.02 * rng.normal(size=len(free))
    one, none = Scaling(np.zeros(1), np.ones(1)), Scaling(np.zeros(d), np.ones(d))
    sample = Sample(np.ascontiguousarray(X.T), y, np.ones(len(y)))
    with np.errstate(all="ignore"):
        found = finish(
            truth.with_constants(theta), none, one, sample, points, Prior.of({"prohibit": []})
        )
    if found is None or found.band is None:
        return None

    def ends(X, level):
        value = found.expression.evaluate(X)[:, 0]
        half = found.band.half_width(found.precise, X, value, level)
        return np.column_stack([value - half, value + half])

    # Where the rows did not ask for an offset, and it was dropped, the others mean something else.
    same = np.array_equal(free_constants(found.expression), free)
    if found.expression.skeleton != truth.skeleton or not same:
        return ends, None
    errors = np.array(found.standard_errors)[free]
    distance = np.abs(found.expression.constants() - truth.constants())[free]
    return ends, (float(np.mean(distance <= 1.96 * errors)), len(free))


def _searched(truth, X, y, seed, search):
    """Interval of the equation that a search selects."""
    trainings, seconds = search
    model = IEQLRegressor(max_trainings=trainings, max_time=seconds, n_jobs=1, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    if model.fitted_.candidate().band is None:
        return None
    return model.fitted_.predict_interval, None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("coverage", "errors", "intervals"))
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--rows", type=int, default=80)
    parser.add_argument("--noise", type=float, default=0.05)
    parser.add_argument("--level", type=float, default=0.9, help="of intervals")
    parser.add_argument("--search", action="store_true", help="search structures for intervals")
    parser.add_argument("--groups", default="", help="part of a group's name, such as '30 rows'")
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--sizes", type=int, nargs="+", default=[40, 100, 1000])
    parser.add_argument("--trainings", type=int, default=24)
    parser.add_argument("--time", type=float, default=20.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.what == "coverage":
        coverage(options.draws, options.rows, options.noise)
    elif options.what == "intervals":
        search = (options.trainings, options.time) if options.search else None
        intervals(
            options.problems, options.level, options.noise, search, options.groups, options.out
        )
    else:
        errors(options.problems, options.sizes, options.trainings, options.time, options.out)


if __name__ == "__main__":
    main()
