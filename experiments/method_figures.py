"""Figures of the method: architecture, slices, relaxation, gates, selection, printed equations.

These are the paper's figures "Exemplary setup of the iEQL", "dataset_contour",
"divergence_relaxation", "l0_plots" and "f", and the appendix "Different Combustion engine
Equations". Every formula is the library's own. Figures are drawn from the stored parts and from
equations alone; only the architecture and the selection on S0 learn anything.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from experiments import architecture_figure
from experiments.budget import Budget
from experiments.store import Part, Store
from experiments.sweeping import largest_budget
from ieql import IEQLRegressor
from ieql.equations.expression import Expression, Sum
from ieql.network import Network
from ieql.prior import PRESETS
from ieql.problems import Problem, load_problem
from ieql.report.figures import LIVE, OUTSIDE, SHADE, draw_pareto
from ieql.report.views import Slice, slice_through
from ieql.selection import Candidate
from ieql.training.paper import gates, objective

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["analysis", "degree", "run", "section"]

Array = NDArray[np.float64]

SLICES = ("S0", "S1", "S2", "S3", "S4", "S5", "S6", "A1", "A2", "A3", "A4")
PAIRS = dict.fromkeys(SLICES, ("x1", "x2")) | {"A4": ("x1", "x4")}
"""The two inputs a slice shows, chosen by eye for the most non-linear parts of each equation.

They are not always the two that explain most of the variance: in S2, S6 and A4 others do.
"""
ALPHAS = (0.1, 0.25, 0.5, 1.0)
"""Relaxations that are drawn; the paper does not say which are in its figure."""
GRID = 81
"""Points of a slice in each direction."""
GATE_SAMPLES = 10_000
SWEEP_ROWS = 3000
"""Rows for the paper's training, of which an epoch takes as long as it has rows."""
ERRORS = ("rmse_train", "rmse_validation", "rmse_extrapolation")
CLEARLY = 1.5
"""A validation error so many times another one is not at the level of the noise."""
PRINTED_DENSITIES = {
    0.0101989898989899: (2.85074098308389, 0.976122080635324),
    0.202079797979798: (0.844044853224415, 0.648065722444212),
    0.494950505050505: (0.666704443302742, 0.555577416555316),
    0.898910101010101: (1.12433805480575, 0.757907441326024),
}
"""Of the paper's figure "l0_plots" (a): z to the concrete and the hard concrete density."""
PRINTED_SELECTION = {
    "too simple": (5, 0.1594),
    "selected": (7, 0.0098),
    "too complex": (75, 0.0102),
}
"""Of the paper's figure "f": complexity, and the lowest validation error that stands there."""
PRINTED = {
    "engine_motor_simple": {
        "title": "motor simple", "n_parameters": 15, "degree": 8, "numbers": 23,
    },
    "engine_motor_median": {
        "title": "motor median", "n_parameters": 32, "degree": 7, "numbers": 43,
        "complexity_motor": 55,
    },
    "engine_plain_simple": {
        "title": "plain simple", "n_parameters": 42, "degree": 4, "numbers": 56,
    },
    "engine": {
        "title": "plain median", "n_parameters": 79, "degree": 4, "numbers": 101,
    },
}  # fmt: skip
"""Table "ieql_eqs", degrees, and the one complexity that is known (figure "R2_pareto").

``numbers`` is how many numbers the printed equation has, each substitution c_1 … counted once.
"""
# Okabe and Ito's colours, from dark to light, so that the order remains when printed grey.
COLOURS = ("#000000", "#0072b2", "#d55e00", "#56b4e9", "#e69f00")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (3, 1, 1, 1)), (0, (1, 1)))


def run(store: Store, budget: Budget) -> None:
    """Make all parts that are not there yet, and draw all figures from them.

    Parameters
    ----------
    store : Store
        Where the results are.
    budget : Budget
        Rows, seconds and processes of the two fits on S0; the rest is cheap.
    """
    network = store.part("architecture", budget, architecture_figure.learned, budget)
    store.csv("architecture", network["outputs"])
    store.figure("architecture", architecture_figure.draw(network))
    slices = store.part("slices", budget, _slices)
    store.csv("slices", slices["panels"])
    store.figure("slices", _draw_slices(slices))
    relaxation = store.part("relaxation", budget, _relaxation)
    store.csv("relaxation", relaxation["limits"])
    store.figure("relaxation", _draw_relaxation(relaxation))
    found = store.part("gates", budget, _gates)
    store.csv("gates", _columns(found["expectation"]))
    store.figure("gates", _draw_gates(found))
    sweeps = Store(store.folder, "paper_sweeps")
    selection = store.part("selection_s0", budget, _selection, budget, sweeps)
    store.csv("selection_s0", [*selection["front"], *selection["sweep"]])
    store.figure("selection_s0", _draw_selection(selection))
    parts = [store.part(f"printed_equations/{name}", budget, _printed, name) for name in PRINTED]
    store.csv("printed_equations", [_flat(p) for p in parts])


