"""Numbers printed in the paper, to stand beside ours: (median, least, largest) of five runs."""

from __future__ import annotations

__all__ = [
    "AMBIGUITY_SELECTED",
    "AMBIGUITY_SHARES",
    "COMPLEX",
    "ENGINE",
    "ENGINE_RANGES",
    "FREQUENCIES",
    "MACHINE",
    "PARETO",
    "PARETO_EXACT",
    "PARETO_SELECTED",
    "PROBLEMS",
    "UNITS",
]

Triple = tuple[float, float, float]
INF = float("inf")
PROBLEMS = ("S0", "S1", "S2", "S3", "S4", "S5", "S6", "A1", "A2", "A3", "A4")


def _column(*rows: Triple | float) -> dict[str, Triple]:
    triples = [(r, r, r) if isinstance(r, float) else r for r in rows]
    return dict(zip(PROBLEMS, triples, strict=True))


# Tables "Learning complex equations S0-S6" and "(A1--A4)": test RMSE.
COMPLEX: dict[str, dict[str, Triple]] = {
    "mean": _column(1.57, 0.66, 0.75, 0.64, 1.17, 0.44, 0.82, 0.88, 1.09, 0.19, 0.66),
    "mlp": _column(
        (1.11, 1.04, 1.17), (0.45, 0.35, 0.54), (0.41, 0.39, 0.42), (0.36, 0.34, 0.37),
        (0.65, 0.57, 0.70), (0.07, 0.02, 0.15), (0.65, 0.65, 0.66),
        (0.67, 0.64, 0.70), (0.24, 0.22, 0.25), (0.01, 0.01, 0.02), (0.39, 0.37, 0.40),
    ),
    "operon1": _column(
        (1.07, 0.91, 1.58), (0.77, 0.77, 0.77), (0.33, 0.01, 0.35), (0.01, 0.01, 0.47),
        (1.20, 1.07, 1.23), (0.29, 0.29, 0.29), (0.82, 0.82, 0.82),
        (0.82, 0.28, 1.11), (0.35, 0.26, 0.62), (0.14, 0.14, 0.19), (0.60, 0.56, 0.66),
    ),
    "operon2": _column(
        (0.39, 0.01, 1.47), (0.66, 0.01, 0.77), (0.37, 0.01, 0.77), (0.60, 0.58, 1.78),
        (0.01, 0.01, 0.01), (0.08, 0.01, 0.42), (4.26, 0.74, INF),
        (0.28, 0.04, 0.45), (0.10, 0.06, 0.51), (0.10, 0.04, 0.77), (0.35, 0.28, 0.60),
    ),
    "eqldiv": _column(
        (0.01, 0.01, 0.12), (0.01, 0.01, 0.17), (0.01, 0.01, 0.05), (0.01, 0.01, 0.01),
        (0.01, 0.01, 1.38), (0.01, 0.01, 0.01), (0.01, 0.01, 0.02),
        (0.09, 0.09, 0.11), (0.09, 0.06, 0.19), (0.02, 0.01, 0.33), (0.36, 0.22, 1.89),
    ),
    "ieql": _column(
        *[(0.01, 0.01, 0.01)] * 7,
        (0.02, 0.01, 0.06), (0.03, 0.02, 0.05), (0.01, 0.01, 0.02), (0.07, 0.07, 0.13),
    ),
}  # fmt: skip

# Figure "Equation learning with iEQL motor", panel (a): complexity and validation RMSE in Nm of the
# 78 networks of one sweep, the selected one, and the most exact one.
PARETO: tuple[tuple[int, float], ...] = (
    (5, 7.08), (5, 12.65), (5, 7.05), (6, 5.30), (6, 5.31), (7, 7.61), (8, 5.52), (9, 5.28),
    (9, 5.48), (10, 5.37), (12, 5.50), (15, 5.65), (16, 5.33), (18, 7.04), (18, 5.04),
    (19, 5.31), (20, 5.46), (22, 5.34), (22, 4.65), (28, 4.11), (36, 3.74), (37, 3.40),
    (37, 3.98), (40, 3.42), (47, 3.86), (48, 3.72), (52, 2.90), (52, 3.74), (55, 2.88),
    (63, 2.99), (64, 3.09), (70, 3.85), (70, 3.11), (72, 3.51), (75, 3.40), (83, 2.76),
    (97, 3.13), (109, 2.58), (122, 2.73), (125, 2.86), (131, 2.84), (132, 2.38), (141, 2.30),
    (154, 2.37), (170, 2.34), (183, 1.93), (186, 2.28), (207, 2.58), (218, 2.35), (221, 2.54),
    (235, 1.88), (256, 2.09), (256, 2.27), (272, 2.09), (323, 2.13), (351, 2.35), (362, 2.14),
    (387, 1.60), (438, 2.01), (464, 2.42), (487, 1.62), (497, 2.03), (498, 2.32), (522, 1.97),
    (528, 1.87), (541, 2.12), (546, 1.78), (605, 3.29), (630, 2.52), (654, 1.93), (751, 1.70),
    (756, 3.76), (804, 2.37), (838, 1.71), (845, 2.18), (859, 2.15), (871, 1.82), (883, 1.75),
)  # fmt: skip
PARETO_SELECTED, PARETO_EXACT = 55, 387

