"""The paper's claims, one by one: its sentence, and what the stored results say of it.

Every verdict is computed from the results; a claim without results is "not tested".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments import ambiguity, baseline_claims, electric_machine, unit_frequencies
from experiments.compare import chosen, table_row
from experiments.methods import METHODS as LEARNERS
from experiments.paper_sweeps import FINISHED
from experiments.paper_values import COMPLEX, PROBLEMS
from experiments.sweeping import parts_of
from experiments.verdicts import (
    FAST,
    LEARNED,
    NO,
    NOISE_LEVEL,
    PAPERS,
    UNTESTED,
    YES,
    A,
    Claim,
    Finding,
    Results,
    S,
    count,
    middle,
    names_without,
    of_rows,
)
from experiments.words import number, table
from tables import median

__all__ = ["CLAIMS", "section"]

# --- learning complex equations ------------------------------------------------------------------


def _fitted(results: Results) -> list[Finding]:
    """Errors inside the train domain at the noise level: what V_int selects."""
    found = []
    for by, method in LEARNED:
        rows, good = [], []
        for p in PROBLEMS:
            parts = parts_of(results.complex, p, method, results.sweeps)
            if parts:
                rows.append(table_row(parts, p, method, "V_int"))
                errors = [
                    max(row["rmse_train"], row["rmse_validation"])
                    for row in (chosen(part, "V_int") for part in parts)
                ]
                if median(errors) <= NOISE_LEVEL:
                    good.append(rows[-1])
        if rows:
            figure = (
                f"training and validation error at most {NOISE_LEVEL} at the median on {len(good)} "
                f"of {len(rows)}; missed: {names_without(rows, good)}"
            )
            found.append(of_rows(by, count(len(good), len(PROBLEMS)), figure, rows))
    return found


def _captured(results: Results) -> list[Finding]:
    """S0–S6 in all runs at the noise level."""
    found = []
    for by, method in LEARNED:
        rows = [r for p in S if (r := results.row(p, method)) is not None]
        good = [r for r in rows if r["rmse_max"] is not None and r["rmse_max"] <= NOISE_LEVEL]
        if rows:
            medians = sum((r["rmse_median"] or 9.0) <= NOISE_LEVEL for r in rows)
            figure = (
                f"all runs at most {NOISE_LEVEL} on {len(good)} of {len(rows)}, the median "
                f"on {medians}; missed: {names_without(rows, good)}"
            )
            verdict = count(len(good), len(S))
            found.append(of_rows(by, verdict, figure, rows))
    return found


def _better_on_a(results: Results) -> list[Finding]:
    """A1–A4 better than all baselines, and at or below the paper's own figures."""
    found = []
    for by, method in LEARNED:
        rows = [r for p in A if (r := results.row(p, method)) is not None]
        if not rows:
            continue
        better, below, compared = [], [], set()
        for row in rows:
            others = {m: r for m in BASELINES if (r := results.row(row["problem"], m)) is not None}
            compared |= set(others)
            own = middle(row)
            if all(own < middle(r) for r in others.values()):
                better.append(row)
            if round(own, 2) <= COMPLEX["ieql"][row["problem"]][0]:
                below.append(row)
        names = ", ".join(LEARNERS[m].label for m in BASELINES if m in compared)
        figure = (
            f"better than all of {names} on {len(better)} of {len(rows)} (missed: "
            f"{names_without(rows, better)}); at or below the paper's own error on {len(below)}"
        )
        verdict = count(len(better), len(A))
        found.append(of_rows(by, verdict, figure, rows))
    return found


BASELINES = ("mean", "mlp", "gp", "operon1", "operon2", "gplearn", "pysr1", "pysr2", "eqldiv")


def _criteria(results: Results) -> list[Finding]:
    """V_int-S as good as V_int&ex on S, worse on A."""
    found = []
    for by, method in LEARNED:
        groups = {}
        for label, names in (("S", S), ("A", A)):
            pairs = []
            for p in names:
                both, simple = results.row(p, method), results.row(p, method, "V_int-S")
                if both is not None and simple is not None:
                    pairs.append((both, simple))
            groups[label] = pairs
        if not all(groups.values()):
            continue
        alike = sum(middle(s) <= 2.0 * middle(b) for b, s in groups["S"])
        worse = sum(middle(s) > middle(b) for b, s in groups["A"])
        figure = (
            f"V_int-S within twice the error of V_int&ex on {alike} of {len(groups['S'])} of S0–S6;"
            f" V_int&ex better on {worse} of {len(groups['A'])} of A1–A4"
        )
        good = alike == len(groups["S"]), 2 * worse > len(groups["A"])
        rows = [b for pairs in groups.values() for b, _ in pairs]
        found.append(of_rows(by, count(sum(good), 2), figure, rows))
    return found