def _figure(
    rows: int, columns: int, size: tuple[float, float], layout: Any = "constrained"
) -> tuple[Figure, Sequence[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout=layout)
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, list(axes)


def _columns(table: Mapping[str, Sequence[float]]) -> list[dict[str, float]]:
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


# --- slices through the simulated equations (figure "dataset_contour") ---------------------------


def _slices() -> Part:
    """For each problem the inputs that are shown, their share, and where the others are held."""
    panels = []
    for name in SLICES:
        problem = load_problem(name)
        x, y = PAIRS[name]
        low, high = _train_box(problem)
        panels.append(
            {
                "problem": name, "x": x, "y": y,
                "share": _share(problem, PAIRS[name]), "others_at": (low + high) / 2,
                "train_low": low, "train_high": high,
                "test_low": problem.domain[x][0], "test_high": problem.domain[x][1],
            }
        )  # fmt: skip
    return {"panels": panels}


def _train_box(problem: Problem) -> tuple[float, float]:
    """The ends of the train domain, the same for each input.

    The extremes of 10,000 uniform rows nearly reach them, so that rounding gives them exactly.
    """
    X = problem.X.to_numpy()
    return round(float(X.min()), 1) + 0.0, round(float(X.max()), 1) + 0.0


def _share(problem: Problem, pair: tuple[str, str]) -> float:
    """How much of the variance over the train domain two inputs explain: Var(E[f | pair]) / Var(f).

    E is over the other inputs, of 64 rows.
    """
    X_train = problem.X.to_numpy()
    low, high = X_train.min(axis=0), X_train.max(axis=0)
    X = np.repeat(X_train[None, :64], 24 * 24, axis=0)
    columns = [problem.feature_names.index(name) for name in pair]
    grids = np.meshgrid(*(np.linspace(low[c], high[c], 24) for c in columns))
    for column, grid in zip(columns, grids, strict=True):
        X[:, :, column] = grid.reshape(-1, 1)
    values = problem.truth.evaluate(X.reshape(-1, X.shape[2])).reshape(-1, 64)
    spread = np.var(problem.truth.evaluate(X_train)[:, 0])
    return min(float(np.var(values.mean(axis=1)) / spread), 1.0)


def _draw_slices(part: Part) -> Figure:
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import MaxNLocator

    # Panels of one size need no layout to be worked out, which here takes seconds.
    figure, axes = _figure(3, 4, (12, 7.6), layout=None)
    figure.subplots_adjust(left=0.05, right=0.93, bottom=0.05, top=0.97, wspace=0.85, hspace=0.4)
    for ax, panel in itertools.zip_longest(axes, part["panels"]):
        if panel is None:
            ax.set_axis_off()
            _explain_slices(ax)
            continue
        problem = load_problem(panel["problem"])
        steps = np.linspace(panel["test_low"], panel["test_high"], GRID)
        X = np.full((GRID * GRID, len(problem.feature_names)), panel["others_at"])
        for name, grid in zip((panel["x"], panel["y"]), np.meshgrid(steps, steps), strict=True):
            X[:, problem.feature_names.index(name)] = grid.ravel()
        values = problem.truth.evaluate(X)[:, 0].reshape(GRID, GRID)
        drawn = ax.contourf(steps, steps, values, levels=14, cmap="cividis")
        drawn.set_rasterized(True)  # as paths the file would have megabytes
        # Lines at the deciles show the shape where one colour covers most of the panel.
        deciles = np.unique(np.quantile(values, np.linspace(0.1, 0.9, 9)).round(3))
        ax.contour(
            steps, steps, values, levels=deciles, colors="white", linewidths=0.5, linestyles="-",
            alpha=0.6,
        )  # fmt: skip
        bar = figure.colorbar(drawn, cax=ax.inset_axes((1.05, 0.0, 0.06, 1.0)))
        bar.set_ticks(MaxNLocator(4))
        corner, side = panel["train_low"], panel["train_high"] - panel["train_low"]
        # A white rim keeps the black rectangle visible on the dark end of the scale.
        for colour, width in (("white", 4.0), ("black", 2.0)):
            box = Rectangle((corner, corner), side, side, fill=False, ec=colour, lw=width, zorder=3)
            box.set_clip_on(False)
            ax.add_patch(box)
        ax.set(title=panel["problem"], xlabel=_symbol(panel["x"]), ylabel=_symbol(panel["y"]))
        ax.set_aspect("equal")
        ax.locator_params(nbins=5)
    return figure


def _explain_slices(ax: Axes) -> None:
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((0.02, 0.66), 0.1, 0.1, fill=False, lw=2))
    ax.set_aspect("equal")
    ax.text(0.18, 0.71, "train domain", va="center")
    ax.text(
        0.02, 0.52, "A panel is the test domain,\nwhite lines are at the deciles.\n"
        "Other inputs are in the\nmiddle of the train domain.", va="top", linespacing=1.4,
    )  # fmt: skip