# Table "Results on real-world datasets": for each method and criterion RMSE and parameters.
MACHINE: dict[str, tuple[Triple, Triple | None]] = {
    "mean": ((1042.70,) * 3, None),
    "gp": ((0.92,) * 3, None),
    "operon1": ((188.40, 155.84, 347.93), (9, 3, 9)),
    "operon2": ((230.23, 230.23, 230.23), (8, 8, 8)),
    "eqldiv": ((0.03, 0.03, 0.04), (10, 7, 14)),
    "ieql": ((0.03, 0.02, 0.03), (6, 6, 6)),
    "ieql_motor": ((0.02, 0.02, 0.02), (6, 6, 6)),
}
ENGINE: dict[str, dict[str, tuple[Triple, Triple | None]]] = {
    "V_int-S": {
        "mean": ((60.17,) * 3, None),
        "gp": ((1.79,) * 3, None),
        "operon1": ((16.79, 13.35, 22.37), (7, 5, 11)),
        "operon2": ((22.37, 16.79, 22.37), (5, 5, 7)),
        "eqldiv": ((1.75, 1.55, 1.96), (95, 70, 129)),
        "ieql": ((2.48, 2.18, 3.04), (65, 42, 79)),
        "ieql_motor": ((3.17, 2.90, 6.16), (32, 15, 48)),
    },
    "V_int": {
        "mean": ((60.17,) * 3, None),
        "gp": ((1.79,) * 3, None),
        "operon1": ((5.91, 5.00, 7.66), (33, 23, 40)),
        "operon2": ((5.33, 4.86, 6.29), (35, 34, 39)),
        "eqldiv": ((1.46, 1.35, 1.61), (382, 225, 427)),
        "ieql": ((1.44, 1.40, 1.71), (448, 395, 470)),
        "ieql_motor": ((1.60, 1.39, 1.79), (339, 170, 386)),
    },
}

# Figure "Relative frequency of atomic units": per cent, read from the plotted numbers.
UNITS = ("log", "sqrt", "exp", "cos", "div", "square", "mul")
FREQUENCIES: dict[str, dict[str, tuple[float, ...]]] = {
    "engine": {
        "plain": (2.14, 0.03, 4.55, 17.71, 16.62, 30.48, 28.47),
        "motor": (1.70, 0.03, 3.22, 9.39, 12.44, 36.04, 37.18),
    },
    "S5": {
        "plain": (6.21, 0.48, 8.55, 23.17, 16.63, 34.28, 10.68),
        "c_cos=5": (5.85, 0.62, 9.45, 14.42, 17.34, 40.44, 11.89),
    },
}

# Figure "ambiguity", panel (a): per cent of cos, and of cos and square together, by the ratio.
AMBIGUITY_SHARES: dict[str, tuple[float, float]] = {
    "1/10": (66.8, 97.5), "1/9": (69.9, 98.4), "1/8": (66.6, 98.8), "1/7": (71.4, 98.1),
    "1/6": (68.5, 98.6), "1/5": (67.6, 97.6), "1/4": (57.4, 98.5), "1/3": (55.6, 98.6),
    "1/2": (51.5, 98.0), "1": (36.3, 99.0), "2": (21.4, 99.6), "3": (12.4, 100.0),
    "4": (14.3, 99.6), "5": (18.6, 99.6), "6": (15.2, 100.0), "7": (13.5, 100.0),
    "8": (14.7, 99.7), "9": (14.8, 99.7), "10": (15.5, 99.9),
}  # fmt: skip

# The same figure, panels (b) and (c): the unit of the equation that V_int-S selects with and
# without complexity factors.
AMBIGUITY_SELECTED: dict[str, tuple[str, str]] = {
    ratio: ("cos" if "/" in ratio else "square", "cos" if ratio in ("1/9", "1/6") else "square")
    for ratio in AMBIGUITY_SHARES
}

# Table "Data properties for the torque model": least and largest value in the table's units.
ENGINE_RANGES: dict[str, tuple[float, float, str]] = {
    "phi_ex": (-20, 20, "°crank"), "phi_in": (-4, 36, "°crank"), "r_l": (13, 86, "%"),
    "phi_ign": (-27, 61, "°crank"), "n_eng": (597, 6000, "rpm"), "M_eng": (-38, 261, "Nm"),
}  # fmt: skip
