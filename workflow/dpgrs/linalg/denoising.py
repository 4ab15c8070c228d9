"""What the eigenvectors of a noisy Gram matrix see of the matrix without noise.

References
----------
.. [1] Bun, Allez, Bouchaud, Potters (2016). Rotational invariant estimator for general noisy matrices. IEEE
   Trans. Inf. Theory 62(12).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

# In units of sqrt(d) s_G. Pure noise reaches 2; the small eigenvalues of G push the edge out a little.
BULK_EDGE = 2.1
BLOCK = 256  # eigenvalues at a time, to bound memory


@dataclass(frozen=True)
class NoisySpectrum:
    """The eigenvectors u_k of a noisy Gram matrix G~, and what they see of G."""

    eigenvalues: np.ndarray  # (n_variants,) float64, ascending, of G~
    vectors: np.ndarray  # (n_variants, n_variants) float64, u_k in column k
    first: np.ndarray  # (n_variants,) float64, u_k'G u_k and u_k'G^2 u_k, estimated; 0 <= first^2 <= second
    second: np.ndarray  # (n_variants,) float64, u_k'G u_k and u_k'G^2 u_k, estimated; 0 <= first^2 <= second
    trace: float  # estimate of that of G; 0 where the noise leaves nothing of G to be seen


def noisy_spectrum(
    gram: np.ndarray,  # (n_variants, n_variants) symmetric, noisy or exact
    *,
    gram_sd: float,  # >= 0, standard deviation of the noise of an entry; 0 where exact
) -> NoisySpectrum:
    """Decompose a noisy Gram matrix."""
    eigenvalues, U = eigh(gram)
    first, second = denoised_moments(eigenvalues, noise_sd=gram_sd)
    # Rounding leaves a constant or repeated column about d machine epsilons.
    is_zero = first <= len(first) * np.finfo(float).eps * first.max(initial=0)
    first, second = np.where(is_zero, 0, first), np.where(is_zero & (gram_sd == 0), 0, second)
    trace = max(float(np.trace(gram)), 0.0) if first.any() else 0.0
    return NoisySpectrum(eigenvalues, U, first, second, trace)


def denoised_means(
    gram: np.ndarray,  # (n_variants + 1, n_variants + 1) symmetric, noisy X'X, intercept x = 1/2 last
    n: float,  # > 0, number of rows
    *,
    gram_sd: float,  # >= 0, standard deviation of the noise of an entry
) -> np.ndarray:
    """Return the (n_variants,) column means of X, through the noise of its Gram matrix.

    In `half` coding the means are so large that they make the first eigenvector of X'X; the denoised matrix
    shows them much better than only the noisy intercept column.
    """
    spectrum = noisy_spectrum(gram, gram_sd=gram_sd)
    return 2 * (spectrum.vectors[:-1] * spectrum.first) @ spectrum.vectors[-1] / n


def denoised_moments(
    eigenvalues: np.ndarray,  # (d,) float64, ascending
    *,
    noise_sd: float,  # >= 0, of an entry of E
) -> tuple[np.ndarray, np.ndarray]:
    """Return u_k'G u_k and u_k'G^2 u_k for the eigenvectors u_k of G~ = G + E, from its eigenvalues only.

    With s = d noise_sd^2, g(z) the mean of 1/(z - lambda_j) and Z = z - s g, the mean resolvent of G~ at z is
    that of G at Z, seen from G~'s own eigenvectors [1]_, so that

        u'Gu = Im(Z g)/Im g,   u'G^2u = Im(Z^2 g - Z)/Im g.

    In the bulk z is a little off the axis, which averages over neighbours. Beyond it they are isolated;
    there the limit on the axis holds: u'Gu = lambda - 2 s Re g, u'G^2u = (u'Gu)^2 + s (1 - s |g|^2).

    The result is `first`, `second`, (d,) float64, ascending; 0 <= first^2 <= second.
    """
    s = len(eigenvalues) * noise_sd**2
    if s == 0:
        first = np.maximum(eigenvalues, 0)
        return first, first**2
    # In units of the bulk, so that no scale of the noise can overflow.
    x = eigenvalues / np.sqrt(s)
    offset = 1 / np.sqrt(len(x))
    g = resolvent(x, x, offset=offset)
    Z = x - 1j * offset - g
    is_alone = x > BULK_EDGE
    alone = x - 2 * g.real
    first = np.where(is_alone, alone, (Z * g).imag / g.imag)
    second = np.where(is_alone, alone**2 + 1 - np.abs(g) ** 2, (Z**2 * g - Z).imag / g.imag)
    from scipy.optimize import isotonic_regression  # takes 0.4 s, which most steps do without

    # Both rise with the eigenvalue; what falls is scatter of a finite matrix.
    first = np.maximum(isotonic_regression(first).x, 0) * np.sqrt(s)
    return first, np.maximum(isotonic_regression(second).x * s, first**2)


def resolvent(at: np.ndarray, eigenvalues: np.ndarray, *, offset: np.ndarray) -> np.ndarray:
    """Return the mean of 1/(z - eigenvalue) at z = at - i offset, block by block."""
    blocks = range(0, len(at), BLOCK)
    z = at - 1j * offset
    return np.concatenate([(1 / (z[i : i + BLOCK, np.newaxis] - eigenvalues)).mean(axis=1) for i in blocks])
