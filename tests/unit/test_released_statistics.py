"""The noisy statistics in a bundle: fits and marginal effects that follow from them, and forged ones."""

import gzip
import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import dpgrs
from dpgrs.errors import DpgrsError, UsageError
from dpgrs.methods.reusecov import NoisyStatistics
from dpgrs.release.marginal_effects import marginal_effects
from dpgrs.release.scoring_check import read_scoring_file
from dpgrs.release.statistics_files import ReleasedStatistics
from dpgrs.release.verify import verify_release
from forged_releases import edit_statement, seal
from step_studies import N_VARIANTS, NAMES, HaplotypeStudy, Study

DOCS = Path(__file__).parents[2] / "docs"
# X'Y is of single variants, and public files are not needed.
MARGINAL = ["reusecov-gauss", "reusecov-ellipsoid", "blup", "blup-shared", "adassp"]


@pytest.fixture
def study(tmp_path, monkeypatch):
    (tmp_path / "private").mkdir(mode=0o700)
    return Study(tmp_path / "private", monkeypatch)


def publish(study, method, *, options=None, **settings):
    """Release by a method, write its bundle, and return the folder."""
    config = study.settings(method, **settings)
    config["release"] |= options or {}
    study.bundle(config, study.release(config))
    return study.root / "bundle"


def published_weights(folder, outcome):
    scores = json.loads((folder / "privacy_statement.json").read_text())["scores"]
    (file,) = [score["file"] for score in scores if score["outcome"] == outcome]
    return np.array(list(map(float, read_scoring_file(folder / file).numbers)))


@pytest.mark.parametrize("bounds", ["tight", "worst-case"])
@pytest.mark.parametrize("method", MARGINAL)
def test_open_release__refits_what_was_published(study, method, bounds):
    folder = publish(study, method, bounds=bounds)
    opened = dpgrs.open_release(folder)
    refit = opened.fit()
    for name in NAMES:
        np.testing.assert_allclose(refit.weights[name], published_weights(folder, name), rtol=1e-8)
    constants = pd.read_csv(folder / "constants.tsv", sep="\t", index_col="outcome")["constant"]
    np.testing.assert_allclose(refit.constants[list(NAMES)], constants[list(NAMES)], rtol=1e-8)


def test_open_release__other_fits_are_those_of_their_own_release(study):
    """Methods that share draws differ in post-processing alone: the bundle of one refits the other's."""
    opened = dpgrs.open_release(publish(study, "reusecov-gauss"))
    assert set(opened.methods) >= {"reusecov-gauss", "blup", "blup-shared", "reusecov-ellipsoid"}
    weights = opened.fit("blup", heritability=0.3)
    assert weights.standard_errors is None or weights.standard_errors.shape == weights.weights.shape
    (study.root / "bundle").rename(study.root / "first")
    config = study.settings("blup")
    config["regression"] |= {"heritability": 0.3}
    study.bundle(config, study.release(config))
    for name in NAMES:
        own = published_weights(study.root / "bundle", name)
        np.testing.assert_allclose(weights.weights[name], own, rtol=1e-8)
    assert not np.allclose(opened.fit(lambda_=5.0).weights, opened.fit(lambda_=0.01).weights)


@pytest.mark.parametrize(("method", "terms"), [("ridge", {}), ("blup-ld", {}), (None, {"epsilon": 3})])
def test_open_release__refuses_what_cannot_be_fitted(study, method, terms):
    opened = dpgrs.open_release(publish(study, "reusecov-gauss"))
    with pytest.raises(UsageError, match="must be"):
        opened.fit(method, **terms)


@pytest.mark.parametrize("method", ["adassp", "naive", "blup-steered"])
def test_bundle__holds_the_statistics_of_every_method_that_draws_any(study, method):
    folder = publish(study, method, bounds="tight", options={"audit_draws": 0})
    opened = dpgrs.open_release(folder)
    assert opened.statistics.sites["position"].tolist() == list(range(10, 14))
    scores = opened.statement["scores"]
    is_marginal = method in MARGINAL
    assert [score["summary_statistics"] is not None for score in scores] == [is_marginal] * 3
    if not is_marginal:
        with pytest.raises(UsageError, match="single variants"):
            opened.marginal_effects()


