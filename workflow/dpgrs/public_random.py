"""Seeded draws for public choices: simulation, split and thinning. Noise never comes from here."""

import hashlib

import numpy as np

FLOAT_BITS = 53


def generator(seed, *key):
    """Open the random stream that belongs to a seed and a key.

    Parameters
    ----------
    seed : int, the study's public seed.
    *key : str or int, what the stream is for, for example ``"split", replicate``. Different keys give
        independent streams, so a draw never moves because another part asked for more or fewer numbers.

    Returns
    -------
    numpy.random.Generator (PCG64).

    Examples
    --------
    >>> int(generator(1, "split", 0).integers(1000)) == int(generator(1, "split", 0).integers(1000))
    True
    """
    digest = hashlib.sha256(repr((int(seed), *key)).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))


def uniforms(seed, names, *key):
    """Give every name a number of its own: it depends on the name alone, not on who else is there.

    Choices made by these numbers do not move when a person or a site comes or goes.

    Parameters
    ----------
    seed : int, the study's public seed.
    names : sequence of n str, for example sample ids or sites.
    *key : str or int, what the numbers are for.

    Returns
    -------
    (n,) float64 in [0, 1).

    Examples
    --------
    >>> uniforms(1, ["b"], "split")[0] == uniforms(1, ["a", "b"], "split")[1]
    np.True_
    """
    keyed = hashlib.sha256(repr((int(seed), *key)).encode() + b"\0")
    numbers = np.empty(len(names))
    for i, name in enumerate(names):
        digest = keyed.copy()
        digest.update(name.encode())
        numbers[i] = int.from_bytes(digest.digest()[:8], "little") >> (64 - FLOAT_BITS)
    return numbers * 2.0**-FLOAT_BITS
