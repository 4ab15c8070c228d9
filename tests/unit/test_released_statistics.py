"""The noisy statistics in a bundle: what they are, and fits that follow from them."""

import json
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import norm

import dpgrs
from dpgrs.errors import UsageError
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import load_labelled
from dpgrs.linalg.attenuation import clip_moments
from dpgrs.methods.requests import PrivacyRequest
from dpgrs.methods.reusecov import NoisyStatistics
from dpgrs.release.marginal_effects import marginal_effects
from dpgrs.release.open_release import refits
from dpgrs.release.statistics_files import released_statistics
from dpgrs.verify.draw_check import has_statistics
from dpgrs.verify.scoring_check import column_numbers, read_scoring_file
from outcome_files import write_outcomes
from refused import refused
from step_studies import NAMES, HaplotypeStudy

ARRAYS = "statistics/statistics.npz"
EFFECTS = "statistics/b.tsv.gz"


def arrays_of(folder):
    with np.load(folder / ARRAYS) as arrays:
        return dict(arrays)


def published_weights(folder, outcome):
    scores = json.loads((folder / "privacy_statement.json").read_text())["scores"]
    (file,) = [score["file"] for score in scores if score["outcome"] == outcome]
    return column_numbers(read_scoring_file(folder / file).numbers)


def test_bundle__holds_the_outputs_of_the_mechanisms_and_public_constants_alone(published):
    folder, ((label, drawn),) = published.root / "bundle", load_labelled(published.root / "noisy.npz")
    arrays = arrays_of(folder)
    assert arrays.keys() == {"gram", "cross", "observed", "frequency", "slopes", "squares"}
    for name in ("gram", "cross", "observed"):
        assert np.array_equal(arrays[name], drawn[name]), name  # the sites are in order already
    assert arrays["frequency"].tolist() == [0.2, 0.4, 0.3, 0.45]
    request = label["request"]
    terms = {"bound": request["outcome_bound"], "norm": request["outcome_norm"], "n_shared": 3}
    moments = clip_moments([np.nan] * 3, **terms)
    np.testing.assert_array_equal([arrays["slopes"], arrays["squares"]], moments)


def test_bundle__effects_are_gwas_ssf_with_metadata(published):
    folder, ((label, _),) = published.root / "bundle", load_labelled(published.root / "noisy.npz")
    arrays, table = arrays_of(folder), pd.read_csv(folder / EFFECTS, sep="\t")
    assert table.columns[:4].tolist() == ["chromosome", "base_pair_location", "effect_allele", "other_allele"]
    assert table["base_pair_location"].tolist() == [10, 11, 12, 13]
    z = table["beta"] / table["standard_error"]
    np.testing.assert_allclose(table["neg_log_10_p_value"], -np.log10(2 * norm.sf(abs(z))), rtol=1e-4)
    n, p = min(arrays["observed"][1], label["n"]), arrays["frequency"]
    np.testing.assert_allclose(
        table["beta"], arrays["cross"][1] / (arrays["slopes"][1] * n * 2 * p * (1 - p)), rtol=1e-9
    )
    assert table["n"].tolist() == [round(n)] * 4
    meta = yaml.safe_load((folder / f"{EFFECTS}-meta.yaml").read_text())
    assert (meta["trait_description"], meta["samples"]) == (["b"], [{"sample_size": round(n)}])


@pytest.mark.parametrize("bounds", ["tight", "worst-case"])
@pytest.mark.parametrize("method", ["reusecov-gauss", "blup-shared", "adassp"])
def test_open_release__refits_what_was_published(study, method, bounds):
    folder = study.publish(method, bounds=bounds)
    assert refits(folder)
    refit = dpgrs.open_release(folder).fit()
    for name in NAMES:
        np.testing.assert_allclose(refit.weights[name], published_weights(folder, name), rtol=1e-5)
    constants = pd.read_csv(folder / "constants.tsv", sep="\t", index_col="outcome")["constant"]
    np.testing.assert_allclose(refit.constants[list(NAMES)], constants[list(NAMES)], rtol=1e-5)


def test_open_release__refits_missing_outcomes_and_their_noise(published):
    folder, ((label, _),) = published.root / "bundle", load_labelled(published.root / "noisy.npz")
    opened = dpgrs.open_release(folder)
    for name in NAMES:
        np.testing.assert_allclose(opened.fit().weights[name], published_weights(folder, name), rtol=1e-5)
    stated = {part["statistic"]: float(part["sigma"]) for part in opened.statement["mechanisms"]}
    assert opened.noise_sd["cross"] == stated["cross product"]
    assert opened.noise_sd == pytest.approx(PrivacyRequest(**label["request"]).noise_sd, rel=1e-9)
    assert not np.allclose(opened.fit(heritability=0.9).weights, opened.fit(heritability=0.1).weights)
    assert "reusecov-gauss" in opened.methods
    assert "blup-ld" not in opened.methods
    ridge = opened.fit("reusecov-gauss").weights
    assert not np.allclose(opened.fit("reusecov-gauss", lambda_=5.0).weights, ridge)


@pytest.mark.parametrize(("method", "terms"), [("ridge", {}), ("blup-ld", {}), (None, {"epsilon": 3})])
def test_open_release__refuses_what_cannot_be_fitted(published, method, terms):
    with pytest.raises(UsageError, match="must be"):
        dpgrs.open_release(published.root / "bundle").fit(method, **terms)


