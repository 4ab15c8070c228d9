"""The step that takes from outcomes what covariates explain of them."""

import json
from dataclasses import replace

import numpy as np
import pytest

from dpgrs.errors import UsageError
from dpgrs.io.covariates import Covariates
from dpgrs.io.outcomes import Outcomes
from dpgrs.linalg.coding import GENOTYPE_STEP
from dpgrs.linalg.covariate_regression import EFFECT_STEP
from dpgrs.methods.covariate_mechanism import CovariateRegression
from dpgrs.methods.covariate_regression import covariate_effects
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.privacy.accounting.events import MECHANISM_VERSION
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.release.bundle_problems import bundle_problems
from dpgrs.steps.adjust_outcomes import adjust_outcomes
from dpgrs.steps.draw import draw
from dpgrs.study.fit_identity import fit_settings
from outcome_files import write_outcomes
from refused import refused
from step_settings import settings_for
from step_studies import N_PEOPLE, Study

LATER = ("d", "e", "f")
AGES = np.arange(N_PEOPLE) / N_PEOPLE - 0.5


@pytest.fixture
def files(tmp_path):
    """Two outcomes, of which the first is linear in age, and a table of age; paths by what they hold."""
    values = np.array([2 * AGES + 0.25, np.cos(7 * AGES)])
    is_training = np.arange(N_PEOPLE) % 4 > 0
    Outcomes(("a", "b"), {3: values}, {}, is_training, rows="people").save(tmp_path / "outcomes.zarr")
    _write_covariates(tmp_path / "covariates.npz", ("age",))
    return {name: tmp_path / name for name in ("outcomes.zarr", "covariates.npz", "adjusted.zarr")}


def _write_covariates(path, names):
    units = np.rint(np.tile(AGES, (len(names), 1)) / GENOTYPE_STEP).astype(np.int16)
    terms = {"centre": np.zeros(len(names)), "scale": np.ones(len(names)), "bound": 3.0}
    Covariates(names, units, **terms, rows="people").save(path)


def _study(root, monkeypatch):
    study = Study(root, monkeypatch)
    scales = root / "scales.tsv"
    scales.write_text("covariate\tcentre\tscale\nage\t0\t1\nage squared\t0\t1\n")
    study.with_covariates = {"file": "covariates.tsv", "scales": str(scales), "first": True, "share": 0.1}
    study.covariates = root / "covariates.npz"
    _write_covariates(study.covariates, ("age", "age squared"))
    return study


def _keeper(study):
    """Return a function that leaves a number of outcomes in a study."""
    path = study.root / "outcomes.zarr"
    every = Outcomes.load(path).of_rows(slice(None))

    def keep(count):
        values = {size: of_size[:count] for size, of_size in every.values.items()}
        write_outcomes(path, replace(every, names=every.names[:count], values=values))

    return keep


def adjust(files, *, mode, **options):
    settings = settings_for("adjust-outcomes", mode=mode)
    paths = files["outcomes.zarr"], files["covariates.npz"]
    adjust_outcomes(settings, *paths, output=files["adjusted.zarr"], **options)
    return Outcomes.load(files["adjusted.zarr"])


def test_adjust_outcomes__a_benchmark_takes_exact_effects_of_training_rows(files):
    adjusted = adjust(files, mode="benchmark")
    np.testing.assert_allclose(adjusted.values[3][0], 0, atol=1e-3)
    assert np.std(adjusted.values[3][1]) > 0.1
    assert adjusted.covariate_effects[0] == pytest.approx([0.25, 2], abs=1e-3)
    assert adjusted.adjusted_by == ()


def test_adjust_outcomes__raise_on_a_release_without_released_effects(files):
    with refused("effects-not-released", "--drawn"):
        adjust(files, mode="release")
    assert not files["adjusted.zarr"].exists()


def test_adjust_outcomes__raise_on_an_output_that_is_there(files):
    files["adjusted.zarr"].mkdir()
    (files["adjusted.zarr"] / "x").touch()
    with refused("folder-not-empty", error=UsageError):
        adjust(files, mode="benchmark")
    assert [path.name for path in files["adjusted.zarr"].iterdir()] == ["x"]


