"""ReuseCov (PRIMO, Algorithm 1) with Gaussian noise: one noisy Gram matrix serves all outcomes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.errors import UsageError
from dpgrs.linalg.linear_fit import LinearFit, centred_gram, ridge_weights
from dpgrs.linalg.norms import budget_groups
from dpgrs.privacy.sensitivity import count_sensitivity
from dpgrs.types import Coding, Rows

if TYPE_CHECKING:
    from dpgrs.linalg.steering import Steering
    from dpgrs.methods.requests import PrivacyRequest
    from dpgrs.privacy.accounting.events import GaussianEvent
    from dpgrs.privacy.noise.base import NoiseSource

# In rows: so fine that the noise of several counts together hardly falls on the same sum twice.
COUNT_STEP = 2.0**-10
# Standard deviations of the noise of a count of rows; below, an outcome is taken as known on so many.
SMALLEST_KNOWN = 3


@dataclass(frozen=True)
class NoisyStatistics:
    """Statistics after the mechanisms: all that follows is post-processing."""

    # (n_variants + 1, n_variants + 1) float64 symmetric, noisy X'X, intercept last; None where none was
    # released. Covariates count as variants and follow these, here and below.
    gram: np.ndarray | None
    cross: np.ndarray  # (n_outcomes, n_variants) float64, noisy X'Y
    n: int  # the number of rows: noisy under add-remove, exact and public under replace-one
    events: tuple = ()
    # (n_variants,) float64, public: the zero of the request's coding, in `half` coding, and 0 for covariates;
    # None where that is its coding.
    origin: np.ndarray | None = None
    # (n_outcomes,) float64 above 0, on how many rows each outcome is known: noisy, or public; None takes all
    # as known.
    observed: np.ndarray | None = None
    # (n_outcomes,) float64, noisy: on how many rows each outcome is 1, of 0/1 outcomes; only noise for
    # others. None if they are not counted. No fit takes them.
    cases: np.ndarray | None = None
    # (n_outcomes,) float64 in (0, 1], how much of its effects X'Y shows of each outcome, as it was clipped:
    # public (`dpgrs.linalg.attenuation`). None takes all as shown in full.
    slopes: np.ndarray | None = None
    # The turn of the rows: `cross` then has a column for each direction of it, and only noise in all other
    # columns.
    steering: "Steering | None" = None
    # (n_all, n_outcomes) float64, public: maps weights of components, which count as outcomes above, back to
    # outcomes (`LinearFit.of_outcomes`); None if there are no components.
    loadings: np.ndarray | None = None
    # (n_moments,) float64, noisy second moments of rows within LD blocks (`dpgrs.methods.genome_moments`);
    # None where none were released.
    moments: np.ndarray | None = None

    @property
    def inflation(self) -> np.ndarray:
        """The factors of X'Y that make up for rows without an outcome: (n_outcomes,) float64 >= 1."""
        if self.observed is None:
            return np.ones(len(self.cross))
        return np.maximum(self.n / self.observed, 1.0)

    @property
    def model_terms(self) -> dict[str, np.ndarray | None]:
        """Inflation and slopes as fits by a model take them, a dict; None where all outcomes are known."""
        return {
            "inflation": None if self.observed is None else self.inflation,
            "slopes": self.slopes,
        }

    @property
    def shown(self) -> np.ndarray:
        """The slopes, of all outcomes: (n_outcomes,) float64 in (0, 1]."""
        return np.ones(len(self.cross)) if self.slopes is None else self.slopes


