"""How kernels are compiled and called."""

from __future__ import annotations

import pytest

from ieql.equations.compiled import _interruptible


def test_a_ctrl_c_that_python_hides_in_a_system_error_is_a_ctrl_c():
    # Once in a hundred times a Ctrl-C during a fit ended in a traceback that said "returned a
    # result with an exception set".
    def interrupted(x):
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    with pytest.raises(KeyboardInterrupt):
        _interruptible(interrupted)(1)


def test_any_other_error_stays_what_it_is():
    def broken():
        raise SystemError("something else")

    with pytest.raises(SystemError, match="something else"):
        _interruptible(broken)()
    assert _interruptible(abs)(-2) == 2


def test_a_ctrl_c_behind_several_errors_is_a_ctrl_c():
    """Numba may raise on the way out once more; a Ctrl-C in a busy fit ended in a traceback."""

    def kernel():
        try:
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt as error:
                raise SystemError("returned a result with an exception set") from error
        except SystemError:
            raise SystemError("returned a result with an exception set")  # noqa: B904

    with pytest.raises(KeyboardInterrupt):
        _interruptible(kernel)()
