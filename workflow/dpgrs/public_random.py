"""Seeded draws for public choices: simulation, split and thinning. Noise never comes from here."""

import hashlib
from collections.abc import Sequence

import numpy as np

FLOAT_BITS = 53


def generator(
    seed: int,  # of the study, public
    *key: str | int,  # what the stream is for, for example ``"split", replicate``
) -> np.random.Generator:
    """Open the random stream (PCG64) that belongs to a seed and a key.

    Different keys give independent streams: a draw never moves because another part takes more or fewer
    numbers.

    Examples
    --------
    >>> int(generator(1, "split", 0).integers(1000)) == int(generator(1, "split", 0).integers(1000))
    True
    """
    digest = hashlib.sha256(repr((int(seed), *key)).encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))


def uniforms(
    seed: int,  # of the study, public
    names: Sequence[str],  # n names, for example sample ids or sites
    *key: str | int,  # what the numbers are for
) -> np.ndarray:
    """Return a number for every name, (n,) float64 in [0, 1), which depends only on the name, seed and key.

    Choices made by these numbers do not move when a person or a site comes or goes.

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