@pytest.mark.parametrize("names", [("age",), ("age", "age squared")])
def test_adjust_outcomes__raise_on_effects_of_other_covariates(tmp_path, monkeypatch, names):
    """Effects are drawn of two covariates, and those of other numbers are refused."""
    study = _study(tmp_path, monkeypatch)
    config = study.settings("blup", bounds="tight")
    drawn = study.adjust(config)
    paths = {"outcomes.zarr": tmp_path / "outcomes.zarr", "adjusted.zarr": tmp_path / "others.zarr"}
    files = paths | {"covariates.npz": tmp_path / "others.npz"}
    _write_covariates(files["covariates.npz"], names)
    if len(names) == 2:
        assert adjust(files, mode="release", drawn=drawn).adjusted_by
        return
    with refused("effects-shape"):
        adjust(files, mode="release", drawn=drawn)


METHODS_AFTER = ("blup", "adassp", "blup-steered", "blup-ld", "k-blup", "blup-genome")
after_a_regression = pytest.mark.parametrize(
    ("method", "ld_share"), [*((name, None) for name in METHODS_AFTER), ("blup-genome", 0.25)]
)


@after_a_regression
def test_release__raise_on_changed_people_before_a_regression_is_charged(
    tmp_path, monkeypatch, method, ld_share
):
    """A later release has a regression of its own, and its count, X'X or moments are those of the first."""
    study = _study(tmp_path, monkeypatch)
    shares = {"gram_share": 0.3, "ld_share": ld_share}
    config = study.settings(method, bounds="tight", epsilon=1, pure_epsilon="2", **shares)
    study.release(config)
    ledger, path, bits = study.ledger(config), tmp_path / "outcomes.zarr", study.variant_set.genotypes()
    before, later = ledger.path.read_bytes(), replace(Outcomes.load(path).of_rows(slice(None)), names=LATER)

    def require_refusal(is_training=later.is_training):
        write_outcomes(path, replace(later, is_training=is_training))
        with refused("data-changed-under-version"):
            study.adjust(config)
        assert ledger.path.read_bytes() == before

    require_refusal(np.arange(N_PEOPLE) > 0)
    if ld_share is not None or "gram" in mechanism_of(method).draws["genotypes"]:
        bits[0] ^= np.uint64(1)
        require_refusal()
        bits[0] ^= np.uint64(1)
    write_outcomes(path, later)
    study.release(config)
    parts = [request.identity["part"][0] for request in ledger.read().requests.values()]
    assert parts.count("genotypes") == 1
    mechanisms = [request.identity["mechanism"] for request in ledger.read().requests.values()]
    assert mechanisms.count(CovariateRegression.name) == 2


@pytest.mark.parametrize("method", ["blup", "adassp"])
def test_release__raise_on_people_who_were_charged_between_check_and_charge(tmp_path, monkeypatch, method):
    """Another run releases other people under the label, while this one is about to charge its regression."""
    study = _study(tmp_path, monkeypatch)
    config = study.settings(method, bounds="tight", epsilon=1, gram_share=0.3)
    path, bits, reserve_all = tmp_path / "outcomes.zarr", study.variant_set.genotypes(), Ledger.reserve_all
    first, after_other = Outcomes.load(path).of_rows(slice(None)), []

    def charge_other(ledger, *orders, **options):
        if not after_other:
            after_other.append(None)
            write_outcomes(path, first)
            bits[0] ^= np.uint64(1)
            study.release(config)
            bits[0] ^= np.uint64(1)
            after_other[0] = ledger.path.read_bytes()
        return reserve_all(ledger, *orders, **options)

    write_outcomes(path, replace(first, names=LATER))
    with monkeypatch.context() as patch, refused("data-changed-under-version"):
        patch.setattr(Ledger, "reserve_all", charge_other)
        study.adjust(config)
    assert study.ledger(config).path.read_bytes() == after_other[0]


