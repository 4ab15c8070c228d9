"""Compiles kernels by numba where it is installed. Without it numpy gives scores the same numbers, slowly."""

from collections.abc import Callable
from functools import partial
from typing import Any

try:
    import numba
except ModuleNotFoundError:
    numba = None  # type: ignore[assignment]


def compiled(kernel: Callable[..., Any] | None = None, *, plain: Callable[..., Any] | None = None) -> Any:
    """Compile a kernel; without numba, return its twin `plain`, or the kernel as plain Python."""
    if kernel is None:
        return partial(compiled, plain=plain)
    if numba is None:
        return plain or kernel
    return numba.njit(nogil=True, cache=True)(kernel)
