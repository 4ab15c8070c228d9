"""Sketched ReuseCov as a step of the workflow: the right rows, sample, noise and penalty."""

from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import Statistics, load_labelled
from dpgrs.linalg.statistics import half_units
from dpgrs.methods.reusecov import fit_reusecov
from dpgrs.steps import compute_statistics as statistics_step
from dpgrs.steps.fit_weights import fit_weights
from dpgrs.study import training_data
from dpgrs_papers.methods import benchmark_mechanisms as mechanisms_step
from dpgrs_papers.methods.sketch import private_sketch
from draws import draw_seeded
from random_cohorts import random_bits
from step_settings import settings_for
from variant_sets import variants_in_memory

D, N_HAPLOTYPES, PENALTY = 6, 400, 0.1
BITS = random_bits(D, N_HAPLOTYPES)
VARIANTS = variants_in_memory(
    BITS,
    of_size=lambda size: np.arange(1, 1 + size),
    n_haplotypes=N_HAPLOTYPES,
    sample_id=np.arange(N_HAPLOTYPES // 2).astype(str),
)
GRID = {
    "protections": ["full"],
    "accountings": ["gdp"],
    "epsilons": [2.0],
    "delta": 1e-5,
    "sizes": [4],
    "counts": [3],
    "neighbours": "replace-one",
    "unit": "person",
    "gram_share": 0.5,
    "count_share": 0.1,
    "outcome_bound": 2.0,
}


@pytest.fixture
def study(tmp_path, monkeypatch):
    """The paths of the outcomes and statistics of about a third of the people as training rows."""
    return made_of(VARIANTS, "haplotypes", "worst-case", tmp_path, monkeypatch)


def made_of(variant_set, rows, bounds, folder, monkeypatch):
    for step in (training_data, statistics_step):
        monkeypatch.setattr(step, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
    rng = np.random.default_rng(2)
    is_training = np.repeat(rng.random(N_HAPLOTYPES // 2) < 0.3, 2)
    values = {4: rng.standard_normal((3, N_HAPLOTYPES))}
    if rows == "people":
        is_training, values = is_training[::2], {4: values[4][:, ::2]}
    outcomes, statistics = folder / "outcomes.zarr", folder / "statistics.npz"
    Outcomes(("a", "b", "c"), values, {}, is_training, rows).save(outcomes)
    own = {"cohort": {"rows": rows}, "privacy": {"bounds": bounds}}
    settings = settings_for("compute-statistics", outcomes={"bound": 2.0, "count": 3}, **own)
    statistics_step.compute_statistics(settings, "variant_set", outcomes, output=statistics)
    return SimpleNamespace(outcomes=outcomes, statistics=statistics, is_training=is_training)


def sketched(study, tmp_path, *, share, **changes):
    """Draw and fit; return label and arrays of each fit."""
    terms = GRID | changes | {"regression": {"sketch_share": share}}
    files = {"statistics": study.statistics, "variant_set": "variant_set"}
    named = {"mechanism": "sketched-statistics", "method": ["reusecov-sketch"], "files": files}
    draw_seeded(study.outcomes, tmp_path / "drawn.npz", **named, **terms)
    return fits_of(tmp_path, "reusecov-sketch")


def fits_of(tmp_path, method):
    settings = settings_for("fit-weights", methods=[method], regression={"lambda": PENALTY})
    fitted = {"output": tmp_path / "weights.npz", "seconds": tmp_path / "seconds.tsv"}
    fit_weights(settings, [tmp_path / "drawn.npz"], **fitted)
    return load_labelled(fitted["output"])


def dosages():
    """Return the variant set of people with dosages that lie between calls."""
    half = half_units(BITS, n_haplotypes=N_HAPLOTYPES, rows="people").astype(np.int16) * np.int16(2**11)
    between = (half * 0.8 + np.arange(D)[:, np.newaxis] * 9).astype(np.int16)
    known = vars(VARIANTS) | {"frequency": np.linspace(0.3, 0.6, D)}
    own = {"genotypes", "haplotypes", "missing", "has_dosages", "is_table", "n_variants", "n_samples"}
    return variants_in_memory(between, **{name: known[name] for name in known.keys() - own})


@pytest.mark.parametrize("bounds", ["worst-case", "tight", "paper", "dosages"])
def test_sketch__of_everybody_with_hardly_any_noise_is_reusecov(tmp_path, monkeypatch, bounds):
    """Within the bounds of the study, whatever they are."""
    certain, variant_set = (
        {"epsilons": [1e4]},
        SimpleNamespace(**vars(VARIANTS), frequency=np.linspace(0.3, 0.6, D)),
    )
    if bounds == "dosages":
        study = made_of(dosages(), "people", "tight", tmp_path, monkeypatch)
    else:
        study = made_of(variant_set, "haplotypes", bounds, tmp_path, monkeypatch)
    ((label, arrays),) = sketched(study, tmp_path, share=1.0, **certain)
    files = {"statistics": study.statistics}
    draw_seeded(study.outcomes, tmp_path / "drawn.npz", files=files, **GRID | certain)
    ((plain, expected),) = fits_of(tmp_path, "reusecov-gauss")
    assert label | {"method": "reusecov-gauss"} == plain
    np.testing.assert_allclose(arrays["weights"], expected["weights"], rtol=0, atol=0.02)
    np.testing.assert_allclose(arrays["means"], expected["means"], rtol=0, atol=0.01)
    assert np.abs(expected["weights"]).max() > 0.1


@pytest.mark.parametrize(("unit", "rows_per_unit"), [("person", 2), ("haplotype", 1)])
def test_sketch__samples_the_share_of_the_training_units(study, tmp_path, monkeypatch, unit, rows_per_unit):
    seen = []

    def spy(bits, cross, is_unit_chosen, **options):
        seen.append((bits, is_unit_chosen, options))
        return private_sketch(bits, cross, is_unit_chosen, **options)

    monkeypatch.setattr(mechanisms_step, "private_sketch", spy)
    for replicate in (1, 2, 1):
        sketched(study, tmp_path, share=0.3, unit=unit, replicate=replicate)
    n_units = study.is_training.sum() // rows_per_unit
    for bits, is_unit_chosen, options in seen:
        np.testing.assert_array_equal(bits, BITS[1:5])
        np.testing.assert_array_equal(options["is_selected"], study.is_training)
        assert is_unit_chosen.shape == (n_units,)
        assert is_unit_chosen.sum() == options["request"].n_chosen == round(0.3 * n_units)
    first, other, again = (is_unit_chosen for _, is_unit_chosen, _ in seen)
    assert (first != other).any()
    np.testing.assert_array_equal(first, again)


def test_sketch__takes_the_penalty_and_at_least_one_unit(study, tmp_path, monkeypatch):
    released = []

    def spy(noisy, *, penalty, **options):
        released.append((noisy, penalty))
        return fit_reusecov(noisy, penalty=penalty, **options)

    monkeypatch.setattr(mechanisms_step, "fit_reusecov", spy)
    ((_, arrays),) = sketched(study, tmp_path, share=1e-9)
    ((noisy, penalty),) = released
    assert penalty == PENALTY
    assert noisy.n == Statistics.load(study.statistics).n_rows
    np.testing.assert_array_equal(arrays["weights"], fit_reusecov(noisy, penalty=PENALTY).weights)


@pytest.mark.parametrize("terms", [{"neighbours": "add-remove"}, {"protections": ["label"]}])
def test_sketch__left_out_where_the_proof_does_not_reach(study, tmp_path, terms):
    assert not sketched(study, tmp_path, share=0.5, **terms)
