"""Compiles kernels by numba where it is installed. Without it numpy gives scores the same numbers, slowly."""

from functools import partial

try:
    import numba
except ModuleNotFoundError:
    numba = None


def compiled(kernel=None, *, plain=None):
    """Compile a kernel; without numba, return its twin `plain`, or the kernel as plain Python."""
    if kernel is None:
        return partial(compiled, plain=plain)
    if numba is None:
        return plain or kernel
    return numba.njit(nogil=True, cache=True)(kernel)