def _symbol(name: str) -> str:
    """A name such as x1 as a formula."""
    return f"$x_{{{name[1:]}}}$"


# --- relaxation of singular units (equation "divergences_relaxation") ----------------------------


def _relaxation() -> Part:
    """Division and logarithm, as the paper's trainer evaluates them, for several α."""
    z = np.concatenate([np.linspace(-1.0, 0.0, 51), [1e-9], np.linspace(0.005, 2.0, 400)])
    curves = {
        unit: {f"{alpha:g}": _relaxed_unit(unit, alpha, z) for alpha in ALPHAS}
        for unit in ("div", "log")
    }
    limits = [
        {
            "alpha": alpha,
            "largest_division": float(np.max(np.abs(curves["div"][f"{alpha:g}"]))),
            # Of the first point beyond 0, next to which rounding shows at α = 1.
            "largest_logarithm_near_0": round(abs(float(curves["log"][f"{alpha:g}"][51])), 6),
            "division_for_z_up_to_0": float(np.max(np.abs(curves["div"][f"{alpha:g}"][:51]))),
            "logarithm_for_z_up_to_0": float(np.max(np.abs(curves["log"][f"{alpha:g}"][:51]))),
        }
        for alpha in ALPHAS
    ]
    return {"z": z, "curves": curves, "limits": limits}


def _relaxed_unit(name: str, alpha: float, z: Array) -> Array:
    """Values of one unit of z in a network that has nothing else, through `objective.forward`."""
    prior = PRESETS["plain"]
    unit = prior.unit(name)
    network = Network(("z",), ((unit,),), prior)
    W = np.zeros((network.n_args, network.n_sources))
    # Columns are the constant one, z and the unit; a division has 1 as its first argument.
    W[: unit.arity - 1, 0] = 1.0
    W[unit.arity - 1, 1] = 1.0
    W[network.layer_rows[-1], 2] = 1.0
    Z = objective.forward(network, W, np.full(network.n_args, alpha), z[None])[1]
    return np.asarray(Z[network.layer_rows[-1]][0], dtype=np.float64)


def _draw_relaxation(part: Part) -> Figure:
    figure, axes = _figure(1, 2, (9.5, 3.6))
    z = np.array(part["z"])
    right = z > 0.0
    labels = (("div", "relaxed $1/z$", (-0.8, 10.8)), ("log", r"relaxed $\log\,z$", (-2.6, 1.3)))
    for ax, (unit, label, limits) in zip(axes, labels, strict=True):
        honest = PRESETS["plain"].unit(unit)
        ones = [np.ones(right.sum())] * (honest.arity - 1)
        ax.axvline(0.0, color="0.8", lw=1, zorder=0)
        ax.plot(z[right], honest(*ones, z[right]), color="0.6", lw=1, label="not relaxed")
        for alpha, colour, dash in zip(ALPHAS, COLOURS[1:], DASHES, strict=True):
            y = np.array(part["curves"][unit][f"{alpha:g}"])
            ax.plot(z[right], y[right], color=colour, ls=dash, lw=2, label=rf"$\alpha={alpha:g}$")
            ax.plot(0.0, y[right][0], "o", mfc="white", mec=colour, ms=5, zorder=4)
        # For z <= 0 every relaxed unit is zero, whatever α is.
        ax.plot(z[~right], y[~right], color="black", lw=2.5, label=r"any $\alpha$, $z\leq 0$")
        ax.plot(0.0, 0.0, "o", color="black", ms=5, zorder=5)
        ax.set(xlabel="$z$", ylabel=label, ylim=limits, xlim=(-1.0, 2.0))
    axes[0].legend(frameon=False, fontsize="small")
    return figure


