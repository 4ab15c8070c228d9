"""Kendall's correlations against answers made by other code, pair by pair, with tied outcomes."""

import numpy as np
import pytest

from dpgrs.selection.kendall import (
    correlations,
    feature_scores,
    genotype_scores,
    rank_weights,
)
from dpgrs.selection.merge_sort import sign_scores
from kendall_pairs import packed

pytestmark = pytest.mark.realdata
RANGES = {"haplotypes": 1, "people": 2}


@pytest.fixture(scope="module")
def answers(real_data):
    path = real_data.parent / "reference" / "kendall.npz"
    if not path.is_file():
        pytest.skip(f"no reference answers at {path}")
    return np.load(path)


@pytest.mark.parametrize(("rows", "name"), [("haplotypes", "haplotypes"), ("people", "dosages")])
def test_genotype_scores__equal_reference_answers(answers, rows, name):
    bits, options = packed(answers[name].T, rows)
    scores = genotype_scores(bits, rank_weights([answers["y"]]), **options)[0]
    correlated = correlations(scores, len(answers["y"]), pair_range=RANGES[rows])
    np.testing.assert_allclose(correlated, answers[f"tau_{name}"], rtol=1e-14)


def test_sign_scores__equal_reference_answers(answers):
    scores = sign_scores(answers["continuous"].T, answers["y"])
    correlated = correlations(scores, len(answers["y"]), pair_range=1)
    np.testing.assert_allclose(correlated, answers["tau_continuous"], rtol=1e-14)


def test_feature_scores__equal_reference_answers(answers):
    bits, options = packed(answers["haplotypes"].T, "haplotypes")
    columns = [feature_scores(bits, feature, **options) for feature in bits]
    correlated = correlations(np.array(columns), options["n_haplotypes"], pair_range=1)
    np.testing.assert_allclose(correlated, answers["tau_haplotype_pairs"], rtol=1e-14)
