"""The integer functions of fixed-point C are as exact as `ieql.export.fixed_point` counts on."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from compiling import compiled, needs_compiler
from ieql.export.fixed_library import NAMES, library
from ieql.export.fixed_point import EXP_ERROR, LOG_ERROR, ONE, SIN_ERROR

LOOPS = """
void log_of(const int32_t *x, int64_t *y, int n, int32_t places);
void log_of(const int32_t *x, int64_t *y, int n, int32_t places)
{ for (int i = 0; i < n; i++) { y[i] = ieql_log(x[i], places); } }
void exp_of(const uint64_t *x, int64_t *y, int n, uint64_t most);
void exp_of(const uint64_t *x, int64_t *y, int n, uint64_t most)
{ for (int i = 0; i < n; i++) { y[i] = ieql_exp(x[i], most); } }
void sin_of(const uint64_t *x, int64_t *y, int n);
void sin_of(const uint64_t *x, int64_t *y, int n)
{ for (int i = 0; i < n; i++) { y[i] = ieql_sin(x[i]); } }
void sqrt_of(const int32_t *x, int64_t *y, int n, uint64_t factor);
void sqrt_of(const int32_t *x, int64_t *y, int n, uint64_t factor)
{ for (int i = 0; i < n; i++) { y[i] = ieql_sqrt(x[i], factor); } }
void round_of(const int64_t *x, int64_t *y, int n, int64_t divisor);
void round_of(const int64_t *x, int64_t *y, int n, int64_t divisor)
{ for (int i = 0; i < n; i++) { y[i] = ieql_round(x[i], divisor); } }
int32_t clamp_of(int32_t x);
int32_t clamp_of(int32_t x) { return ieql_clamp(x, -5, 7); }
"""
N = 200_000


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    source = f"#include <stdint.h>\n{library(NAMES)}{LOOPS}"
    return compiled(source, tmp_path_factory.mktemp("library"), "-O2")


def over(function, x, *more):
    y = np.empty(len(x), dtype=np.int64)
    address = (array.ctypes.data_as(ctypes.c_void_p) for array in (x, y))
    function(*address, len(x), *more)
    return y


def drawn_integers(low, high, dtype):
    """As many small as large ones, and both ends."""
    rng = np.random.default_rng(0)
    x = np.exp(rng.uniform(np.log(low), np.log(high), N))
    return np.concatenate([[low, high - 1], x]).astype(dtype)


@needs_compiler
@pytest.mark.parametrize("places", [-3, 0, 20, 60])
def test_logarithm(functions, places):
    x = drawn_integers(1, 2**31, np.int32)
    y = over(functions.log_of, x, ctypes.c_int32(places))
    assert np.abs(y / ONE - (np.log(x) - places * np.log(2))).max() <= LOG_ERROR


@needs_compiler
def test_exponential(functions):
    x = np.random.default_rng(0).integers(0, ONE, N, dtype=np.uint64)
    x[:3] = 0, 1, ONE - 1
    y = over(functions.exp_of, x, ctypes.c_uint64(0)).astype(np.int64) % 2**32  # below 2^31
    assert np.abs(y / ONE - np.exp2(x / ONE)).max() <= EXP_ERROR
    whole = over(functions.exp_of, x + np.uint64(5 * ONE), ctypes.c_uint64(20))
    assert np.abs(whole - np.exp2(x / ONE + 5 - 20) * ONE).max() <= 0.5 + EXP_ERROR * 2**15
    far = over(functions.exp_of, x[:10], ctypes.c_uint64(50))
    assert not far.any()


@needs_compiler
def test_sine(functions):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2**64, N, dtype=np.uint64)
    x[:9] = np.arange(9) * (ONE // 2)
    y = over(functions.sin_of, x)
    assert np.abs(y / ONE - np.sin(2 * np.pi * (x % 2**32) / 2**32)).max() <= SIN_ERROR


@needs_compiler
@pytest.mark.parametrize("shift", [0, 1, 31])
def test_root(functions, shift):
    x = drawn_integers(1, 2**31, np.int32)
    y = over(functions.sqrt_of, x, ctypes.c_uint64(2**shift))
    assert np.abs(y - np.sqrt(x * 2.0**shift)).max() <= 0.5 + 1e-6
    assert not over(functions.sqrt_of, -x, ctypes.c_uint64(2**shift)).any()


@needs_compiler
@pytest.mark.parametrize("divisor", [1, 2, 3, 2**31 - 1, 2**40])
def test_rounding(functions, divisor):
    x = np.random.default_rng(0).integers(-(2**61), 2**61, 2000)
    x[:5] = 0, divisor, -divisor, divisor // 2, -(divisor // 2)
    y = over(functions.round_of, x, ctypes.c_int64(divisor))
    assert all(2 * abs(int(a) - int(b) * divisor) <= divisor for a, b in zip(x, y, strict=True))


@needs_compiler
def test_clamp(functions):
    functions.clamp_of.argtypes, functions.clamp_of.restype = [ctypes.c_int32], ctypes.c_int32
    assert [functions.clamp_of(x) for x in (-(2**31), -5, 0, 7, 2**31 - 1)] == [-5, -5, 0, 7, 7]


def test_only_what_is_called_is_written():
    assert "ieql_sin" not in library({"ieql_round", "ieql_exp"})
    assert library(()) == ""
