"""Differentially private genomic risk scores."""

from importlib import import_module

__version__ = "0.1.0"
# For notebooks. Every job imports the package, and needs next to nothing of it.
_PLACES = {"open_release": "dpgrs.release.open_release"}
__all__ = [*_PLACES]


def __getattr__(name):
    if name not in _PLACES:
        raise AttributeError(f"module `dpgrs` has no attribute `{name}`")
    return getattr(import_module(_PLACES[name]), name)
