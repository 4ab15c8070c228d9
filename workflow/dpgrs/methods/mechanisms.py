"""Mechanisms, which draw all noise, by name and by method.

A mechanism has a name in the ledger, so that two never share noise or stand for one another, and only its
own methods fit its releases.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from dpgrs.errors import UsageError
from dpgrs.methods.registry import CHOICES, DRAWN_FIRST, METHODS, drawn_first, fitter_of
from dpgrs.methods.sum_mechanisms import SharedStatistics
from dpgrs.selection.registry import SELECTORS

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.types import Protection

SHARED = SharedStatistics()


def mechanism_of(method: str | None, *, is_release: bool = True) -> SharedStatistics:
    """Return the mechanism from which a method is fitted; without one of its own it is ReuseCov's."""
    row = METHODS.get(method)
    if row is None or row.code is None:
        return SHARED
    fitter = fitter_of(method)
    return _instance((not is_release and fitter.mechanism_of_benchmark) or fitter.mechanism)


def audited_functions(method: str) -> tuple[str, ...]:
    """Return the functions that draw for a method and its selector in a release, beside `private_count`."""
    selector = METHODS[method].selector
    return (*(SELECTORS[selector].audited if selector else ()), *mechanism_of(method).audited)


def all_mechanisms() -> dict[str, SharedStatistics]:
    """Return all mechanisms by name; UsageError if two of them have one name, as one that inherits it."""
    mechanisms = {SHARED.name: SHARED}
    later = [_instance(drawn_first(name)) for name in DRAWN_FIRST]
    later += [mechanism_of(name, is_release=is_release) for name in METHODS for is_release in (True, False)]
    for mechanism in later:
        if type(mechanisms.setdefault(mechanism.name, mechanism)) is not type(mechanism):
            raise UsageError(
                "mechanism-named-twice",
                f"A mechanism must have a `name` that no other has, got {mechanism.name} of "
                f"{type(mechanism).__module__}:{type(mechanism).__name__}. State another in the class, or "
                "remove the package that adds it.",
            )
    return mechanisms


def mechanism_named(name: str | None) -> SharedStatistics:
    """Return a mechanism.

    It raises UsageError if there is none of this name.
    """
    mechanisms = all_mechanisms()
    if name not in mechanisms:
        raise UsageError(
            "mechanism-unknown",
            f"The name of a mechanism must be one of {', '.join(mechanisms)}, got {name}. Correct it.",
        )
    return mechanisms[name]


@cache
def _instance(mechanism: type[SharedStatistics]) -> SharedStatistics:
    return mechanism()


def mechanisms_of(methods: Sequence[str], *, is_release: bool) -> list[SharedStatistics]:
    """Return the mechanisms that a study draws by; a benchmark that takes sums also ReuseCov's, to attack it.

    The result is a list of mechanisms; the choices of a benchmark, on which others rest, come before these.
    """
    if is_release:
        return [mechanism_of(methods[0])]
    private = [name for name in methods if not METHODS[name].is_non_private]
    choices = [CHOICES] if any(METHODS[name].is_screened for name in private) else []
    mechanism_names = (mechanism_of(name, is_release=False).name for name in private)
    shared = [SHARED.name] * takes_sums(methods)
    return [mechanism_named(name) for name in dict.fromkeys([*shared, *choices, *mechanism_names])]


def fitted_from(
    mechanism: SharedStatistics,  # from `mechanism_named`
    methods: Sequence[str],  # of the study
    *,
    method: str | None,  # for which it was drawn; None where all methods of the mechanism share it
    protection: "Protection",  # under which it was
) -> list[str]:
    """Return which of a study's methods are fitted from one draw of a mechanism, a list of str."""
    candidates = [name for name in mechanism.methods if method in (None, name)]
    return [name for name in candidates if name in methods and protection in METHODS[name].protections]


def takes_sums(methods: Sequence[str]) -> bool:
    """Return whether any of a study's methods is fitted from X'X or X'Y of all variants as they are."""
    return any(not (METHODS[name].draws_from_rows or METHODS[name].takes_map) for name in methods)


def fits_all_rows(methods: Sequence[str]) -> bool:
    """Tell whether any of them, or its selector, holds the rows of all variants as numbers."""
    registered = (METHODS[name] for name in methods)
    return any(
        SELECTORS[method.selector].fits_rows if method.is_screened else method.reads_rows
        for method in registered
    )


def fits_groups(methods: Sequence[str]) -> bool:
    """Tell whether any of them has a selector that takes rows as numbers, one group at a time."""
    registered = (METHODS[name] for name in methods)
    return any(method.is_screened and SELECTORS[method.selector].fits_groups for method in registered)


def streams_genotypes(methods: Sequence[str], way: str) -> bool:
    """Tell whether all that reads rows, in a way of `Selector.streams`, reads some variants at a time."""
    registered = [METHODS[name] for name in methods]
    row_methods = [method for method in registered if method.draws_from_rows]
    return all(method.is_screened and way in SELECTORS[method.selector].streams for method in row_methods)


def mechanism_of_study(config: "StudyConfig") -> SharedStatistics:
    """Return the mechanism of a release, or ReuseCov's for a benchmark, which may have several."""
    return mechanism_of(config.methods[0] if config.mode == "release" else None)


def mechanism_of_file(label: dict[str, Any]) -> SharedStatistics:
    """Return the mechanism that the label of a file of draws names; errors as `mechanism_named`."""
    return mechanism_named(label.get("mechanism"))


def drawn_names(label: dict[str, Any]) -> tuple[str, ...]:
    """Return the names in the label of a draw: of components of outcomes, or of outcomes."""
    return tuple(label.get("components", label["outcomes"]))


def request_of(label: dict[str, Any]) -> "PrivacyRequest":
    """Return the PrivacyRequest of a label of noisy statistics, of the kind that its mechanism takes."""
    return mechanism_of_file(label).request(label["request"])