# --- gates (figure "l0_plots") -------------------------------------------------------------------


def _gates() -> Part:
    """Densities at log α = 0, point masses, and expectations over log α with and without noise."""
    z, still = np.linspace(0.002, 0.998, 250), np.zeros(1)
    u = np.random.default_rng(0).uniform(size=(GATE_SAMPLES, 1))
    log_alpha = np.linspace(-6.0, 6.0, 61)
    printed = np.array(list(PRINTED_DENSITIES))
    ours = np.stack([gates.concrete_density(printed, still), gates.density(printed, still)], axis=1)
    paper = np.array(list(PRINTED_DENSITIES.values()))
    closed, opened = gates.masses(still)
    return {
        "samples": GATE_SAMPLES,
        "density": {
            "z": z,
            "concrete": gates.concrete_density(z, still),
            "hard_concrete": gates.density(z, still),
        },
        "mass_at_0": closed[0],
        "mass_at_1": opened[0],
        "difference_from_printed": float(np.max(np.abs(ours / paper - 1.0))),
        "printed_points": len(printed),
        "expectation": {
            "log_alpha": log_alpha,
            "concrete": gates.concrete_sample(u, log_alpha).mean(axis=0),
            "hard_concrete": gates.sample(u, log_alpha).mean(axis=0),
            "concrete_without_noise": gates.concrete_deterministic(log_alpha),
            "hard_concrete_without_noise": gates.deterministic(log_alpha),
        },
    }


def _draw_gates(part: Part) -> Figure:
    figure, (left, right) = _figure(1, 2, (9.5, 3.6))
    soft, hard = COLOURS[1], COLOURS[2]
    z = part["density"]["z"]
    left.plot(z, part["density"]["concrete"], color=soft, lw=2, label="concrete")
    left.plot(
        z, part["density"]["hard_concrete"], color=hard, lw=2, ls=DASHES[1], label="hard concrete"
    )
    for at, mass, side in ((0, part["mass_at_0"], 1), (1, part["mass_at_1"], -1)):
        left.annotate(
            "", (at, 2.0), (at, 0.0),
            arrowprops={"arrowstyle": "-|>", "color": hard, "lw": 2.5, "shrinkA": 0, "shrinkB": 0},
        )  # fmt: skip
        left.text(
            at + 0.17 * side, 2.05, f"mass {mass:.3f}\nat exactly {at}", ha="center", color=hard
        )
    left.set(xlabel="$z$", ylabel="$p(z)$ at $\\log\\alpha=0$", ylim=(0, 3), xlim=(-0.05, 1.05))
    left.legend(frameon=False, loc="upper center")
    table = part["expectation"]
    for key, colour, dash, width in (
        ("concrete", soft, "-", 2),
        ("concrete_without_noise", soft, DASHES[3], 1.5),
        ("hard_concrete", hard, DASHES[1], 2),
        ("hard_concrete_without_noise", hard, DASHES[2], 1.5),
    ):
        label = key.replace("_", " ").replace(" without", ", without")
        right.plot(table["log_alpha"], table[key], color=colour, ls=dash, lw=width, label=label)
    right.set(xlabel=r"$\log\,\alpha$", ylabel=f"mean of {part['samples']:,} samples")
    right.legend(frameon=False, fontsize="small")
    return figure


# --- selection on S0 (figure "f") ----------------------------------------------------------------


