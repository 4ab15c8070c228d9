"""Releases by fits on variants chosen in private: what is charged, bundled, repeated and refused."""

from fractions import Fraction

import numpy as np
import pytest

from dpgrs.io.replicates import load_labelled
from dpgrs.study.released import load_released
from draws import fit_as_released
from step_studies import N_VARIANTS, NAMES

N_CHOSEN = 2
METHOD = "k-blup"


def settings(study, **privacy):
    return study.settings(METHOD, pure_epsilon="2", missing="counted", **privacy)


def test_release__is_charged_bundled_and_replayed(study):
    config = settings(study)
    study.hide_outcomes()
    noisy = study.release(config)
    first, files, statement = noisy.read_bytes(), study.bundle(config, noisy), study.statement()
    for name in NAMES:
        families = [one["mechanism"] for one in statement["mechanisms"] if one["outcome"] == name]
        assert families == ["choice", *["gaussian"] * 3]
    assert [one["statistic"] for one in statement["mechanisms"] if one["outcome"] is None] == ["count"]
    assert [score["n_variants"] for score in statement["scores"]] == [N_CHOSEN] * 3
    book = study.ledger(config).read()
    (account,) = book.budgets
    gaussian = [one for one in statement["mechanisms"] if one["mechanism"] == "gaussian"]
    squares = sum((Fraction(one["sensitivity"]) / Fraction(one["sigma"])) ** 2 for one in gaussian)
    assert book.spent(account).mu_squared == squares
    assert float(book.spent(account).pure_epsilon) == pytest.approx(0.5)
    before = study.ledger(config).path.read_bytes()
    noisy.unlink()
    assert study.release(config).read_bytes() == first
    assert study.bundle(config, noisy) == files
    assert study.ledger(config).path.read_bytes() == before


def test_fit__is_of_the_chosen_variants(study):
    config = settings(study)
    ((label, arrays),) = load_labelled(study.release(config))
    _, noisy = load_released(study.root / "noisy.npz", study.ledger(config).read())
    fit = fit_as_released(label, noisy, config)
    assert fit.weights.shape == (3, N_VARIANTS)
    np.testing.assert_array_equal(fit.chosen, np.sort(arrays["chosen"], axis=1))
    for weights, chosen in zip(fit.weights, arrays["chosen"], strict=True):
        assert set(np.flatnonzero(weights)) <= set(chosen.tolist())
        assert weights.any()