def _eqldiv(results: Results) -> list[Finding]:
    """Better than EQL÷ on S0–S6."""
    rows = [r for p in S if (r := results.row(p, "eqldiv")) is not None]
    if len(rows) < len(S):
        return [Finding(PAPERS, UNTESTED, "EQL÷ was not trained with a tenth of its steps")]
    found = []
    for by, method in ((f"{PAPERS}, finished", FINISHED), (FAST, "ieql")):
        own = [r for p in S if (r := results.row(p, method)) is not None]
        if len(own) == len(S):
            good = sum(middle(a) <= middle(b) for a, b in zip(own, rows, strict=True))
            figure = f"at most its median error on {good} of 7"
            found.append(of_rows(by, count(good, len(S)), figure, own))
    return found


def _no_retraining(results: Results) -> list[Finding]:
    """The error as trained beside that of the finished equation."""
    ratios, budgets = [], set()
    for key, network in results.sweeps.parts.items():
        raw, done = network.get("raw"), network.get("finished")
        if raw and done and 0 < done["n_parameters"] <= 100 and key.split("/")[1] in PROBLEMS:
            ratios.append(raw["rmse_validation"] / max(done["rmse_validation"], 1e-12))
            budgets.add(network["budget"])
    if not ratios:
        return []
    middle = median(ratios)
    figure = (
        f"validation error as trained {number(middle)} times that of the finished equation "
        f"(median of {len(ratios)} networks with at most 100 parameters)"
    )
    return [Finding(PAPERS, YES if middle <= 1.1 else NO, figure, "", ", ".join(sorted(budgets)))]


# --- expert knowledge ----------------------------------------------------------------------------


def _prior_followed(results: Results) -> list[Finding]:
    """The cheaper unit is selected at all ratios but 1."""
    return [
        _of_ratios(by, runs, rows, sum(map(ambiguity.follows, others)), len(others))
        for by, runs, rows in _ambiguity_rows(results)
        if (others := [r for r in rows if r["ratio"] != "1"])
    ]


def _of_ratios(by: str, runs: str, rows: Any, good: int, of: int) -> Finding:
    return Finding(by, count(good, of), f"{good} of {of} ratios", runs, rows[0].get("budget", ""))


def _ambiguity_rows(results: Results) -> list[tuple[str, str, list[dict[str, Any]]]]:
    fast = ambiguity.summary(results.ambiguity)
    budgets = "/".join(sorted({p["budget"] for p in results.ambiguity.parts.values()}))
    found = [(FAST, "5", [{**r, "budget": budgets} for r in fast])]
    found.append((PAPERS, "1", [{**r, "budget": "full"} for r in ambiguity.swept(results.sweeps)]))
    return [entry for entry in found if entry[2]]


def _square_preferred(results: Results) -> list[Finding]:
    """At r = 1 squares are more frequent than cosines."""
    found = []
    for by, runs, rows in _ambiguity_rows(results):
        for r in rows:
            if r["ratio"] == "1":
                verdict = YES if r["square_percent"] > r["cos_percent"] else NO
                figure = f"cos {r['cos_percent']:.0f} %, square {r['square_percent']:.0f} %"
                found.append(Finding(by, verdict, f"{figure} (paper 36 and 63)", runs, r["budget"]))
    return found


def _parabola_without_factors(results: Results) -> list[Finding]:
    """Panel (c): without factors the square is selected at most ratios."""
    found = []
    for by, runs, rows in _ambiguity_rows(results):
        good = sum(r["square_without_factors"] > r["cos_without_factors"] for r in rows)
        verdict = YES if good > len(rows) / 2 else NO
        figure = f"the square at {good} of {len(rows)} ratios"
        found.append(Finding(by, verdict, figure, runs, rows[0]["budget"]))
    return found


def _frequencies(results: Results) -> dict[tuple[str, str], dict[str, Any]]:
    if not results.units.parts and not results.sweeps.parts:
        return {}
    return {(r["data"], r["costs"]): r for r in unit_frequencies.summary(results.units)}


def _pairs(results: Results, data: str, dear: str) -> list[tuple[str, Any, Any]]:
    rows = _frequencies(results)
    found = []
    for by, suffix in ((FAST, ""), (PAPERS, f", {unit_frequencies.PAPERS}")):
        one, other = rows.get((data + suffix, "plain")), rows.get((data + suffix, dear))
        if one and other:
            found.append((by, one, other))
    return found