def private_statistics(
    gram: np.ndarray,
    cross: np.ndarray,
    n_rows: int,
    *,
    request: "PrivacyRequest",
    noise: "NoiseSource",
    outcome_names: Sequence[str] | None = None,
    observed: np.ndarray | None = None,
    cases: np.ndarray | None = None,
) -> NoisyStatistics:
    """Release the number of rows, X'X and X'Y; if the genotypes are public, only X'Y.

    Where outcomes may be missing, the numbers of rows on which they are known are released too, and numbers
    of cases where the request counts them.

    Parameters
    ----------
    gram : (n_variants + 1, n_variants + 1) int64 in units of the request's `gram_step`, intercept last.
    cross : (n_outcomes, n_variants + 1) int64 in units of its `cross_step`, intercept last; of as many
        outcomes as the request says, or a multiple: every so many of them have a budget of their own.
    n_rows : int, rows that were summed.
    request : PrivacyRequest
    noise : NoiseSource. Its parts are ``genotypes``, and ``outcomes`` with their names for each budget.
    outcome_names : n_outcomes str, public; None numbers them.
    observed : (n_outcomes,) int64, rows on which each outcome is known; read if the request counts them.
    cases : (n_outcomes,) int64, rows on which each outcome is 1, as in `private_case_counts`; likewise.

    Returns
    -------
    NoisyStatistics

    Privacy
    -------
    Unit and neighbours as requested. The composition of `private_count`, `private_outcome_counts` and
    `private_case_counts` (docs/proofs/count.md), `private_gram` (docs/proofs/gram.md) and
    `private_cross_product` (docs/proofs/cross_product.md), one GaussianEvent each, is (epsilon, delta)-DP for
    the outcomes of one budget; with several budgets the whole costs more (docs/explanation/accounting.md).
    Public: all of the request; n under replace-one. Not covered: relatives.

    Raises
    ------
    UsageError
        If the statistics do not have the shape of the request.
    """
    names = outcome_names or [str(number) for number in range(len(cross))]
    require_shapes(gram, cross, observed, names=names, request=request, cases=cases)
    n, noisy_gram, events = draw_genotypes(gram, n_rows, request=request, noise=noise)
    draw_options = {"names": names, "request": request, "noise": noise, "cases": cases}
    noisy_cross, counts, more = draw_outcomes(cross, observed, **draw_options)
    return NoisyStatistics(noisy_gram, noisy_cross, n, events + more, **counts)


def draw_genotypes(
    gram: np.ndarray | None, n_rows: int, *, request: "PrivacyRequest", noise: "NoiseSource"
) -> "tuple[int, np.ndarray | None, tuple[GaussianEvent, ...]]":
    """Release the number of rows and X'X, as far as they are private; parameters as in `private_statistics`.

    Returns
    -------
    int, the matrix or None, and a tuple of events.

    Privacy
    -------
    As `private_count` and `private_gram`.
    """
    genotypes, events = noise.of("genotypes"), ()
    if request.has_private_count:
        n_rows, event = private_count(n_rows, request=request, noise=genotypes)
        events += (event,)
    if not request.has_private_gram:
        return n_rows, None if gram is None else gram * request.gram_step, events
    noisy, event = private_gram(gram, n_rows, request=request, noise=genotypes)
    return n_rows, noisy, (*events, event)


def draw_outcomes(
    cross: np.ndarray,
    observed: np.ndarray | None,
    *,
    names: Sequence[str],
    request: "PrivacyRequest",
    noise: "NoiseSource",
    marks: Sequence[tuple[str, ...]] | None = None,
    cases: np.ndarray | None = None,
) -> "tuple[np.ndarray, dict[str, np.ndarray | None], tuple[GaussianEvent, ...]]":
    """Release X'Y, on how many rows outcomes are known, and on how many they are 1.

    Parameters
    ----------
    cross, observed, names, request, noise, cases : as in `private_statistics`.
    marks : for each budget a tuple of `data_digest`s of all that its X'Y is made of, if this depends on
        earlier draws (`NoiseSource.on`); None if it does not.

    Returns
    -------
    (n_outcomes, n_variants) float64, a dict of ``observed`` and ``cases``, (n_outcomes,) float64 or None, and
    a tuple of events.

    Privacy
    -------
    As `private_outcome_counts`, `private_cross_product` and `private_case_counts`, once for every budget.
    """
    is_counted, events = request.has_private_outcome_counts, ()
    noisy, noisy_counts = np.empty((len(cross), request.n_columns)), np.empty(len(cross))
    noisy_cases = np.empty(len(cross)) if request.counts_cases else None
    for number, group in enumerate(budget_groups(len(cross), n_shared=request.n_outcomes)):
        outcomes = noise.of("outcomes", *names[group])
        outcomes = outcomes if marks is None else outcomes.on(*marks[number])
        if is_counted:
            noisy_counts[group], event = private_outcome_counts(
                observed[group], request=request, noise=outcomes
            )
            events += (event,)
        noisy[group], event = private_cross_product(cross[group], request=request, noise=outcomes)
        events += (event,)
        if noisy_cases is not None:
            noisy_cases[group], event = private_case_counts(cases[group], request=request, noise=outcomes)
            events += (event,)
    return noisy, {"observed": noisy_counts if is_counted else None, "cases": noisy_cases}, events


