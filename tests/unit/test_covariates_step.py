"""Covariates from files to weights, and releases with them by their steps."""

import hashlib
import json
import shutil
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpgrs.config.study import StudyConfig
from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.covariates import Covariates
from dpgrs.io.files import written_digest
from dpgrs.io.loadings import read_loadings
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import Statistics, load_labelled
from dpgrs.io.sites import read_chosen_sites
from dpgrs.linalg.coding import GENOTYPE_STEP
from dpgrs.linalg.linear_fit import LinearFit
from dpgrs.linalg.principal_components import LOADING_STEP
from dpgrs.planning.plan import plan_study
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.release.open_release import refits
from dpgrs.reporting.plan import plan_as_text
from dpgrs.steps import attack_replicate as attack_step
from dpgrs.steps import compute_statistics as statistics_step
from dpgrs.steps import evaluate_replicate as evaluate_step
from dpgrs.steps import make_covariates as covariates_step
from dpgrs.steps import make_loadings as loadings_step
from dpgrs.steps.fit_weights import fit_weights
from dpgrs.steps.make_covariates import make_covariates
from dpgrs.steps.make_loadings import make_loadings
from dpgrs.steps.render_release_report import _table
from dpgrs.study.counted_people import TELL_NOBODY
from dpgrs.study.fit_identity import fit_settings
from dpgrs.study.identity import public_identity
from dpgrs.study.release_cost import certain_cost
from dpgrs.verify.bundle import verify_release
from dpgrs.verify.covariate_check import covariate_problems
from draws import draw_seeded
from outcome_files import write_outcomes
from refused import refused
from step_settings import settings_for
from step_studies import N_PEOPLE, N_VARIANTS, NAMES, Study

SCALES = "covariate\tcentre\tscale\tprevalence\nage\t50\t10\tNA\ncase\tNA\tNA\t0.2\n"
AGES = np.random.default_rng(6).normal(50, 10, N_PEOPLE)


def loadings_of(*, rows="people"):
    return settings_for("make-loadings", cohort={"rows": rows}, covariates={"pcs": 1})


