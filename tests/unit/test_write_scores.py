"""Scoring files of a benchmark: predictions by its weights, told apart, and marked as not private."""

import gzip
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import UsageError
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import save_labelled
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.methods.labels import exact_label, fit_label
from dpgrs.scoring.score_files import list_scores, read_scores
from dpgrs.scoring.writing import caveats
from dpgrs.steps import write_scores as step
from dpgrs.steps.write_scores import _name_endings, write_scores
from outcome_files import write_outcomes
from refused import refused
from step_settings import settings_for

NAMES, SIZE = ("LDL/HDL", "b"), 4
TERMS = {"protection": "full", "neighbours": "add-remove", "unit": "person", "accounting": "gdp"}


def fit_of(seed, *, n_outcomes=2, size=SIZE, n_covariates=1):
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((n_outcomes, size + n_covariates)).round(3)
    return LinearFit(weights, rng.random(size + n_covariates).round(3), rng.random(n_outcomes).round(3))


def private_label(epsilon, *, n_outcomes=2, size=SIZE):
    request = TERMS | {"epsilon": epsilon, "delta": 1e-6, "n_variants": size}
    return fit_label("blup", request, n_outcomes)


@pytest.fixture
def write_files(tmp_path, monkeypatch):
    sites = pd.DataFrame(
        {"contig": ["1", "1", "2", "X"], "position": [9, 7, 5, 3], "ref": "A", "alt": "C", "id": "."}
    )
    variant_set = SimpleNamespace(n_variants=SIZE, variants=sites)
    monkeypatch.setattr(step, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
    values = {SIZE: np.zeros((2, 6))}
    write_outcomes(tmp_path / "y.zarr", Outcomes(NAMES, values, {}, np.ones(6, bool), "people"))
    fits = {
        "ridge": (exact_label("ridge", SIZE, 2), fit_of(1)),
        "few": (exact_label("ridge", 2, 2), fit_of(2, size=2)),
        "one": (exact_label("ridge", SIZE, 1), fit_of(3, n_outcomes=1)),
        "eps1": (private_label(1.0), fit_of(4)),
        "eps5": (private_label(5.0), fit_of(5)),
    }
    save_labelled(tmp_path / "w.npz", [(label, fit.arrays()) for label, fit in fits.values()])

    def write_files(method, **sections):
        raw = {"score": {"weights_of": method}, "cohort": {"rows": "people"}} | sections
        settings = settings_for("write-scores", **raw)
        write_scores(
            settings, tmp_path / "w.npz", "variant_set", tmp_path / "y.zarr", output=tmp_path / "scores"
        )
        return tmp_path / "scores", {name: fit for name, (_, fit) in fits.items()}

    return write_files


def test_write_scores__are_predictions_of_people(write_files):
    folder, fits = write_files("ridge")
    sites, (scores,) = read_scores(list_scores([folder]), build="GRCh38")
    assert [one.name for one in scores.outcomes] == ["LDL_HDL", "b"]
    assert folder.stat().st_mode & 0o777 == 0o700
    copies = np.random.default_rng(7).integers(0, 3, (SIZE, 5))
    order = [1, 0, 2, 3]
    assert sites.position.tolist() == [7, 9, 5, 3]
    found = [one.constant for one in scores.outcomes] + copies[order].T[:, scores.rows] @ scores.weights
    fit = fits["ridge"]
    x = np.vstack([copies - 1, np.zeros((1, 5))])  # the covariate at its public centre
    by_hand = fit.intercept[:, np.newaxis] + fit.weights @ (x - fit.means[:, np.newaxis])
    np.testing.assert_allclose(found.T, by_hand, atol=1e-9)


def test_write_scores__of_several_terms_are_name_endings(write_files):
    folder, fits = write_files("blup")
    _, (scores,) = read_scores(list_scores([folder]), build=None)
    names = [one.name for one in scores.outcomes]
    assert names == ["LDL_HDL.eps1", "LDL_HDL.eps5", "b.eps1", "b.eps5"]
    weights = np.stack(
        [fits[name].weights[place, [1, 0, 2, 3]] for place in (0, 1) for name in ("eps1", "eps5")]
    )
    np.testing.assert_allclose(scores.weights.T, weights)
    head = gzip.decompress((folder / "b.eps5.txt.gz").read_bytes()).decode()
    assert "#dp_source=benchmark: not private\n" in head
    assert "#trait_reported=b\n" in head
    assert "dp_epsilon" not in head


def test_write_scores__raise_on_what_was_not_fitted_or_has_no_build(write_files, tmp_path):
    with refused("weights-of-method-missing", "w.npz", "`score.weights_of: bas`"):
        write_files("bas")
    with refused("genome-build-unknown", "`release.genome_build`", "got None", error=UsageError):
        write_files("ridge", cohort={"rows": "people", "source": "vcf"})
    assert not (tmp_path / "scores").exists()


def test_write_scores__are_marked_where_they_are_applied(write_files):
    """Neither console nor page may pass scores of exact weights for protected ones."""
    folder, _ = write_files("ridge")
    _, (scores,) = read_scores(list_scores([folder]), build=None)
    (source,) = {one.source for one in scores.outcomes}
    told = {"name": "height", "unit": None, "source": source}
    (line, *_) = caveats({"counts": {}, "scores": [told, told | {"name": "b", "source": ""}]})
    assert line.startswith("height: benchmark: not private. Published scores of people tell of those whom")


def test_write_scores__of_nearly_the_same_terms_are_name_endings():
    labels = [TERMS | {"epsilon": epsilon} for epsilon in (1.0, 1.0000001, 1.0000002)]
    assert _name_endings(labels) == [".eps1", ".eps1.0000001", ".eps1.0000002"]