def require_shapes(
    gram: np.ndarray | None,
    cross: np.ndarray | None,
    observed: np.ndarray | None,
    *,
    names: Sequence[str],
    request: "PrivacyRequest",
    cases: np.ndarray | None = None,
) -> None:
    """Raise a UsageError if statistics do not have the shape of a request; None is not checked."""
    size, shares = request.n_columns + 1, request.n_outcomes
    is_off = gram is not None and gram.shape != (size, size)
    is_off |= cross is not None and cross.shape != (len(names), size)
    if is_off or len(names) % shares:
        n_columns = size if cross is None else cross.shape[1]
        raise UsageError(
            "statistics-shape",
            f"The statistics must be of {request.n_columns} variants and {shares} outcomes a budget, "
            f"got {n_columns - 1} and {len(names)}. Recompute them for this study.",
        )
    if request.has_private_outcome_counts:
        require_counts(observed, n_outcomes=len(names))
    if request.counts_cases:
        require_counts(cases, n_outcomes=len(names), name="cases")


def require_counts(observed: np.ndarray | None, *, n_outcomes: int, name: str = "observed") -> None:
    """Raise a UsageError if there is not one number of rows for each outcome."""
    if np.shape(observed) != (n_outcomes,):
        raise UsageError(
            "counts-shape",
            f"`{name}` must be a number of rows for each of {n_outcomes} outcomes, got an array of "
            f"{np.shape(observed)}. Count the rows on which each is {'1' if name == 'cases' else 'known'}.",
        )


def private_count(
    n_rows: int, *, request: "PrivacyRequest", noise: "NoiseSource"
) -> "tuple[int, GaussianEvent]":
    """Release the number of rows, at least 1; parameters as in `private_statistics`.

    Returns
    -------
    int, and the event.

    Privacy
    -------
    Unit as requested, neighbours add-remove. Sensitivity 1 a row: docs/proofs/count.md. Event GaussianEvent.
    """
    noisy, event = noise.gaussian(
        n_rows,
        name="count",
        step=1.0,
        sensitivity=count_sensitivity(**request.relation),
        mu=request.budget["count"],
    )
    return max(int(noisy), 1), event


def private_outcome_counts(
    observed: np.ndarray, *, request: "PrivacyRequest", noise: "NoiseSource"
) -> "tuple[np.ndarray, GaussianEvent]":
    """Release on how many rows each outcome is known.

    Parameters
    ----------
    observed : (n_outcomes,) int64, of the outcomes of one budget.
    request, noise : as in `private_statistics`.

    Returns
    -------
    (n_outcomes,) float64, at least 1 and at least `SMALLEST_KNOWN` standard deviations of the noise, and the
    event. With fewer rows, X'Y is lost in its noise, which the inflation would blow up.

    Privacy
    -------
    Unit and neighbours as requested. Sensitivity `outcome_counts_sensitivity`: docs/proofs/count.md. Event
    GaussianEvent. Public: that outcomes may be missing.
    """
    noisy, event = noise.gaussian(
        np.asarray(observed) * int(1 / COUNT_STEP),
        name="outcome counts",
        step=COUNT_STEP,
        sensitivity=request.observed_claim,
        mu=request.budget["observed"],
    )
    fewest = max(1.0, SMALLEST_KNOWN * request.noise_sd["observed"])
    return np.maximum(noisy * COUNT_STEP, fewest), event


def private_case_counts(
    cases: np.ndarray, *, request: "PrivacyRequest", noise: "NoiseSource"
) -> "tuple[np.ndarray, GaussianEvent]":
    """Release on how many rows each outcome is 1.

    Parameters
    ----------
    cases : (n_outcomes,) int64, of the outcomes of one budget: rows on which a 0/1 outcome is 1; 0 of others,
        which public constants tell apart.
    request, noise : as in `private_statistics`.

    Returns
    -------
    (n_outcomes,) float64, which noise can bring below 0 or above all rows, and the event.

    Privacy
    -------
    Unit and neighbours as requested. Sensitivity `outcome_counts_sensitivity`: docs/proofs/count.md. Event
    GaussianEvent. Public: which outcomes are 0/1.
    """
    noisy, event = noise.gaussian(
        cases * int(1 / COUNT_STEP),
        name="case counts",
        step=COUNT_STEP,
        sensitivity=request.observed_claim,
        mu=request.budget["cases"],
    )
    return noisy * COUNT_STEP, event


