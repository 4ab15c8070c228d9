"""Kendall statistics by their definition, one pair of rows at a time, and what DPKendall is asked for."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpgrs.genotypes.bits import pack
from dpgrs.genotypes.dosages import STEPS_PER_ALLELE
from dpgrs.privacy.digests import data_digest
from dpgrs.selection.dp_kendall import KendallRequest, TablePairs, genotype_pairs
from row_enumeration import UNIT_OF_A_ROW

OF_GENOTYPES = ("bounded", "product")
KERNELS = dict.fromkeys(("haplotypes", "people", "dosages"), OF_GENOTYPES) | {"table": ("sign", "sign")}
# Fractional dosages are in steps of 2^-12.
FEATURE_VALUES = {
    "haplotypes": [0, 1],
    "people": [0, 1, 2],
    "dosages": [0, 3001, 8192, 4096],
    "table": [-1, 0, 2, 5],
}


def pair_sum(x, y, kernel):
    """Sum a kernel over all pairs of rows, in units of 1/range or 1/range^2; no pair has a missing value."""
    x, y = (np.asarray(values, dtype=float) for values in (x, y))
    by_x, by_y = x[:, np.newaxis] - x, y[:, np.newaxis] - y
    by_x = np.sign(by_x) if kernel == "sign" else by_x
    by_y = by_y if kernel == "product" else np.sign(by_y)
    return round(np.nansum(by_x * by_y) / 2)


def packed(genotypes, rows):
    """Pack (n_variants, n_rows) alleles or dosages 0, 1 and 2; return bits and options of the functions.

    Of rows ``dosages``, fractional ones in steps, return these as functions take them.
    """
    genotypes = np.asarray(genotypes)
    if rows == "dosages":
        options = {"n_haplotypes": 2 * genotypes.shape[1], "rows": "people"}
        return (genotypes - STEPS_PER_ALLELE).astype(np.int16), options
    if rows == "people":
        alleles = np.stack([genotypes > 0, genotypes > 1], axis=-1)
        genotypes = alleles.reshape(len(genotypes), 2 * genotypes.shape[1])
    return pack(genotypes), {"n_haplotypes": genotypes.shape[1], "rows": rows}


def make_pairs(features, y, kind):
    """Pair (n_features, n_rows) features with an outcome."""
    features, y = np.asarray(features), np.asarray(y, dtype=float)
    if kind == "table":
        return TablePairs(features.astype(float), y)
    bits, options = packed(features, kind)
    return genotype_pairs(bits, y[np.newaxis], **options)[0]


def make_request(kind="people", **terms):
    """Ask for three features of a kind, or on other terms."""
    against_outcome, against_feature = KERNELS[kind]
    rows = "haplotypes" if kind == "haplotypes" else "people"
    defaults = {"n_choices": 3, "epsilon": 1.0, "rows": rows, "unit": UNIT_OF_A_ROW[rows]}
    kernels = {"against_outcome": against_outcome, "against_feature": against_feature}
    return KendallRequest(**defaults | kernels | terms)


def digest_of(features, y):
    """Digest all that a choice is made of."""
    return data_digest(np.asarray(features), np.asarray(y))


def drawn_data(data, kind, n_rows, n_features=4):
    """Let hypothesis draw features and an outcome, with ties and missing outcomes."""
    X = data.draw(hnp.arrays(np.int64, (n_features, n_rows), elements=st.sampled_from(FEATURE_VALUES[kind])))
    y = data.draw(hnp.arrays(float, n_rows, elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0, 3.0, np.nan])))
    return X, y


def study(kind="people", n_features=12, n_rows=60, seed=0):
    """Return features, the best of them twice, and an outcome."""
    rng = np.random.default_rng(seed)
    X = rng.choice(FEATURE_VALUES[kind], (n_features, n_rows))
    X[4] = X[2]
    y = X[2] + X[7] / 2 + rng.standard_normal(n_rows)
    y[rng.random(n_rows) < 0.1] = np.nan
    return X, y


def in_taus(score, chosen):
    """Return the scores of a round as fractions, in units of tau^."""
    scores, unit = score(np.array(chosen, dtype=np.int64))
    return [int(one) * unit for one in scores]
