"""Seeded draws for public choices: simulation, split and thinning. Noise never comes from here."""

import hashlib

import numpy as np


def generator(seed, *key):
    """Open the random stream that belongs to a seed and a key.

    Parameters
    ----------
    seed : int, the study's public seed.
    *key : str or int, what the stream is for, for example ``"split", trial``. Different keys give
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