def test_bundle__without_statistics_says_so(study):
    folder = publish(study, "blup", options={"statistics": False})
    assert not (folder / "statistics").exists()
    with pytest.raises(UsageError, match="its curator left it out"):
        dpgrs.open_release(folder)


def test_bundle__tables_hold_what_the_arrays_do(study):
    folder = publish(study, "blup", bounds="tight")
    noisy = dpgrs.open_release(folder).statistics.noisy
    cross = pd.read_parquet(folder / "statistics" / "cross_products.parquet")
    assert np.array_equal(cross[list(NAMES)].to_numpy().T, noisy.cross)
    assert cross["effect_allele"].tolist() == ["C"] * N_VARIANTS
    gram = pd.read_parquet(folder / "statistics" / "gram.parquet")
    assert np.array_equal(gram.to_numpy(), noisy.gram)
    assert gram.columns.tolist() == [*(f"1:{place}:A:C" for place in range(10, 14)), "intercept"]
    table = pd.read_csv(folder / "statistics" / "a.tsv.gz", sep="\t")
    assert (table["n"] == noisy.n).all()
    z = table["beta"] / table["standard_error"]
    assert np.array_equal(np.argsort(-z.abs()), np.argsort(table["p_value"]))
    meta = yaml.safe_load((folder / "statistics" / "a.tsv.gz-meta.yaml").read_text())
    content = (folder / "statistics" / "a.tsv.gz").read_bytes()
    assert meta["data_file_md5sum"] == hashlib.md5(content, usedforsecurity=False).hexdigest()
    assert meta["samples"] == [{"sample_size": noisy.n}]


@pytest.mark.parametrize("rows", ["people", "haplotypes"])
@pytest.mark.parametrize("is_centred", [True, False])
def test_marginal_effects__cover_the_truth_with_the_noise_of_privacy(rows, is_centred):
    rng = np.random.default_rng(7)
    n_people, n_trials, effect, sd = 1000, 400, 0.1, 40.0
    frequency = np.array([0.1, 0.3, 0.5])
    of_person = 2 if rows == "haplotypes" else 1
    found = []
    for _ in range(n_trials):
        alleles = rng.random((n_people, 2, 3)) < frequency
        copies = alleles.sum(axis=1)
        genetic = effect * (copies[:, 0] - 2 * frequency[0])
        y = genetic + rng.standard_normal(n_people) * np.sqrt(1 - genetic.var())
        x = alleles.reshape(-1, 3) - 0.5 if rows == "haplotypes" else copies - 1.0
        mean = (frequency - 0.5) * (2 / of_person)
        x, y = x - mean * is_centred, np.repeat(y, of_person)
        noisy = NoisyStatistics(
            gram=None,
            cross=(y @ x + sd * rng.standard_normal(3))[np.newaxis],
            n=len(x),
            origin=mean if is_centred else None,
        )
        effects = marginal_effects(noisy, frequency, rows=rows, cross_sd=[sd])
        assert effects.n_people.tolist() == [n_people]
        found.append((effects.beta[0] - [effect, 0, 0]) / effects.standard_error[0])
    z = np.array(found)
    # Five standard errors of a mean and of a standard deviation over the trials.
    assert np.abs(z.mean(axis=0)).max() < 5 / np.sqrt(n_trials)
    assert np.abs(z.std(axis=0) - 1).max() < 5 / np.sqrt(2 * n_trials)


def test_docs__example_outside_agrees_with_our_fit(study):
    folder = publish(study, "blup", bounds="tight")
    text = (DOCS / "release.md").read_text().partition("## Fit other scores")[2]
    ours, outside = (block.partition("```")[0] for block in text.split("```python\n")[1:3])
    scope = {"panel_of_copies": study.X.T + 1}
    for code in (ours, outside):
        code = code.replace("results/release/release", str(folder)).replace("height", "a")
        exec(code.replace("weights.tsv", str(study.root / "weights.tsv")), scope)
    found = scope["opened"].fit("blup", heritability=0.5).weights["a"]
    assert np.corrcoef(scope["weights"], found)[0, 1] > 0.95
    assert (study.root / "weights.tsv").exists()