def _selection(budget: Budget, sweeps: Store) -> Part:
    """Learn S0 and store the front, the models of the paper's training, and which three are shown.

    The fast search stops at what explains the data, so its front ends with the selected equation.
    Too complex equations come from the paper's own training, as they do in the paper, where each
    point is a model with another regularisation strength: V_int, which looks at the validation
    error alone, picks one of those that are more complex than the selected equation. They are the
    networks of a stored sweep as they were trained, or equations of a smaller one that is trained
    now.
    """
    problem = load_problem("S0")
    model = _fitted(problem, budget, budget.rows, budget.seconds)
    front = _front(model, "fast search")
    chosen = model.selected_[0]
    models, about = _swept(sweeps) or _trained_now(problem, budget)
    larger = [row for row in models if row["complexity"] > front[chosen]["complexity"]]
    too_simple = _too_simple(front, chosen)
    return {
        "noise": problem.noise,
        "rows": len(problem.X.iloc[: budget.rows]),
        "names": list(problem.feature_names),
        "train": list(_train_box(problem)),
        "test": list(problem.domain["x1"]),
        "others_at": 0.0,
        "n_extrapolation": 0 if problem.X_extrapolation is None else len(problem.X_extrapolation),
        "truth": problem.formula,
        "front": front,
        "selected": chosen,
        "more_complex_on_the_front": sum(
            row["complexity"] > front[chosen]["complexity"] for row in front
        ),
        "sweep": models,
        "sweep_about": about,
        "shown": {
            "too simple": too_simple,
            "selected": front[chosen],
            "too complex": min(larger or models, key=lambda row: float(row["rmse_validation"])),
        },
        "paper": PRINTED_SELECTION,
    }


def _swept(sweeps: Store) -> tuple[list[dict[str, Any]], str] | None:
    """The networks of the first complete sweep of S0 that can be written down, and what it is."""
    known = largest_budget(sweeps, "S0", "raw")
    if not known:
        return None
    columns = ("equation", "complexity", "n_parameters", *ERRORS)
    rows = [
        {"source": "the paper's training", **{name: row[name] for name in columns}}
        for row in known[0]["front"]
        if row["equation"] is not None
    ]
    about = f"the networks of run 0 of the budget {known[0]['budget']}, as they were trained"
    return sorted(rows, key=lambda row: float(row["complexity"])), about


def _trained_now(problem: Problem, budget: Budget) -> tuple[list[dict[str, Any]], str]:
    """The equations of a small sweep, and what it is."""
    rows = min(budget.rows or SWEEP_ROWS, SWEEP_ROWS)
    sweep = _fitted(problem, budget, rows, 2 * budget.seconds, trainer="paper")
    about = f"{sweep.stop_reason_}, {rows:,} rows, a smaller network than published"
    return _front(sweep, "the paper's training"), about


def _too_simple(front: Sequence[dict[str, Any]], chosen: int) -> dict[str, Any]:
    """The most exact equation that is simpler than the chosen one and clearly less exact."""
    best = front[chosen]
    simpler = [
        row
        for row in front
        if row["complexity"] < best["complexity"]
        and row["rmse_validation"] > CLEARLY * best["rmse_validation"]
    ]
    return min(simpler or front[:1], key=lambda row: float(row["rmse_validation"]))


def _fitted(
    problem: Problem, budget: Budget, rows: int | None, seconds: float, **settings: Any
) -> IEQLRegressor:
    model = IEQLRegressor(
        domain=problem.domain,
        selection="V_int&ex",
        max_time=seconds,
        max_trainings=budget.max_trainings,
        n_jobs=budget.n_jobs,
        random_state=0,
        **settings,
    )
    return model.fit(
        problem.X.iloc[:rows],
        problem.y.iloc[:rows],
        X_extrapolation=problem.X_extrapolation,
        y_extrapolation=problem.y_extrapolation,
    )


def _front(model: IEQLRegressor, source: str) -> list[dict[str, Any]]:
    table = model.equations_.drop(columns="selected").to_dict("records")
    return [{"source": source, **{str(k): v for k, v in row.items()}} for row in table]


def _candidate(row: Mapping[str, Any], names: Sequence[str]) -> Candidate:
    """A stored row as a candidate; an error that is missing was not finite."""
    errors: dict[str, Any] = {key: float("nan") if row[key] is None else row[key] for key in ERRORS}
    expression = Expression.parse(row["equation"], names)
    return Candidate(expression, row["complexity"], row["n_parameters"], **errors)


STYLES = {
    "too simple": ("#0072b2", (0, (4, 1.5, 1, 1.5))),
    "selected": (LIVE, (0, (1, 0.8))),
    "too complex": (OUTSIDE, (0, (5, 2))),
}