class CovariateStudy(Study):
    """The small study, whose first outcome is mostly age, with a table of covariates and a component."""

    def __init__(self, root, monkeypatch):
        super().__init__(root, monkeypatch)
        variant_set = statistics_step.VariantSet.open("variant_set")
        sites = read_chosen_sites(self.sites)
        variant_set.variants = sites[["contig", "position", "ref", "alt"]]
        everything = variant_set.haplotypes
        variant_set.haplotypes = lambda columns=None: everything()[
            slice(None) if columns is None else columns
        ]
        for module in (covariates_step, loadings_step, evaluate_step, attack_step):
            monkeypatch.setattr(module, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
        self.table, self.scales = root / "covariates.tsv", root / "scales.tsv"
        self.scales.write_text(SCALES)
        # Somebody else, and nobody of the last five.
        people = ["else", *map(str, range(N_PEOPLE - 5))]
        ages = [50, *AGES[: N_PEOPLE - 5]]
        cells = ["NA" if number % 40 == 3 else f"{age:.1f}" for number, age in enumerate(ages)]
        columns = {"sample": people, "other": 1, "case": [0, 1] * (len(people) // 2), "age": cells}
        pd.DataFrame(columns).to_csv(self.table, sep="\t", index=False)
        self.with_covariates = {"file": str(self.table), "columns": ["age", "case"], "pcs": 1}
        self.with_covariates |= {"scales": str(self.scales)}
        self.loadings, self.covariates = root / "pca_loadings.tsv", root / "covariates.npz"
        make_loadings(loadings_of(), "variant_set", output=self.loadings)
        self.make()
        random = np.random.default_rng(5)
        values = random.standard_normal((3, N_PEOPLE))
        values[0] = 0.9 * (AGES - 50) / 10 + 0.4 * values[0]
        is_training = np.arange(N_PEOPLE) % 4 > 0
        own = {"effects": {}, "is_training": is_training, "rows": "people"}
        write_outcomes(root / "outcomes.zarr", Outcomes(NAMES, {N_VARIANTS: values}, **own))

    def make(self, *, names=("age", "case"), rows="people", mode="benchmark", least_share=0.5, **changed):
        settings = settings_for(
            "make-covariates",
            mode=mode,
            cohort={"rows": rows},
            covariates=self.with_covariates | {"columns": names, "bound": 3.0},
            outcomes={"least_share": least_share},
        )
        files = {"table": self.table, "scales": self.scales, "loadings": self.loadings}
        files |= {"output": self.covariates} | changed
        make_covariates(settings, "variant_set", **files)
        return Covariates.load(self.covariates)


@pytest.fixture
def study(tmp_path, monkeypatch):
    return CovariateStudy(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """A bundle with covariates, which tests copy."""
    with pytest.MonkeyPatch.context() as patch:
        study = CovariateStudy(tmp_path_factory.mktemp("covariates"), patch)
        config = study.settings("blup", bounds="tight")
        study.bundle(config, study.release(config))
    return study.root / "bundle"


def test_make_loadings__of_many_variants_reads_some_at_a_time(study, monkeypatch):
    monkeypatch.setattr(loadings_step, "MOST_SQUARED", 5)
    monkeypatch.setattr("dpgrs.linalg.principal_components.WIDE_BLOCK", 3)
    wide = study.root / "wide.tsv"
    make_loadings(loadings_of(), "variant_set", output=wide)
    expected, found = read_loadings(study.loadings), read_loadings(wide)
    np.testing.assert_allclose(found.values, expected.values, atol=2 * LOADING_STEP)


def test_make_covariates__by_person_with_missing_values_at_the_centre(study):
    found = study.make()
    assert found.names == ("age", "case", "PC1")
    assert found.centre.tolist() == [50, 0.2, 0]
    assert found.scale.tolist() == [10, pytest.approx(0.4), 1]
    age, case, _ = found.units * GENOTYPE_STEP
    assert (age[-5:] == 0).all()
    assert age[2] == 0
    expected = np.clip((np.round(AGES[:295], 1) - 50) / 10, -3, 3) / 3
    is_known = np.arange(1, 296) % 40 != 3
    np.testing.assert_allclose(age[:295][is_known], expected[is_known], atol=GENOTYPE_STEP)
    np.testing.assert_allclose(np.unique(case), [-0.5 / 3, 0, 2 / 3], atol=GENOTYPE_STEP)


def test_make_covariates__both_haplotypes_of_a_person_have_the_persons(study):
    make_loadings(loadings_of(rows="haplotypes"), "variant_set", output=study.loadings)
    found = study.make(rows="haplotypes")
    age, _, component = found.units
    np.testing.assert_array_equal(age[::2], age[1::2])
    assert np.abs(age).max() <= 2**11
    # A component is of the row's own alleles.
    assert (component[::2] != component[1::2]).any()


def test_make_covariates__raise_on_columns_values_and_people(study):
    with refused("scale-missing", "`other`"):
        study.make(names=["other"])
    study.scales.write_text(SCALES + "sex\t0\t1\tNA\n")
    with refused("column-missing", "`sex`"):
        study.make(names=["sex"])
    study.scales.write_text("covariate\tprevalence\nage\t0.5\n")
    with refused("binary-column-values", "`age`", TELL_NOBODY) as failure:
        study.make(names=["age"], mode="release")
    assert not any(f"{age:.1f}" in str(failure.value) for age in AGES)
    study.table.write_text("sample\tage\nelse\t1\n")
    study.scales.write_text(SCALES)
    with refused("too-few-shared-people", "covariates.tsv"):
        study.make(names=["age"])


@pytest.mark.parametrize("left_out", ["table", "loadings"])
def test_make_covariates__of_a_release_are_all_that_its_settings_name(study, left_out):
    """What an importer's rule leaves out would be missed after the charge."""
    with refused(
        "covariates-differ-from-statement", "`covariates.file`", "`covariates.pcs`", error=UsageError
    ):
        study.make(mode="release", **{left_out: None})


def test_make_covariates__benchmark_names_constants_that_clip_most_values(study, tmp_path):
    """Of a large table preflight looks at some people alone; a release judges no values."""
    study.scales.write_text(SCALES.replace("age\t50", "age\t500"))
    output = tmp_path / "other.npz"
    with refused("values-off-scale", "`covariates.scales`", "`age`"):
        study.make(output=output)
    assert not output.exists()
    assert study.make(mode="release").centre[0] == 500


def test_make_covariates__too_few_people_are_refused(study, tmp_path):
    lines = study.table.read_text().splitlines()
    study.table.write_text("\n".join(lines[:-150]) + "\n")
    study.covariates = tmp_path / "other.npz"
    with refused("too-few-shared-people", "covariates.tsv", TELL_NOBODY):
        study.make(mode="release", output=study.covariates)
    assert not study.covariates.exists()
    study.make(mode="release", least_share=0.4, people_counts=tmp_path / "counts.tsv")
    with refused("too-few-shared-people", "age", TELL_NOBODY):
        study.make(mode="release", least_share=0.48, output=study.covariates.with_name("third.npz"))
    _, *counts = (tmp_path / "counts.tsv").read_text().splitlines()
    assert [line.split("\t")[:6] for line in counts] == [
        ["covariate", "age", "300", "145", "146", "141"],
        ["covariate", "case", "300", "145", "146", "145"],
    ]


def test_compute_statistics__raise_on_covariates_within_worst_case_bounds(study):
    with refused("bounds-not-tight", "`privacy.bounds`", error=UsageError):
        study.sum_up(study.settings("blup"))


def replicate(study, *, covariates, protections=("full",)):
    """Run a benchmark's steps and return its metrics."""
    study.covariates = covariates
    config = study.settings("blup", bounds="tight", neighbours="replace-one").changed(mode="benchmark")
    statistics, root = study.sum_up(config), study.root
    terms = {"sizes": [N_VARIANTS], "counts": [3], "protections": protections, "epsilons": [1000.0]}
    terms |= {"accountings": ["gdp"]}
    terms |= {"delta": 1e-6, "neighbours": "replace-one", "unit": "person"}
    draw_seeded(root / "outcomes.zarr", root / "noisy.npz", files={"statistics": statistics}, **terms)
    methods = ["ols", "ridge", "reusecov-gauss", "reusecov-proj", "reusecov-ellipsoid", "blup"]
    files = {"output": root / "weights.npz", "seconds": root / "seconds.tsv"}
    settings = settings_for("fit-weights", methods=methods, regression={"lambda": 0.001})
    paths = {"statistics": statistics, "outcomes": root / "outcomes.zarr"}
    fit_weights(settings, [root / "noisy.npz"], **paths, **files)
    evaluate_step.evaluate_replicate(
        settings_for("evaluate-replicate", outcomes={"count": 3}),
        "variant_set",
        root / "outcomes.zarr",
        files["output"],
        files["seconds"],
        replicate=1,
        metrics=root / "metrics.tsv",
        population_metrics=root / "population.tsv",
        measures=root / "measures.tsv",
        covariates=covariates,
    )
    return pd.read_csv(root / "metrics.tsv", sep="\t").set_index(["method", "protection", "outcome"])["r2"]


def test_covariates__tell_every_method_of_every_protection_what_age_explains(study):
    covariates, protections = study.covariates, ("full", "feature", "label")
    with_age = replicate(study, covariates=covariates, protections=protections)
    without = replicate(study, covariates=None, protections=protections)
    assert len(with_age) == len(without) == 3 * (2 + 3 * 3)
    assert (with_age.xs("a", level="outcome") > 0.6).all()
    assert (without.xs("a", level="outcome") < 0.3).all()


def test_attack_replicate__weights_with_covariates_and_statistics_without(study):
    replicate(study, covariates=study.covariates)
    root = study.root
    paths = [root / name for name in ("outcomes.zarr", "statistics.npz", "noisy.npz", "weights.npz")]
    settings = settings_for("attack-replicate", outcomes={"count": 3}, regression={"lambda": 0.001})
    options = {"output": root / "attacks.tsv", "replicate": 1, "covariates": study.covariates}
    attack_step.attack_replicate(settings, "variant_set", *paths, **options)
    table = pd.read_csv(root / "attacks.tsv", sep="\t")
    assert table["advantage"].notna().all()
    assert {"gram", "statistics", "weights"} == set(table["attack"])
    exact = Statistics.load(root / "statistics.npz")
    gram, cross = attack_step._exact(exact, N_VARIANTS)
    X = study.X[np.arange(N_PEOPLE) % 4 > 0]
    X = np.column_stack([X, np.full(len(X), 0.5)])
    np.testing.assert_allclose(gram, X.T @ X)
    assert cross.shape == (3, N_VARIANTS)


@pytest.mark.parametrize("method", ["blup", "adassp"])
def test_release__with_covariates_is_charged_bundled_and_replayed(study, method):
    config = study.settings(method, bounds="tight")
    noisy = study.release(config)
    files = study.bundle(config, noisy)
    ((label, _),) = load_labelled(noisy)
    assert label["request"]["n_covariates"] == 3
    weights = pd.read_csv(study.root / "bundle" / "covariate_weights.tsv", sep="\t")
    assert weights["covariate"].tolist() == ["age", "case", "PC1"] * 3
    assert weights["outcome"].unique().tolist() == list(NAMES)
    assert weights.loc[:2, ["centre", "scale", "bound"]].to_numpy().tolist() == [
        [50, 10, 3],
        [0.2, 0.4, 3],
        [0, 1, 3],
    ]
    stated = {one["name"]: one["value"] for one in study.statement()["public_inputs"]}
    assert stated["covariates"] == "age, case, PC1"
    assert stated["bound of covariates"] == "3 standard deviations"
    book = study.ledger(config).read()
    for request in book.requests.values():
        assert request.identity["covariates"]["names"] == ["age", "case", "PC1"]
        assert request.identity["covariates"]["pcs"] == 1
    assert certain_cost(config, book) == Cost(0, 0)
    before = study.ledger(config).path.read_bytes()
    noisy.unlink()
    assert study.bundle(config, study.release(config)) == files
    assert study.ledger(config).path.read_bytes() == before
    other = study.settings(method, bounds="tight").changed(covariates={"bound": 4.0})
    assert certain_cost(other, book).mu_squared > 0


def test_release__weights_of_covariates_predict_from_raw_values(study):
    config = study.settings("reusecov-gauss", bounds="tight")
    noisy = study.release(config)
    study.bundle(config, noisy)
    weights = pd.read_csv(study.root / "bundle" / "covariate_weights.tsv", sep="\t")
    settings_file, root = study.root / "settings.json", study.root
    fit = fit_settings(StudyConfig.of(json.loads(settings_file.read_text())))
    settings = settings_for("fit-weights", methods=[fit["method"]], regression={"lambda": fit["lambda"]})
    fit_weights(settings, [noisy], output=root / "w.npz", seconds=root / "s.tsv")
    ((_, arrays),) = load_labelled(root / "w.npz")
    X = np.zeros((2, N_VARIANTS + 3))
    X[1, N_VARIANTS] = 1 / 3 * 0.7  # of somebody of 57
    at_centre, of_57 = LinearFit.of(arrays).predict(X)[0]
    assert weights["weight"][0] * (57 - 50) == pytest.approx(of_57 - at_centre, rel=1e-8)
    # At the centres, and with one copy of every effect allele.
    constant = pd.read_csv(root / "bundle" / "constants.tsv", sep="\t")["constant"][0]
    scores = pd.read_csv(root / "bundle" / "scores" / "a.txt.gz", sep="\t", comment="#")
    assert constant + scores["effect_weight"].sum() == pytest.approx(at_centre, rel=1e-8)


def test_release__holds_the_loadings_that_its_statistics_are_of(study):
    config = study.settings("blup", bounds="tight")
    noisy = study.release(config, loadings=study.loadings)
    files = study.bundle(config, noisy, loadings=study.loadings)
    assert study.loadings.read_bytes() in files.values()
    assert refits(study.root / "bundle")
    stated = {one["name"]: one["value"] for one in study.statement()["public_inputs"]}
    assert stated["loadings of principal components"] == written_digest(study.loadings)
    with refused("statistics-terms-differ"):
        study.bundle(config, noisy)


def test_identity__hangs_on_names_constants_bound_and_components(study):
    def identity(**changed):
        config = study.settings("blup")
        config = config.changed(covariates=changed)
        return public_identity(config)

    first = identity()
    assert str(study.root) not in str(first["covariates"])
    changes = [{"columns": ["age"]}, {"bound": 2.0}, {"pcs": 2}]
    assert all(identity(**change) != first for change in changes)
    study.scales.write_text(SCALES.replace("50", "51"))
    assert identity() != first
    assert "covariates" not in identity(file=None, pcs=0)


TAB = "\t"


def bounds(lines, other):
    """Yield lines of a table with what is to stand in their last column."""
    return zip(lines, ["bound", *[other] * (len(lines) - 1)], strict=True)


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda lines: lines[:-1], "must have a line for every outcome and covariate"),
        (lambda lines: [line.replace("age", "size") for line in lines], "must hold the covariates of"),
        (lambda lines: [line.replace("\t10\t", "\t-1\t") for line in lines], "must hold finite numbers"),
        (lambda lines: [*lines[:-1], lines[-1].replace("\t1\t3", "\t2\t3")], "must give a covariate the"),
        (
            lambda lines: [line.replace("\t10\t", "\t1e-9\t") for line in lines],
            "must have the centre and scale",
        ),
        (
            lambda lines: [line.replace("\t50\t", "\t-1e9\t") for line in lines],
            "must have the centre and scale",
        ),
        (
            lambda lines: [f"{line.rpartition(TAB)[0]}\t{last}" for line, last in bounds(lines, "7")],
            "must have the bound of covariates as stated",
        ),
        (lambda lines: [line.rpartition("\t")[0] for line in lines], "must have the columns"),
        (lambda lines: [], "must have the columns"),
        (lambda lines: ["x" * 200_000], "must have the columns"),
    ],
)
def test_verify__raise_on_weights_of_covariates(bundle, tmp_path, edit, complaint):
    folder = shutil.copytree(bundle, tmp_path / "bundle")
    statement = json.loads((folder / "privacy_statement.json").read_text())
    path = folder / "covariate_weights.tsv"
    assert covariate_problems(statement, {path.name: path}) == []
    path.write_text("".join(f"{line}\n" for line in edit(path.read_text().splitlines())))
    assert any(complaint in line for line in covariate_problems(statement, {path.name: path}))
    assert "if and only if" in covariate_problems(statement, {})[0]
    with pytest.raises(DpgrsError, match=r"covariate_weights\.tsv must have the digest"):
        verify_release(folder)


def test_verify__raise_on_loadings_that_are_not_those_of_the_statement(study):
    config = study.settings("blup", bounds="tight")
    study.bundle(config, study.release(config))
    weights = {"covariate_weights.tsv": study.root / "bundle" / "covariate_weights.tsv"}
    stated, digest = study.statement(), hashlib.sha256(study.loadings.read_bytes()).hexdigest()
    complaint = "pca_loadings.tsv must be there with the digest in the public inputs, or in neither"
    assert covariate_problems(stated, weights | {"pca_loadings.tsv": study.loadings}) == [complaint]
    stated["public_inputs"].append({"name": "loadings of principal components", "value": digest})
    assert covariate_problems(stated, weights | {"pca_loadings.tsv": study.loadings}) == []
    assert covariate_problems(stated, weights) == [complaint]
    assert covariate_problems(stated, weights | {"pca_loadings.tsv": study.scales}) == [complaint]


def test_write_release__raise_on_statistics_with_covariates_that_the_study_does_not_name(study):
    config = study.settings("blup", bounds="tight")
    noisy = study.release(config)
    study.with_covariates = {}
    with refused("statistics-terms-differ"):
        study.bundle(study.settings("blup", bounds="tight"), noisy)


def test_report__reads_the_weights_of_covariates(study):
    config = study.settings("blup", bounds="tight")
    study.bundle(config, study.release(config))
    assert len(_table(study.root / "bundle" / "covariate_weights.tsv")) == 9
    assert _table(study.root / "bundle" / "none.tsv") is None


def test_plan__counts_covariates_and_says_so(study):
    config = study.settings("blup", bounds="tight")
    plan = plan_study(config.as_dict(), people=N_PEOPLE)
    assert plan["assumptions"]["n_covariates"] == 3
    entries = {one["statistic"]: one["entries"] for one in plan["requests"][0]["mechanisms"]}
    assert (entries["gram"], entries["cross product"]) == (8 * 9 // 2 - 1, 3 * 7)
    assert {line["bounds"] for line in plan["requests"][0]["bounds_and_neighbours"]} == {"tight"}
    assert "3 covariates share norm and noise" in plan_as_text(plan)