def private_gram(
    gram: np.ndarray, n: int, *, request: "PrivacyRequest", noise: "NoiseSource"
) -> "tuple[np.ndarray, GaussianEvent]":
    """Release X'X with noise on its upper triangle.

    Entries that are n/4 whatever the genotypes (haplotypes in `half` coding: the diagonal; else the
    intercept's) are set from the n that is public by now, never computed from the data.

    Parameters
    ----------
    gram : (n_variants + 1, n_variants + 1) int64 in units of the request's `gram_step`, intercept last.
    n : int, public or already released.
    request, noise : as in `private_statistics`.

    Returns
    -------
    (n_variants + 1, n_variants + 1) float64 symmetric, and the event.

    Privacy
    -------
    Unit and neighbours as requested. Sensitivity `gram_sensitivity`: docs/proofs/gram.md, and with clipped
    rows docs/proofs/clipped_gram.md. Event GaussianEvent. Public: all of the request.
    """
    upper = noisy_entries(request.n_columns, rows=request.rows, coding=request.coding)
    noisy, event = noise.gaussian(
        gram[upper],
        name="gram",
        step=request.gram_step,
        sensitivity=request.gram_claim,
        mu=request.budget["gram"],
    )
    # n/4 everywhere on the diagonal; the draws overwrite those entries that are not public.
    G = np.diag(np.full(len(gram), n / 4))
    G[upper] = G.T[upper] = noisy * request.gram_step
    return G, event


def private_cross_product(
    cross: np.ndarray, *, request: "PrivacyRequest", noise: "NoiseSource"
) -> "tuple[np.ndarray, GaussianEvent]":
    """Release X'Y without its intercept column: outcomes are standardised with public constants.

    Parameters
    ----------
    cross : (n_outcomes, n_variants + 1) int64 in units of the request's `cross_step`, intercept last.
    request, noise : as in `private_statistics`.

    Returns
    -------
    (n_outcomes, n_variants) float64, and the event.

    Privacy
    -------
    Unit and neighbours as requested. Sensitivity `cross_sensitivity`: docs/proofs/cross_product.md. Event
    GaussianEvent. Public: the outcome bound.
    """
    noisy, event = noise.gaussian(
        cross[:, :-1],
        name="cross product",
        step=request.cross_step,
        sensitivity=request.cross_claim,
        mu=request.budget["cross"],
    )
    return noisy * request.cross_step, event


def fit_reusecov(
    noisy: NoisyStatistics, *, penalty: float | np.ndarray, keeps_negative: bool = False
) -> LinearFit:
    """Solve W = (G_c/n + penalty I)^-1 V/n_j for all outcomes, with G_c = G - n m m'
    (docs/explanation/methods.md).

    n_j is the number of rows on which outcome j is known, and `penalty`, public, is at least 0, per row.

    Negative eigenvalues of G_c, which only noise can cause, count as 0, unless they are kept as in the PRIMO
    paper. Outcomes are taken to have mean 0: a noisy mean would put noise along m into X'Y and ruin the fit.
    """
    G_c, means = centred_gram(noisy.gram, noisy.n)
    V, options = noisy.cross * (noisy.inflation / noisy.shown)[:, np.newaxis], {"penalty": penalty}
    weights = ridge_weights(G_c, V, noisy.n, **options, keeps_negative=keeps_negative)
    return LinearFit(weights, means, np.zeros(len(weights)))


def n_noisy_entries(request: "PrivacyRequest") -> int:
    """Count the `noisy_entries` of X'X of a request, without making them."""
    d = request.n_columns
    if request.coding == Coding.FREQUENCY or (request.coding == Coding.HALF and request.rows == Rows.PEOPLE):
        return (d + 1) * (d + 2) // 2 - 1
    return d * (d + 1) // 2


def noisy_entries(n_variants: int, *, rows: Rows, coding: Coding = Coding.HALF) -> np.ndarray:
    """Tell which entries of X'X carry noise, a square of bool: its upper triangle without entries of n/4."""
    is_public_diagonal = Rows(rows) == Rows.HAPLOTYPES and Coding(coding) == Coding.HALF
    entries = ~np.tri(n_variants + 1, k=0 if is_public_diagonal else -1, dtype=bool)
    # Public: the intercept's product with itself, or its whole column, as centred rows have no intercept.
    entries[slice(None) if Coding(coding) == Coding.ROW_CENTRED else -1, -1] = False
    return entries