def _draw_selection(part: Part) -> Figure:
    figure, (left, right) = _figure(1, 2, (11, 4.0))
    names = part["names"]
    truth = _cut(Expression.parse(part["truth"], names), part)
    low, high = float(truth.y.min()), float(truth.y.max())
    reach = 0.9 * (high - low)
    left.axvspan(*part["train"], color=SHADE, lw=0, zorder=0)
    left.plot(truth.x, truth.y, color="0.75", lw=4, label="truth", zorder=1)
    for title, (colour, dash) in STYLES.items():
        cut = _cut(_candidate(part["shown"][title], names).expression, part)
        # What is far off the panel would only make the lines of the file long.
        y = np.clip(cut.y, low - 3 * reach, high + 3 * reach)
        left.plot(cut.x, y, color=colour, ls=dash, lw=2, label=title)
    left.set(xlabel="$x_1$", ylabel=f"$y$ at $x_2=x_3=x_4={part['others_at']:g}$")
    left.set(xlim=part["test"], ylim=(low - 0.5 * reach, high + reach))
    left.text(0.0, low - 0.42 * reach, "train domain", ha="center", color=LIVE)
    left.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    _draw_fronts(right, part)
    return figure


def _cut(expression: Expression, part: Part) -> Slice:
    centre = np.full(len(part["names"]), part["others_at"])
    return slice_through(expression, 0, centre, tuple(part["train"]), tuple(part["test"]))


def _draw_fronts(ax: Axes, part: Part) -> None:
    """The Pareto plot, with the models of the paper's training and the three equations marked."""
    names = part["names"]
    draw_pareto(ax, [_candidate(r, names) for r in part["front"]], part["selected"])
    x = np.array([row["complexity"] for row in part["sweep"]])
    y = np.array([row["rmse_validation"] for row in part["sweep"]])
    ax.scatter(x, y, marker="s", color="0.35", s=28, label="validation, paper's training", zorder=3)
    outside = np.array([row["rmse_extrapolation"] or np.inf for row in part["sweep"]])
    top = 8.0
    far = outside > top
    ax.scatter(x[~far], outside[~far], marker="D", fc="none", ec=OUTSIDE, zorder=2)
    ax.scatter(x[far], np.full(far.sum(), top), marker="^", color=OUTSIDE, zorder=2)
    for place, value in zip(x[far], outside[far], strict=True):
        text = f"{value:.0e}" if np.isfinite(value) else "not finite"
        ax.annotate(
            text, (place, top), (-8, 0), textcoords="offset points", ha="right", va="center",
            fontsize="small", color=OUTSIDE,
        )  # fmt: skip
    for title, (colour, dash) in STYLES.items():
        place = part["shown"][title]["complexity"]
        ax.axvline(place, color=colour, ls=dash, lw=2, zorder=0)
    ax.axhline(part["noise"], color="0.7", lw=1, zorder=0)
    ax.set_xscale("symlog", linthresh=1.0)
    ticks = [0, 1, 2, 5, 10, 20, 50, 100]
    ax.set_xticks(ticks, [str(t) for t in ticks], minor=False)
    ax.set_xticks([], minor=True)
    ax.set(yscale="log", ylim=(part["noise"] / 2, 2 * top), xlim=(-0.2, 1.5 * max([*x, 10.0])))
    ax.text(0.0, 1.06 * part["noise"], "noise", va="bottom", fontsize="small", color="0.4")
    ax.legend(frameon=False, fontsize="small", loc="lower left", bbox_to_anchor=(0.0, 0.16))


# --- the printed engine equations (table "ieql_eqs") ---------------------------------------------


def degree(expression: Expression) -> int:
    """The largest total degree of a polynomial in an equation, wherever it stands.

    Inputs have degree 1; a product adds, a square doubles. The value of any other unit counts as
    a variable of its own, of degree 1, and the polynomials in its arguments are looked at too.
    """
    degrees = [1] * len(expression.names)

    def of(s: Sum) -> int:
        return max((degrees[i] for i in s.sources), default=0)

    largest = 0
    for node in expression.nodes:
        args = [of(a) for a in node.args]
        largest = max(largest, *args)
        polynomial = {"mul": sum(args), "square": 2 * args[0]}
        degrees.append(polynomial.get(node.unit.name, 1))
    return max(largest, *(of(s) for s in expression.outputs))


