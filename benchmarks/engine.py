"""Measurements of a real engine: our equations beside a Gaussian process and boosted trees.

All methods learn from the same four fifths of the rows; printed is the error on the last fifth.

    python benchmarks/engine.py path/to/bosch_engine1.csv --targets NOx specific_fuel_consumption
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import train_test_split

from ieql import IEQLRegressor
from ieql.data.reading import read_csv

__all__ = ["main"]

N_INPUTS = 4


def methods(seconds: float, seed: int, n_inputs: int) -> dict[str, Any]:
    """Regressors by name, each with usual settings."""
    kernel = ConstantKernel() * RBF(np.ones(n_inputs), (0.05, 100.0)) + WhiteKernel(
        0.01, (1e-6, 1.0)
    )
    return {
        "mean": None,
        "ieql": IEQLRegressor(max_time=seconds, random_state=seed),
        "ieql motor": IEQLRegressor(prior="motor", max_time=seconds, random_state=seed),
        "gaussian process": GaussianProcessRegressor(
            kernel, normalize_y=True, n_restarts_optimizer=2, random_state=seed
        ),
        "boosted trees": HistGradientBoostingRegressor(random_state=seed),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--targets", nargs="+", default=["NOx", "specific_fuel_consumption"])
    parser.add_argument("--time", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, seed {options.seed}")
    table = read_csv(options.data)
    X = table.iloc[:, :N_INPUTS]
    for target in options.targets:
        X_train, X_test, y_train, y_test = train_test_split(
            X, table[target], test_size=0.2, random_state=options.seed
        )
        for name, method in methods(options.time, options.seed, N_INPUTS).items():
            start = time.perf_counter()
            if method is None:
                predicted, note = np.full(len(y_test), y_train.mean()), ""
            else:
                predicted, note = method.fit(X_train, y_train).predict(X_test), ""
            if isinstance(method, IEQLRegressor):
                chosen = method.equations_.query("selected").iloc[0]
                front = [
                    np.sqrt(np.mean((method.predict(X_test, index=k) - y_test) ** 2))
                    for k in range(len(method.equations_))
                ]
                note = (
                    f"{chosen['n_parameters']} parameters; best on the front {min(front):.4f} "
                    f"with {method.equations_['n_parameters'][int(np.argmin(front))]}"
                )
            error = float(np.sqrt(np.mean((predicted - y_test) ** 2)))
            print(
                f"{target:<26} {name:<17} test RMSE {error:.4f}  "
                f"{time.perf_counter() - start:6.1f} s  {note}",
                flush=True,
            )


if __name__ == "__main__":
    main()