def _motor_factors(results: Results) -> list[Finding]:
    found = []
    for by, plain, motor in _pairs(results, "engine, generated", "motor"):
        down = [u for u in ("exp", "cos", "div") if motor[u] < plain[u]]
        up = [u for u in ("square", "mul") if motor[u] > plain[u]]
        figure = f"lower: {', '.join(down) or 'none'}; higher: {', '.join(up) or 'none'}"
        found.append(Finding(by, count(len(down) + len(up), 5), figure, str(plain["fits"])))
    return found


def _sqrt_barely(results: Results) -> list[Finding]:
    found = []
    for by, plain, motor in _pairs(results, "engine, generated", "motor"):
        figure = f"sqrt {plain['sqrt']:.1f} and {motor['sqrt']:.1f} % (paper 0.0)"
        verdict = YES if max(plain["sqrt"], motor["sqrt"]) < 1.0 else NO
        found.append(Finding(by, verdict, figure, str(plain["fits"])))
    return found


def _dear_cosine(results: Results) -> list[Finding]:
    return [
        Finding(
            by,
            YES if dear["cos"] < plain["cos"] else NO,
            f"cos {plain['cos']:.1f} to {dear['cos']:.1f} % (paper 23.2 to 14.4)",
            str(plain["fits"]),
        )
        for by, plain, dear in _pairs(results, "S5", "c_cos=5")
    ]


# --- machines ------------------------------------------------------------------------------------


def _machine(results: Results) -> list[Finding]:
    """Better than genetic programming and the Gaussian process, with six parameters."""
    found = []
    rivals = [r for m in ("gp", "operon1", "operon2") if (r := results.machine_row(m))]
    for by, method in LEARNED:
        row = results.machine_row(method)
        if row and rivals:
            good = sum(middle(row) < middle(r) for r in rivals)
            figure = f"{number(row['rmse_median'])} W against " + ", ".join(
                f"{number(r['rmse_median'])} ({LEARNERS[r['method']].label})" for r in rivals
            )
            found.append(of_rows(by, count(good, len(rivals)), figure, [row]))
    return found


def _machine_structure(results: Results) -> list[Finding]:
    """The same structure in all runs, of the two currents alone."""
    found = []
    for by, method in LEARNED:
        row = results.machine_row(method)
        if row is None:
            continue
        known = electric_machine.structures(
            parts_of(results.machine, "power_loss", method, results.sweeps)
        )
        n, inputs = len(known["equations"]), known["inputs"]
        verdict = YES if n == 1 and inputs == ["I_D", "I_Q"] else NO
        figure = f"{n} structure{'s' if n > 1 else ''} of {', '.join(inputs) or 'no input'}"
        found.append(of_rows(by, verdict, figure, [row]))
    return found


def _engine_accuracy(results: Results) -> list[Finding]:
    """By V_int similar to the Gaussian process or better."""
    found = []
    gp = results.engine_row("gp", "V_int")
    for by, method in (*LEARNED, (f"{FAST}, asked for accuracy", "ieql_accurate")):
        row = results.engine_row(method, "V_int")
        if row and gp:
            verdict = YES if middle(row) <= 1.1 * middle(gp) else NO
            figure = f"{number(row['rmse_median'])} Nm, Gaussian process {number(middle(gp))} Nm"
            found.append(of_rows(by, verdict, figure + " (generated data)", [row]))
    return found


def _engine_sizes(results: Results) -> list[Finding]:
    """Motor factors: half the error of genetic programming at its complexity."""
    rivals = [r for m in ("operon1", "operon2") if (r := results.engine_row(m, "V_int"))]
    found = []
    for by, method in (
        (f"{PAPERS}, motor, as trained", "paper_motor_raw"),
        (f"{PAPERS}, motor, finished", "paper_motor_finished"),
        (f"{FAST}, motor", "ieql_motor"),
    ):
        row = results.engine_row(method, "V_int-S")
        if row and rivals:
            best = min(map(middle, rivals))
            verdict = YES if 2.0 * middle(row) <= best else NO
            figure = (
                f"{number(middle(row))} Nm with {number(row['parameters_median'])} parameters "
                f"against {number(best)} Nm by Operon's most exact (generated data)"
            )
            found.append(of_rows(by, verdict, figure, [row]))
    return found


