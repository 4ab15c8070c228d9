"""Settings and arrays of a study that a notebook describes, each checked before anything is drawn."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpgrs.config.schema import keys
from dpgrs.errors import UsageError, must
from dpgrs.io.outcomes import Outcomes
from dpgrs.methods.registry import METHODS
from dpgrs.study.settings import resolve
from dpgrs.types import Bounds, Missing, Rows

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dpgrs.config.study import StudyConfig

LARGEST_CALL = {Rows.HAPLOTYPES: 1, Rows.PEOPLE: 2}
# The sections that `settings` may change: arguments of the functions state the others.
SECTIONS = ("privacy", "regression", "screening")
SINGLE = ("outcomes.bound", "outcomes.missing")
ARGUMENTS = {"privacy.epsilon", "privacy.delta", "privacy.protection", "privacy.neighbours"}
OF_RELEASES = {"privacy.ledger", "privacy.budget"}


class Units(NamedTuple):
    """The units of outcomes: y = centre + scale * standardised, of (n_outcomes,) float64 each."""

    centre: np.ndarray
    scale: np.ndarray


def settings_of(
    epsilon: float,
    *,
    n_variants: int,
    n_outcomes: int,
    methods: Sequence[str],
    seed: int,
    rows: str = Rows.HAPLOTYPES,
    delta: float | None = None,
    protection: str = "full",
    neighbours: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> "StudyConfig":
    """Return the settings of a study of one request, a StudyConfig.

    Parameters
    ----------
    epsilon, delta : float; here and below None takes the default of the schema.
    n_variants, n_outcomes : int
    methods : list of str
    seed : int, public.
    rows : ``haplotypes`` or ``people``.
    protection : ``full``, ``feature`` or ``label``.
    neighbours : ``add-remove`` or ``replace-one``; None takes the only one that the protection allows.
    settings : dict of dotted keys to values, such as ``{"regression.heritability": 0.3}``.

    Raises
    ------
    UsageError
        For a key that is none or is said by an argument, and for values out of their domain.
    """
    if neighbours is None:
        neighbours = keys()["privacy.neighbours"]["default"] if protection == "full" else "replace-one"
    privacy = {"epsilon": [epsilon], "protection": [protection], "neighbours": neighbours}
    privacy |= {"accounting": ["gdp"], "bounds": str(Bounds.TIGHT)} | (
        {} if delta is None else {"delta": delta}
    )
    config = {
        "seed": seed,
        "cohort": {"rows": rows},
        "methods": methods,
        "replicates": 1,
        "variants": {"size": [n_variants]},
        "outcomes": {"count": [n_outcomes]},
        "privacy": privacy,
    }
    for key, setting in (settings or {}).items():
        _require_key(key)
        section, *between, name = key.split(".")
        section_keys = config.setdefault(section, {})
        for inner in between:
            section_keys = section_keys.setdefault(inner, {})
        section_keys[name] = setting
    return resolve(config)


def require_method(method: str, served: Sequence[str]) -> None:
    """Raise a UsageError unless a method is among those that can serve."""
    if method in served:
        return
    close = get_close_matches(str(method), served, n=1)
    fix = f"Did you mean `{close[0]}`?" if close and method not in METHODS else "Take one of them."
    raise UsageError("method-not-served", must("method", f"be one of {', '.join(served)}", method, fix))


def genotype_array(X: "ArrayLike", *, rows: str) -> np.ndarray:
    """Return the alleles of haplotypes: (n_variants, n_haplotypes) bool, two of a person side by side.

    Parameters
    ----------
    X : (n_rows, n_variants), as of `dpgrs.noisy_statistics`.
    rows : ``haplotypes`` or ``people``.

    Raises
    ------
    UsageError
        For another shape or other values, which are not told.
    """
    X, row_names = np.asarray(X), [str(row) for row in LARGEST_CALL]
    if rows not in row_names:
        raise UsageError("rows-unknown", must("rows", f"be {' or '.join(row_names)}", rows, "Correct it."))
    if X.ndim != 2 or 0 in X.shape:
        raise UsageError(
            "genotype-array-shape",
            must("X", "be (n_rows, n_variants)", f"an array of {X.shape}", "Reshape it."),
        )
    calls = range(LARGEST_CALL[rows] + 1)
    if X.dtype.kind not in "biuf" or not np.isin(X, list(calls)).all():
        words = " or ".join([", ".join(map(str, calls[:-1])), str(calls[-1])])
        fix = "Fill missing calls, and say by `rows` what a row is; `dpgrs tabular` takes real numbers."
        raise UsageError(
            "genotype-array-values",
            must("X", f"hold only {words} where rows are {rows}", "other values", fix),
        )
    if rows == Rows.PEOPLE:
        return np.stack([X >= 1, X == 2], axis=1).reshape(-1, X.shape[1]).T
    if len(X) % 2:
        fix = "Take both haplotypes of every person."
        raise UsageError(
            "odd-number-of-haplotypes",
            must("X", "have two rows a person where rows are haplotypes", "an odd number", fix),
        )
    return (X == 1).T


def frequency_array(frequency: "ArrayLike", *, n_variants: int) -> np.ndarray:
    """Return public frequencies as (n_variants,) float64; UsageError unless all lie between 0 and 1."""
    frequency = _numbers("frequency", frequency)
    if frequency.shape != (n_variants,):
        got = f"an array of {frequency.shape}"
        raise UsageError(
            "frequency-array-length",
            must("frequency", f"be one number for each of {n_variants} variants", got, "Correct it."),
        )
    if not ((frequency > 0) & (frequency < 1)).all():
        fix = "Leave such variants out."
        raise UsageError("frequency-out-of-range", must("frequency", "lie between 0 and 1", "others", fix))
    return frequency


def outcome_arrays(
    Y: "ArrayLike",
    *,
    n_rows: int,
    is_row: str,
    centre: "float | ArrayLike",
    scale: "float | ArrayLike",
    prevalence: "float | ArrayLike | None",
    missing: Missing,
    size: int,
) -> tuple[Outcomes, Units]:
    """Return standardised Outcomes, whose rows are all training rows, and their Units.

    Parameters
    ----------
    Y : (n_rows, n_outcomes) or (n_rows,), NaN where missing.
    n_rows : int
    is_row : Rows
    centre, scale, prevalence : public, as of `dpgrs.noisy_statistics`.
    missing : Missing
    size : int, n_variants.

    Raises
    ------
    UsageError
        For another shape, values that are no numbers, and scales out of their domain.
    """
    Y = _numbers("Y", Y)
    Y = Y[:, np.newaxis] if Y.ndim == 1 else Y
    if Y.ndim != 2 or len(Y) != n_rows or not Y.shape[1]:
        got = f"an array of {Y.shape}"
        raise UsageError(
            "outcome-array-rows",
            must("Y", f"have a row for each of the {n_rows} rows of `X`", got, "Match them."),
        )
    if np.isinf(Y).any() or (missing == Missing.NONE and np.isnan(Y).any()):
        fix = 'Where outcomes may be missing, give `settings={"outcomes.missing": "counted"}`.'
        raise UsageError("outcome-not-finite", must("Y", "hold finite numbers", "others", fix))
    n_outcomes, public = Y.shape[1], None
    if prevalence is not None:
        public = _each("prevalence", prevalence, n_outcomes)
        if not ((public > 0) & (public < 1)).all():
            raise UsageError(
                "prevalence-out-of-range", must("prevalence", "lie between 0 and 1", "others", "Correct it.")
            )
        if not np.isin(Y[~np.isnan(Y)], (0, 1)).all():
            raise UsageError(
                "binary-outcome-values",
                must("Y", "hold only 0 and 1 beside `prevalence`", "others", "Recode it."),
            )
        centre, scale = public, np.sqrt(public * (1 - public))
    units = Units(_each("centre", centre, n_outcomes), _each("scale", scale, n_outcomes))
    if not (np.isfinite(units.centre).all() and np.isfinite(units.scale).all() and (units.scale > 0).all()):
        raise UsageError(
            "scale-out-of-range",
            must("scale", "be finite and above 0, with a finite `centre`", "others", "Correct it."),
        )
    names = tuple(f"outcome_{number}" for number in range(1, n_outcomes + 1))
    standardised = {size: ((Y - units.centre) / units.scale).T}
    is_training = np.ones(n_rows, dtype=bool)
    return Outcomes(names, standardised, {}, is_training, Rows(is_row), prevalence=public), units


def _numbers(name: str, numbers: "ArrayLike") -> np.ndarray:
    try:
        return np.asarray(numbers, dtype=float)
    except (TypeError, ValueError):
        raise UsageError("array-not-numeric", must(name, "hold numbers", "others", "Convert it.")) from None


def _each(name: str, numbers: "ArrayLike", n_outcomes: int) -> np.ndarray:
    numbers = _numbers(name, numbers)
    if numbers.shape not in ((), (1,), (n_outcomes,)):
        got = f"an array of {numbers.shape}"
        raise UsageError(
            "array-length",
            must(name, f"be one number, or one for each of {n_outcomes} outcomes", got, "Correct it."),
        )
    return np.broadcast_to(numbers, (n_outcomes,))


def _require_key(key: str) -> None:
    changeable = [
        name
        for name in keys()
        if (name.partition(".")[0] in SECTIONS or name in SINGLE) and name not in ARGUMENTS | OF_RELEASES
    ]
    if key in ARGUMENTS:
        fix = f"Give the argument `{key.rpartition('.')[2]}`."
        raise UsageError(
            "argument-in-settings", must("settings", "name no argument of the function", f"`{key}`", fix)
        )
    if key not in changeable:
        close = get_close_matches(str(key), changeable, n=1)
        fix = f"Did you mean `{close[0]}`?" if close else f"There are {', '.join(changeable)}."
        raise UsageError(
            "setting-not-of-benchmark",
            must("settings", "name keys of a benchmark's draws and fits", f"`{key}`", fix),
        )
