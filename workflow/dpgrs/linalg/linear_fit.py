"""What every linear method returns, and its one solver."""

import hashlib
from dataclasses import dataclass, replace

import numpy as np

# The last decomposition, by the size and digest of its matrix.
_LAST = {}


@dataclass(frozen=True)
class LinearFit:
    """A linear predictor of each outcome: intercept + (x - means)'w, with x in `half` coding."""

    weights: np.ndarray  # (n_outcomes, n_variants) float64
    # (n_variants,) float64, of the variants; (n_outcomes, n_variants) where each outcome has its own.
    means: np.ndarray
    intercept: np.ndarray  # (n_outcomes,) float64, the prediction at the means
    # (n_outcomes, n_variants) float64 of the weights; None where a method gives none that are calibrated.
    standard_errors: np.ndarray | None = None
    # (n_outcomes, n_chosen) int64, ascending: the variants that were chosen for each outcome; all others have
    # a weight of 0. None where a method chooses none.
    chosen: np.ndarray | None = None
    # (2,) float64, how the people of public genotypes differ from the cohort's
    # (`dpgrs.methods.blup_ld.Mismatch`); None of fits without these.
    mismatch: np.ndarray | None = None
    # () float64, the share in the weights of a fit on public genotypes instead of the cohort's own X'X
    # (`dpgrs.methods.blup_hedged`); None of fits without such.
    public_share: np.ndarray | None = None
    # (n_outcomes,) float64, genetic correlations with public effects that were found
    # (`dpgrs.methods.public_effects`); None of fits without these.
    correlations: np.ndarray | None = None
    # () int64, how many factors effects on outcomes of a genome share (`dpgrs.methods.genome_shared`); None
    # of fits that found none.
    n_factors: np.ndarray | None = None

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the fit as a dict of arrays, from which `of` makes it again: of chosen variants no zeros."""
        arrays = {name: array for name, array in vars(self).items() if array is not None}
        return arrays if self.chosen is None else arrays | {"weights": self.weights_of_chosen}

    @classmethod
    def of(
        cls,
        arrays: dict[str, np.ndarray],
        # (n,) int64, ascending: of a fit of chosen variants, the only ones that the rows it predicts from
        # have; all that were chosen are among them. None for all.
        columns: np.ndarray | None = None,
    ) -> "LinearFit":
        """Return the LinearFit of what `arrays` gave."""
        fit = cls(**arrays)
        if fit.chosen is None:
            return fit
        if columns is not None:
            fit = replace(fit, means=fit.means[..., columns], chosen=np.searchsorted(columns, fit.chosen))
        weights = np.zeros((len(fit.weights), fit.means.shape[-1]))
        np.put_along_axis(weights, fit.chosen, fit.weights, axis=1)
        return replace(fit, weights=weights)

    @property
    def weights_of_chosen(self) -> np.ndarray:
        """The (n_outcomes, n_chosen) weights of the variants in `chosen`."""
        return np.take_along_axis(self.weights, self.chosen, axis=1)

    def in_half_coding(
        self,
        # (n_variants,) float64, the zero of the other coding in `half` coding; None of `half` itself.
        origin: np.ndarray,
    ) -> "LinearFit":
        """Return a fit on genotypes in another coding as one in `half` coding."""
        return self if origin is None else replace(self, means=self.means + origin)

    def of_centred_rows(self) -> "LinearFit":
        """Return a fit on rows less their own mean, without an intercept, as one in `half` coding."""
        weights = self.weights - self.weights.mean(axis=1, keepdims=True)
        return replace(self, weights=weights, standard_errors=None)

    def of_outcomes(
        self,
        # (n_outcomes, n_components) float64, what one unit of each component is of every outcome
        # (`dpgrs.linalg.components.mapped_loadings`); None returns the fit as it is.
        loadings: np.ndarray,
    ) -> "LinearFit":
        """Return the fit of outcomes whose components this one is of.

        The result is without standard errors: what components do not carry of an outcome is in none.
        """
        if loadings is None:
            return self
        outcome_fields = {"weights": loadings @ self.weights, "intercept": loadings @ self.intercept}
        return replace(self, **outcome_fields, standard_errors=None)

    def with_covariates(
        self,
        # (n_outcomes, n_covariates + 1) float64, the first column of the intercept
        # (`dpgrs.study.adjusted_outcomes.effects_of_fit`); None returns the fit as it is.
        effects: np.ndarray | None,
    ) -> "LinearFit":
        """Return a fit of adjusted outcomes with the covariates as columns after its variants."""
        if effects is None:
            return self
        effects = effects[: len(self.weights)]
        n_outcomes, n_covariates = len(effects), effects.shape[1] - 1
        first = self.means.shape[-1]
        columns = {"weights": effects[:, 1:], "means": np.zeros((*self.means.shape[:-1], n_covariates))}
        if self.standard_errors is not None:
            columns["standard_errors"] = np.zeros((n_outcomes, n_covariates))
        if self.chosen is not None:
            columns["chosen"] = np.tile(first + np.arange(n_covariates), (n_outcomes, 1))
        changed = {
            name: np.concatenate([getattr(self, name), appended], axis=-1)
            for name, appended in columns.items()
        }
        return replace(self, **changed, intercept=self.intercept + effects[:, 0])

    def times(self, factors: np.ndarray) -> "LinearFit":
        """Return the fit whose weights are multiplied by one number > 0 for each outcome."""
        factors = factors[:, np.newaxis]
        errors = None if self.standard_errors is None else self.standard_errors * factors
        return replace(self, weights=self.weights * factors, standard_errors=errors)

    def at(self, x: np.ndarray) -> np.ndarray:
        """Return the (n_outcomes,) predictions of one row x, (n_variants,) in `half` coding."""
        return self.intercept + (self.weights * (x - self.means)).sum(axis=1)

    def predict(
        self,
        X: np.ndarray,  # (n_rows, n_variants) float64, `half` coding
    ) -> np.ndarray:
        """Predict all outcomes.

        The result is (n_outcomes, n_rows) float64.
        """
        if self.chosen is None:
            predictions = self.weights @ X.T
        else:
            chosen = zip(self.weights_of_chosen, self.chosen, strict=True)
            predictions = np.array([X[:, columns] @ weights for weights, columns in chosen])
        return predictions + self.at(np.zeros(self.weights.shape[1]))[:, np.newaxis]


def centred_gram(
    G: np.ndarray,  # (n_variants + 1, n_variants + 1), X'X with the intercept x = 1/2 last
    n: float,  # number of rows
) -> tuple[np.ndarray, np.ndarray]:
    """Centre the columns of X after the fact, by its intercept column (docs/explanation/methods.md).

    The results are `G_c`, (n_variants, n_variants), G - n m m'; `means`, (n_variants,), m.
    """
    means = 2 * G[:-1, -1] / n
    return G[:-1, :-1] - n * np.outer(means, means), means


@dataclass(frozen=True)
class Spectrum:
    """A centred X'X decomposed once, to be solved for any right side and penalty."""

    eigenvalues: np.ndarray  # (n_variants,), (n_variants, n_variants) float64, of G_c/n
    U: np.ndarray  # (n_variants,), (n_variants, n_variants) float64, of G_c/n
    n: float  # number of rows

    @classmethod
    def of(cls, G_c: np.ndarray, n: float) -> "Spectrum":
        """Decompose G_c, (n_variants, n_variants) symmetric, exact or noisy.

        The last one is kept, as several methods and numbers of outcomes in turn are fitted from one matrix.
        """
        key = n, G_c.shape, hashlib.sha256(np.ascontiguousarray(G_c)).digest()
        spectrum = _LAST.get(key)
        if spectrum is None:
            from scipy.linalg import eigh  # takes 0.14 s, which predictions do without

            _LAST.clear()
            spectrum = _LAST[key] = cls(*eigh(G_c / n), n)
            spectrum.eigenvalues.flags.writeable = spectrum.U.flags.writeable = False
        return spectrum

    def inverse(self, penalty: float, *, keeps_negative: bool = False) -> np.ndarray:
        """Return the (n_variants,) eigenvalues of (G_+/n + penalty I)^-1; terms as of `ridge_weights`."""
        spectrum = (self.eigenvalues if keeps_negative else np.maximum(self.eigenvalues, 0.0)) + penalty
        # Entries of X are at most 1: even where G_c vanishes, rounding leaves about d machine epsilons.
        rounding = len(spectrum) * np.finfo(float).eps * max(1.0, np.abs(self.eigenvalues).max(initial=0.0))
        is_regular = np.abs(spectrum) > rounding
        return np.divide(1.0, spectrum, where=is_regular, out=np.zeros_like(spectrum))

    def ridge_weights(self, V: np.ndarray, *, penalty: float, keeps_negative: bool = False) -> np.ndarray:
        """Solve for V, (n_outcomes, n_variants); terms and result as of `ridge_weights`."""
        return (V / self.n @ self.U * self.inverse(penalty, keeps_negative=keeps_negative)) @ self.U.T

    def leverage(self, X_c: np.ndarray, *, penalty: float) -> np.ndarray:
        """Return the (n_rows,) x'(G_+ + n penalty I)^-1 x of rows, (n_rows, n_variants), less their means."""
        return (X_c @ self.U) ** 2 @ self.inverse(penalty) / self.n


def ridge_weights(
    G_c: np.ndarray,  # (n_variants, n_variants) symmetric, exact or noisy
    V: np.ndarray,  # (n_outcomes, n_variants), X'Y
    n: float,  # number of rows
    *,
    penalty: float,  # on the scale of a variance of X
    keeps_negative: bool = False,  # whether G_c is taken as it is, instead of G_+
) -> np.ndarray:
    """Solve (G_+/n + penalty I) w = v/n for every outcome with one factorisation.

    G_+ is the nearest matrix to G_c without negative eigenvalues. No X'X has any, but noise gives it some,
    and where one cancels the penalty the weights explode. A direction in which the sum is singular to
    rounding gets no weight (the pseudo-inverse), so OLS is the least-squares solution of smallest norm and
    constant or repeated variants are no error.

    The result is (n_outcomes, n_variants) float64.
    """
    return Spectrum.of(G_c, n).ridge_weights(V, penalty=penalty, keeps_negative=keeps_negative)