CLAIMS = (
    Claim(
        "All three network-based models can fit the training data perfectly. Their prediction "
        "error on training and validation data is at noise level for all datasets.",
        "Learning Complex Equations", _fitted, "paper_sweeps, complex_equations",
    ),
    Claim(
        "On datasets S0–S6 the iEQL captures the data generating function reliably for all five "
        "runs.",
        "Learning Complex Equations", _captured, "paper_sweeps, complex_equations",
    ),
    Claim(
        "Despite its larger expressivity … it even outperforms the EQL÷ architecture (S0–S6).",
        "Learning Complex Equations", _eqldiv, "paper_sweeps, complex_equations",
    ),
    Claim(
        "Equations A1–A4 are more difficult to learn. iEQL outperforms all baselines.",
        "Learning Complex Equations", _better_on_a, "paper_sweeps, complex_equations",
    ),
    Claim(
        "Both criteria V_int&ex and V_int-S perform similarly good on equations S0–S6, but "
        "V_int&ex performs better on the more sophisticated equations A1–A4.",
        "appendix, Model Selection", _criteria, "paper_sweeps, complex_equations",
    ),
    Claim(
        "A final retraining of the pruned network is not necessary anymore.",
        "Sparsity Inducing Method", _no_retraining, "paper_sweeps",
    ),
    Claim(
        "As desired, the prior is followed in case of such a strong ambiguity.",
        "Expert Knowledge", _prior_followed, "paper_sweeps, ambiguity",
    ),
    Claim(
        "iEQL predominantly uses x² units without a biased preference (r = 1).",
        "Expert Knowledge", _square_preferred, "paper_sweeps, ambiguity",
    ),
    Claim(
        "Without complexity factors a polynomial solution is mostly selected (panel c).",
        "Expert Knowledge", _parabola_without_factors, "paper_sweeps, ambiguity",
    ),
    Claim(
        "The motor specific complexity factors clearly reduce the relative frequency of exp, cos, "
        "/ and enhance polynomial structures with x², *.",
        "Expert Knowledge", _motor_factors, "paper_sweeps, unit_frequencies",
    ),
    Claim(
        "The sqrt unit has been barely chosen at all.",
        "Expert Knowledge", _sqrt_barely, "paper_sweeps, unit_frequencies",
    ),
    Claim(
        "Penalizing cos units (c_cos = 5) on S5, as expected the relative frequency of the cosine "
        "units is reduced.",
        "Expert Knowledge", _dear_cosine, "paper_sweeps, unit_frequencies",
    ),
    Claim(
        "iEQL and EQL÷ outperform the genetic algorithm and the Gaussian process (power loss).",
        "Power Loss of an Electric Machine", _machine, "paper_sweeps, electric_machine",
    ),
    Claim(
        "The structure of the selected equation … is the same for all 5 experiments; only two of "
        "the input variables, I_D and I_Q, are relevant.",
        "Power Loss of an Electric Machine", _machine_structure, "paper_sweeps, electric_machine",
    ),
    Claim(
        "The GP is supposed to perform best on this dataset, but the EQL-networks, selected with "
        "V_int, perform similar or even better (torque).",
        "Torque Model", _engine_accuracy, "paper_sweeps, engine_torque",
    ),
    Claim(
        "iEQL_motor also finds equations of similar complexity [as the GA], but with a twice as "
        "good median test RMSE (torque).",
        "Torque Model", _engine_sizes, "paper_sweeps, engine_torque",
    ),
)  # fmt: skip


def section(folder: Path) -> str:
    """The table of claims."""
    results = Results(folder)
    lines = []
    for claim in (*CLAIMS, *baseline_claims.CLAIMS):
        findings = claim.judge(results)
        if not any(f.by.startswith(claim.of) for f in findings):
            findings = [Finding(claim.of, UNTESTED), *findings]
        for k, f in enumerate(findings):
            first = k == 0
            lines.append(
                [
                    f'"{claim.sentence}" (*{claim.where}*)' if first else "",
                    f.by,
                    f.verdict,
                    f.figure,
                    f.runs or "–",
                    f.budget or "–",
                    f"`{claim.command}`" if first else "",
                ]
            )
    header = ["the paper's sentence", "by", "verdict", "figure", "runs", "budget", "experiments"]
    return "\n\n".join(
        [
            "## Claim by claim",
            "Each sentence of the paper that can be tested, and what the stored results say; every "
            'verdict is computed from them. "The paper\'s method" is its own training, our code; '
            '"ieql, fast" is the default learner of this project, which the paper does not have: '
            "what it reaches says nothing of the paper's method. The command of a row is "
            "`python -m experiments NAME --budget BUDGET`.",
            table(header, lines),
        ]
    )