def test_open_release__each_outcome_with_a_budget_of_its_own(study):
    folder = study.publish("reusecov-gauss", bounds="tight", outcome_budget="separate")
    assert refits(folder)


def test_open_release__outcomes_of_two_values(study):
    path = study.root / "outcomes.zarr"
    write_outcomes(path, replace(Outcomes.load(path).of_rows(slice(None)), prevalence=np.full(3, 0.1)))
    config = study.settings("blup", bounds="tight")
    config = config.changed(release={"audit_draws": 0})
    config = config.changed(outcomes={"prevalence": 0.1})
    study.bundle(config, study.release(config))
    assert refits(study.root / "bundle")
    normal = clip_moments([np.nan] * 3, bound=3, norm=np.sqrt(3), n_shared=3)[1]
    assert not np.allclose(arrays_of(study.root / "bundle")["squares"], normal, rtol=0.01)


def test_open_release__haplotypes_count_people(tmp_path, monkeypatch):
    study = HaplotypeStudy(tmp_path, monkeypatch)
    folder = study.publish("blup", unit="person", bounds="tight")
    assert refits(folder)
    said = repr(dpgrs.open_release(folder))
    assert said.startswith("<release of 3 outcomes x 4 variants by blup, n = ")
    assert said.endswith(" for one person>")
    assert pd.read_csv(folder / EFFECTS, sep="\t")["n"][0] == round(dpgrs.open_release(folder).n / 2)


@pytest.mark.parametrize("method", ["naive", "blup-steered", "blup-ld"])
def test_bundle__of_other_draws_holds_none(study, method):
    if method == "blup-steered":
        folder = study.publish(method, bounds="tight")
        assert not (folder / "statistics").exists()
        with refused("statistics-not-published", error=UsageError):
            dpgrs.open_release(folder)
    assert not has_statistics(method, "full")


def test_bundle__without_statistics_says_so(study):
    folder = study.publish("blup", release={"statistics": False})
    assert not (folder / "statistics").exists()
    assert not refits(folder)
    with refused("statistics-not-published", error=UsageError):
        dpgrs.open_release(folder)


def test_has_statistics__not_where_fits_take_public_outcomes():
    assert has_statistics("blup", "full")
    assert has_statistics("blup", "label")
    assert not has_statistics("blup", "feature")
    assert not any(has_statistics(name, "full") for name in ("k-blup", "s-blup", "bas", "another"))


def test_released_statistics__under_label_protection_no_exact_genotypes():
    terms = {"rows": "people", "n_variants": 2, "n_outcomes": 1, "outcome_bound": 3.0, "epsilon": 1.0}
    terms |= {"delta": 1e-6, "protection": "label", "neighbours": "replace-one"}
    label = {"mechanism": "reusecov-statistics", "request": asdict(PrivacyRequest(**terms))}
    label |= {"events": [{"statistic": "cross product", "sigma": 2.0}]}
    sites = pd.DataFrame(
        {"contig": "1", "position": [20, 10], "ref": "A", "alt": "C", "frequency": [0.1, 0.3]}
    )
    noisy = NoisyStatistics(np.full((3, 3), 7.0), np.array([[1.0, 2.0]]), 50)
    found = released_statistics(label, noisy, sites, scales=None)
    assert found.arrays.keys() == {"cross", "frequency", "slopes", "squares"}
    # In the order of the scoring files.
    assert (found.arrays["cross"].tolist(), found.arrays["frequency"].tolist()) == ([[2.0, 1.0]], [0.3, 0.1])
    # Genotypes of worst-case bounds are not centred.
    assert found.effects is None


@pytest.mark.parametrize("rows", ["people", "haplotypes"])
@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_marginal_effects__cover_the_truth_with_the_noise_of_privacy(rows, shift):
    """Also where the public centre of the outcome is off."""
    rng = np.random.default_rng(7)
    n_people, n_replicates, effect, sd, bound = 1000, 400, 0.1, 40.0, 1.5
    frequency, of_person = np.array([0.1, 0.3, 0.5]), 2 if rows == "haplotypes" else 1
    terms, found = {"bound": bound, "norm": None, "n_shared": 1}, []
    constants = dict(zip(("slopes", "squares"), clip_moments([np.nan], **terms), strict=True))
    for _ in range(n_replicates):
        alleles = rng.random((n_people, 2, 3)) < frequency
        copies = alleles.sum(axis=1)
        genetic = effect * (copies[:, 0] - 2 * frequency[0])
        y = shift + genetic + rng.standard_normal(n_people) * np.sqrt(1 - 0.18 * effect**2)
        x = (alleles.reshape(-1, 3) if rows == "haplotypes" else copies) - frequency * (2 / of_person)
        cross = np.repeat(np.clip(y, -bound, bound), of_person) @ x + sd * rng.standard_normal(3)
        arrays = {"cross": cross[np.newaxis], "frequency": frequency} | constants
        known = {"n": len(x), "rows": rows, "cross_sd": [sd]}
        effects = marginal_effects(arrays, **known)
        assert effects.n_people.tolist() == [n_people]
        found.append((effects.beta[0] - [effect, 0, 0]) / effects.standard_error[0])
    z = np.array(found)
    # Five standard errors of a mean and of a standard deviation over the replicates.
    assert np.abs(z.mean(axis=0)).max() < 5 / np.sqrt(n_replicates)
    assert np.abs(z.std(axis=0) - 1).max() < 5 / np.sqrt(2 * n_replicates)