def analysis(expression: Expression) -> dict[str, Any]:
    """Count what the appendix says of an equation.

    Returns
    -------
    dict
        ``degree`` of its polynomials, ``n_parameters``, ``unit_counts``, ``inner_units`` (those
        other than products and squares that stand inside another unit), ``depth``,
        ``complexity_plain`` and ``complexity_motor`` with the costs of table "complexity_units",
        and ``n_numbers``, weights and biases together.
    """
    d = len(expression.names)
    inside = {i - d for n in expression.nodes for a in n.args for i in a.sources if i >= d}
    inner = {expression.nodes[k].unit.name for k in inside} - {"mul", "square"}
    biases = sum(s.bias != 0.0 for s in expression.sums)
    return {
        "degree": degree(expression),
        "n_parameters": expression.n_parameters,
        "unit_counts": expression.unit_counts(),
        "inner_units": sorted(inner),
        "depth": expression.depth,
        "complexity_plain": expression.complexity(PRESETS["plain"]),
        "complexity_motor": expression.complexity(PRESETS["motor"]),
        "n_numbers": expression.n_parameters + biases,
    }


def _printed(name: str) -> Part:
    """One printed equation: ours beside the paper's counts, and why they differ."""
    found = analysis(load_problem(name).truth)
    paper = PRINTED[name]
    return {"name": name, **found, "paper": paper, "reason": _reason(found, paper)}


def _reason(found: Mapping[str, Any], paper: Mapping[str, Any]) -> str:
    """Why our number of parameters is not the paper's, from what stands in print."""
    missing = paper["n_parameters"] - found["n_parameters"]
    repeated = paper["numbers"] - found["n_numbers"]
    if missing == 0:
        return "The counts agree."
    text = f"All {paper['numbers']} printed numbers are in our graph"
    if repeated:
        text = (
            f"Of the {paper['numbers']} printed numbers {repeated} repeat a part that our graph "
            "has once, the others are in it"
        )
    text += (
        f"; {missing} of the paper's {paper['n_parameters']} parameters cannot be seen in print. "
        "A weight that rounds to 0.00 would vanish so, or one of a unit with a constant argument, "
        "which prints as part of a bias."
    )
    if "complexity_motor" in paper:
        cost = paper["complexity_motor"] - found["complexity_motor"]
        text += (
            f" With motor costs the paper has {paper['complexity_motor']} and the graph "
            f"{found['complexity_motor']:g}; {missing} weights that cost {cost:g} come from "
            f"{' or '.join(_sources_that_cost(missing, cost))}."
        )
    return text


def _sources_that_cost(n: int, cost: float) -> list[str]:
    """The combinations of `n` sources that have this cost together, with motor costs."""
    prior = PRESETS["motor"]
    return [
        " + ".join(sources)
        for sources in itertools.combinations_with_replacement(("input", *prior.units), n)
        if sum(prior.cost(source) for source in sources) == cost
    ]


def _flat(part: Part) -> dict[str, Any]:
    units = " ".join(f"{name}:{n}" for name, n in sorted(part["unit_counts"].items()))
    return {
        "equation": part["paper"]["title"],
        "degree": part["degree"],
        "degree_paper": part["paper"]["degree"],
        "n_parameters": part["n_parameters"],
        "n_parameters_paper": part["paper"]["n_parameters"],
        "units": units,
        "inner_units": " ".join(part["inner_units"]),
        "depth": part["depth"],
        "complexity_plain": part["complexity_plain"],
        "complexity_motor": part["complexity_motor"],
        "complexity_motor_paper": part["paper"].get("complexity_motor"),
        "reason": part["reason"],
    }


# --- the report ----------------------------------------------------------------------------------


def section(store: Store) -> str:
    """Markdown about these figures for the reproduction report; all numbers are the store's."""
    parts = store.parts
    paragraphs: Iterable[str] = (
        "## Figures of the method",
        _image("architecture", "A network with two outputs"),
        architecture_figure.words(parts["architecture"]),
        _slices_text(parts["slices"]),
        _relaxation_text(parts["relaxation"]),
        _gates_text(parts["gates"]),
        _selection_text(parts["selection_s0"]),
        _printed_text([parts[f"printed_equations/{name}"] for name in PRINTED]),
    )
    return "\n\n".join(paragraphs) + "\n"


def _image(name: str, text: str) -> str:
    return f"![{text}](../experiments/results/{name}.png)"


def _slices_text(part: Part) -> str:
    panels = part["panels"]
    least = min(panels, key=lambda p: p["share"])
    others = [
        f"{p['x']} and {p['y']} in {p['problem']}"
        for p in panels
        if (p["x"], p["y"]) != ("x1", "x2")
    ]
    pairs = "x1 and x2" + (f" (but {', '.join(others)})" if others else "")
    return (
        f"{_image('slices', 'Slices through the simulated equations')}\n\n"
        f"Slices through the {len(panels)} simulated equations over the test domain; the black "
        "rectangle is the train domain. The paper does not say which inputs it shows; here they "
        f"are {pairs}, chosen by eye for the most non-linear parts; they explain at least "
        f"{least['share']:.0%} of the variance over the train domain ({least['problem']}). The "
        "other inputs are held in the middle of the train domain."
    )


