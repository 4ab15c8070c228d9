"""Differentially private genomic risk scores."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
# For notebooks. Every job imports the package, and needs next to nothing of it.
_PLACES = {
    "plan": "dpgrs.api.notebook",
    "noisy_statistics": "dpgrs.api.notebook",
    "regress": "dpgrs.api.notebook",
    "gram_sensitivity": "dpgrs.privacy.sensitivity",
    "cross_sensitivity": "dpgrs.privacy.sensitivity",
    "gdp_mu": "dpgrs.privacy.accounting.accountant",
    "gdp_epsilon": "dpgrs.privacy.accounting.accountant",
    "totals": "dpgrs.privacy.accounting.composition",
    "open_release": "dpgrs.release.open_release",
    "verify_release": "dpgrs.verify.bundle",
    "apply_scores": "dpgrs.scoring.apply",
}
__all__ = [*_PLACES]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module `dpgrs` has no attribute `{name}`")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