def change_arrays(change, folder):
    path = folder / "statistics" / "statistics.npz"
    with np.load(path) as arrays:
        arrays = dict(arrays)
    change(arrays)
    path.unlink()
    np.savez(path, **arrays)


def add_to_cross(arrays):
    arrays["cross"] = arrays["cross"] + 1e-3


def add_to_gram(arrays):
    arrays["gram"] = arrays["gram"] + np.eye(len(arrays["gram"]))


def rename_outcome(arrays):
    arrays["label"] = np.array(str(arrays["label"]).replace('"a"', '"z"'))


def move_site(arrays):
    arrays["position"] = arrays["position"] + 1


def drop_label(arrays):
    del arrays["label"]


def pack(folder):
    path = folder / "statistics" / "statistics.npz"
    with np.load(path) as arrays:
        arrays = dict(arrays)
    np.savez_compressed(path, **arrays)


def change_effect(folder):
    path = folder / "statistics" / "b.tsv.gz"
    table = pd.read_csv(io.BytesIO(path.read_bytes()), sep="\t", compression="gzip")
    table.loc[0, "standard_error"] /= 2
    path.write_bytes(gzip.compress(table.to_csv(sep="\t", index=False).encode(), mtime=0))


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (lambda folder: change_arrays(add_to_cross, folder), "must follow from statistics/statistics.npz"),
        (lambda folder: change_arrays(rename_outcome, folder), "must be of the statement's outcomes"),
        (lambda folder: change_arrays(move_site, folder), "must be of the statement's sites"),
        (lambda folder: change_arrays(drop_label, folder), "must hold the statistics of this release"),
        (pack, "must not be compressed"),
        (change_effect, "statistics/b.tsv.gz must follow from statistics/statistics.npz"),
    ],
)
def test_verify__finds_statistics_that_are_not_the_releases(study, forge, said):
    folder = publish(study, "blup", bounds="tight")
    forge(folder)
    seal(folder)
    with pytest.raises(DpgrsError, match=said):
        verify_release(folder)


def test_open_release__finds_scores_that_are_not_of_its_statistics(study):
    folder = publish(study, "blup", bounds="tight")
    change_arrays(add_to_gram, folder)
    seal(folder)
    with pytest.raises(DpgrsError, match="must follow from"):
        dpgrs.open_release(folder)


def test_verify__finds_statistics_of_other_terms(study):
    folder = publish(study, "blup", bounds="tight")

    def other(arrays):
        label = json.loads(str(arrays["label"]))
        label["request"]["unit"] = "haplotype"
        arrays["label"] = np.array(json.dumps(label))

    change_arrays(other, folder)
    seal(folder)
    with pytest.raises(DpgrsError, match="of the statement's terms"):
        verify_release(folder)


def test_verify__finds_marginal_effects_that_nothing_follows_from(study):
    folder = publish(study, "blup", bounds="tight")
    (folder / "statistics" / "statistics.npz").unlink()
    statement = json.loads((folder / "privacy_statement.json").read_text())
    del statement["files"]["statistics/statistics.npz"]
    edit_statement(folder, ["files"], statement["files"])
    seal(folder)
    with pytest.raises(DpgrsError, match="npz must be there"):
        verify_release(folder)


def test_load__refuses_another_file(tmp_path):
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w"):
        pass
    with pytest.raises(DpgrsError, match="must hold the statistics of a release"):
        ReleasedStatistics.load(path)


def test_statistics__of_haplotypes_count_people(tmp_path, monkeypatch):
    (tmp_path / "private").mkdir(mode=0o700)
    own = HaplotypeStudy(tmp_path / "private", monkeypatch)
    folder = publish(own, "blup", bounds="tight", unit="person")
    opened = dpgrs.open_release(folder)
    assert opened.marginal_effects().n_people.tolist() == [round(opened.statistics.noisy.n / 2)] * 3