def _relaxation_text(part: Part) -> str:
    limits = ", ".join(
        f"{r['largest_division']:.3g} and {r['largest_logarithm_near_0']:.3g} "
        f"for α = {r['alpha']:g}"
        for r in part["limits"]
    )
    return (
        f"{_image('relaxation', 'Relaxation of division and logarithm')}\n\n"
        "Relaxed division and logarithm as the paper's trainer evaluates them: zero for z ≤ 0, "
        "shifted by α beyond. The absolute values next to the singularity, 1/α and |log α|, are "
        f"{limits}. The values of α are our choice. The fast trainer continues a singular unit by "
        "its tangent instead, since second-order steps need a slope."
    )


def _gates_text(part: Part) -> str:
    return (
        f"{_image('gates', 'Concrete and hard concrete distributions')}\n\n"
        "Left the densities of the concrete and the hard concrete gate, right their means over "
        f"{part['samples']:,} samples, and both without noise. At the {part['printed_points']} "
        "points of the paper's figure that were compared the densities differ by at most "
        f"{part['difference_from_printed']:.0e} of their value, with the exponent -β for the "
        "printed -β/2 of q_s, which is no density. The arrows, which the paper leaves out, are "
        f"the probabilities {part['mass_at_0']:.3f} and {part['mass_at_1']:.3f} of a gate that is "
        "exactly 0 or 1."
    )


def _selection_text(part: Part) -> str:
    rows = []
    for title, row in part["shown"].items():
        complexity, error = part["paper"][title]
        rows.append(
            f"| {title} | {row['source']} | {row['complexity']:g} | {row['rmse_validation']:.4f} "
            f"| {_number(row['rmse_extrapolation'])} | {complexity} | {error} |"
        )
    selected = Expression.parse(part["shown"]["selected"]["equation"], part["names"])
    inside, beyond = (
        None if row[key] is None else row[key] / part["noise"]
        for row in [part["shown"]["too complex"]]
        for key in ("rmse_validation", "rmse_extrapolation")
    )
    outside = _number(beyond)
    n = part["more_complex_on_the_front"]
    more = f"{n} equation(s) more complex" if n else "nothing more complex"
    return (
        f"{_image('selection_s0', 'Selection on S0')}\n\n"
        f"S0 along x1, the others at {part['others_at']:g}, and the Pareto plot. V_int&ex with "
        f"{part['n_extrapolation']} points selects `{selected.text()}` from "
        f"{part['rows']:,} rows with noise {part['noise']:g}. The fast search's front has {more} "
        "than that. The too complex equation is what V_int, the "
        "validation error alone, picks from the more complex models of the paper's training "
        f"({part['sweep_about']}). "
        f"Its validation error is {inside:.3g} times the noise, its error outside the train domain "
        f"{outside} times.\n\n"
        "| equation | from | complexity | validation RMSE | extrapolation RMSE | paper: complexity "
        "| paper: validation RMSE |\n|---|---|---|---|---|---|---|\n" + "\n".join(rows)
    )


def _number(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.3g}"


def _printed_text(parts: Sequence[Part]) -> str:
    rows, reasons = [], []
    for part in parts:
        units = ", ".join(f"{n} {name}" for name, n in sorted(part["unit_counts"].items()))
        paper = part["paper"]
        rows.append(
            f"| {paper['title']} | {part['degree']} | {paper['degree']} | {part['n_parameters']} "
            f"| {paper['n_parameters']} | {part['complexity_plain']:g} "
            f"| {part['complexity_motor']:g} | {units} | {', '.join(part['inner_units']) or '–'} |"
        )
        reasons.append(f"- *{paper['title']}*: {part['reason']}")
    return (
        "The four printed engine equations, counted by the library. Degrees are those of the "
        "polynomials in them, other units counted as variables; the last column names units other "
        "than products and squares that stand inside other units.\n\n"
        "| equation | degree | paper | parameters | paper | complexity, plain costs "
        "| motor costs | units | inner units |\n|---|---|---|---|---|---|---|---|---|\n"
        + "\n".join(rows)
        + "\n\n"
        + "\n".join(reasons)
    )