@after_a_regression
def test_release__raise_on_another_version_before_a_regression_is_charged(
    tmp_path, monkeypatch, method, ld_share
):
    """Of outcomes of other names, only draws of genotypes are replays. Another label makes all new."""
    study = _study(tmp_path, monkeypatch)
    shares = {"gram_share": 0.3, "ld_share": ld_share}
    config = study.settings(method, bounds="tight", epsilon=1, pure_epsilon="2", **shares)
    with monkeypatch.context() as patch:
        patch.setattr("dpgrs.privacy.ledger.charging.MECHANISM_VERSION", MECHANISM_VERSION - 1)
        study.release(config)
    ledger, path = study.ledger(config), tmp_path / "outcomes.zarr"
    before = ledger.path.read_bytes()
    write_outcomes(path, replace(Outcomes.load(path).of_rows(slice(None)), names=LATER))
    with refused("replay-of-another-version"):
        study.adjust(config)
    assert ledger.path.read_bytes() == before
    study.release(config.changed(dataset={"version": "2"}))
    versions = [request.identity["version"] for request in ledger.read().requests.values()]
    assert versions.count(MECHANISM_VERSION) == versions.count(MECHANISM_VERSION - 1) > 1


def test_release__raise_on_another_outcome_in_a_bundle_before_its_regression_is_charged(
    tmp_path, monkeypatch
):
    """Every X'Y rests on all regressions, so that one more outcome belongs into a new study."""
    (tmp_path / "private").mkdir(mode=0o700)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "demo").symlink_to(tmp_path)
    study = _study(tmp_path / "private", monkeypatch)
    monkeypatch.chdir(tmp_path)
    config = study.settings("blup", bounds="tight", epsilon=1, outcome_budget="separate")
    config = config.changed(
        regression={"heritability": 0.5}, covariates={"file": str(study.root / "covariates.tsv")}
    )
    (study.root / "covariates.tsv").write_text("sample\tage\tage squared\n")
    one, two = (config.changed(outcomes={"count": [count]}) for count in (1, 2))
    keep = _keeper(study)
    keep(1)
    study.release(one, count=1)
    ledger = study.ledger(config)
    requests = ledger.read().requests
    mechanisms = [{"statistic": "any", "request": request} for request in requests]
    fit = fit_settings(one)
    statement = {"method": fit.pop("method"), "fit": fit, "mechanisms": mechanisms}
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "privacy_statement.json").write_text(json.dumps(statement))

    before = ledger.path.read_bytes()
    assert bundle_problems(one) == []
    study.release(one, count=1)
    assert "must be new for another release" in bundle_problems(two)[0]
    keep(2)
    with refused("another-release-in-folder"):
        study.adjust(two, count=2)
    assert ledger.path.read_bytes() == before
    assert bundle_problems(two.changed(study="other")) == []
    # Without the bundle it is another release, which is charged.
    (tmp_path / "release" / "privacy_statement.json").unlink()
    study.release(two, count=2)
    assert len(ledger.read().requests) == len(requests) + 3


def test_release__raise_on_effects_of_another_machine_before_a_further_outcome_is_charged(
    tmp_path, monkeypatch
):
    """Their last digits follow from its linear algebra, and outcomes were adjusted by those of the first."""
    study = _study(tmp_path, monkeypatch)
    config = study.settings("blup", bounds="tight", epsilon=1, outcome_budget="separate")
    config, keep = config.changed(regression={"heritability": 0.5}), _keeper(study)
    keep(1)
    study.release(config, count=1)
    ledger = study.ledger(config)
    before = ledger.path.read_bytes()
    keep(2)
    with monkeypatch.context() as patch:
        patch.setattr(
            "dpgrs.methods.covariate_mechanism.covariate_effects",
            lambda *vectors, **options: covariate_effects(*vectors, **options) + EFFECT_STEP,
        )
        with refused("replay-differs"):
            study.adjust(config, count=2)
    assert ledger.path.read_bytes() == before
    study.release(config, count=2)
    assert ledger.path.read_bytes().startswith(before)


def test_release__raise_on_a_regression_without_genotypes(tmp_path, monkeypatch):
    study = _study(tmp_path, monkeypatch)
    settings = settings_for("draw", study.settings("blup", bounds="tight"))
    files = {"covariates": study.covariates, "sites": study.sites, "output": tmp_path / "drawn.npz"}
    terms = {"mechanism": CovariateRegression.name, "events": tmp_path / "events.json"}
    with refused("variant-set-missing", "`--variant-set`", error=UsageError):
        draw(settings, tmp_path / "outcomes.zarr", **files, **terms)
    settings = settings_for("draw", study.settings("blup-genome", bounds="tight"))
    with refused("map-missing", "`--ld`", error=UsageError):
        draw(settings, tmp_path / "outcomes.zarr", variant_set="variant_set", **files, **terms)
