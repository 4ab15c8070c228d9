"""A release on public linkage disequilibrium, by its steps: what is summed, drawn, sealed and stated."""

import hashlib
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import Statistics, load_labelled, save_labelled
from dpgrs.linalg.clipped_statistics import frequency_rows
from dpgrs.linalg.coding import GENOTYPE_STEP
from dpgrs.linalg.ld_estimation import public_ld
from dpgrs.linalg.norms import tight_row_norm
from dpgrs.planning.plan import plan_study
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.statement.findings import mismatch_in_words
from dpgrs.steps import compute_statistics as statistics_step
from dpgrs.steps import measure_ld as step
from dpgrs.steps.draw import draw
from dpgrs.steps.fit_weights import fit_weights
from dpgrs.steps.measure_release import measure_release
from dpgrs.steps.write_release import write_release
from dpgrs.study.fit_identity import ld_identity
from dpgrs.study.public_files import load_ld
from dpgrs.study.settings_files import read_settings
from dpgrs.verify.bundle import verify_release
from dpgrs.verify.input_check import PUBLIC_LD
from forged_releases import edit_statement, seal
from outcome_files import write_outcomes
from random_cohorts import random_bits
from refused import refused
from step_settings import settings_for
from step_studies import N_VARIANTS, Study

N_PUBLIC = 50
FREQUENCY = np.array([0.2, 0.4, 0.3, 0.45])
CONTIG, POSITION = np.array(["1", "1", "2", "2"]), np.array([10, 11, 10, 11])
MEASURED = {"metrics": "charged", "epsilon": 0.5}


def ld_file(path, monkeypatch, *, seed, rows="people", size=(N_VARIANTS,)):
    """Measure linkage disequilibrium of some public people as the rule does; return the path and them."""
    bits = random_bits(N_VARIANTS, 2 * N_PUBLIC, seed=seed)
    variant_set = SimpleNamespace(
        genotypes=lambda columns: bits[columns],
        of_size=lambda size: np.arange(N_VARIANTS - size, N_VARIANTS),
        frequency=FREQUENCY,
        n_haplotypes=2 * N_PUBLIC,
        variants=pd.DataFrame({"contig": CONTIG, "position": POSITION}),
    )
    monkeypatch.setattr(step, "VariantSet", SimpleNamespace(open=lambda path: variant_set))
    settings = settings_for("measure-ld", cohort={"rows": rows}, variants={"size": list(size)})
    step.measure_ld(settings, "variant_set", output=path)
    return path, bits


@pytest.mark.parametrize("rows", ["people", "haplotypes"])
def test_measure_ld__is_of_rows_as_those_of_a_cohort(tmp_path, monkeypatch, rows):
    sizes = (2, N_VARIANTS)
    path, bits = ld_file(tmp_path / "ld.npz", monkeypatch, seed=1, rows=rows, size=sizes)
    found = load_ld(path)
    assert found.keys() == set(sizes)
    for size, (ld, digest) in found.items():
        own = slice(N_VARIANTS - size, None)
        norm = tight_row_norm(FREQUENCY[own], rows=rows, factor=1.0)
        X = frequency_rows(bits[own], FREQUENCY[own], row_norm=norm, n_haplotypes=2 * N_PUBLIC, rows=rows)
        assert digest == hashlib.sha256(np.ascontiguousarray(X).tobytes()).hexdigest()
        places = {"contig": CONTIG[own], "position": POSITION[own]}
        n_alleles = {"people": 1, "haplotypes": 2}[rows]
        wanted = public_ld(X * GENOTYPE_STEP, **places, rows_per_person=n_alleles)
        assert (ld.n_rows, ld.starts.tolist()) == (len(X), [0, 2][: len(wanted.starts)])
        for one, other in zip(ld.blocks, wanted.blocks, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(ld.components, wanted.components)


def test_ld_identity__is_that_of_the_people(tmp_path, monkeypatch):
    one, other, again = (
        ld_identity(ld_file(tmp_path / "ld.npz", monkeypatch, seed=seed)[0]) for seed in (1, 2, 1)
    )
    assert one == again != other
    assert one.keys() == {"ld"}
    assert ld_identity(None) == {}


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A release on linkage disequilibrium of public people, with its ledger."""
    (tmp_path / "private").mkdir(mode=0o700)
    study = Study(tmp_path / "private", monkeypatch)
    study.config = study.settings("blup-ld", bounds="tight")
    study.config = study.config.changed(evaluation=MEASURED)
    study.config = study.config.changed(outcomes={"test_share": 0.5})  # as accuracy that is charged asks for
    study.ld, _ = ld_file(study.root / "ld.npz", monkeypatch, seed=1)
    sum_up(study)
    release(study)
    return study


def sum_up(study):
    settings, files = settings_for("compute-statistics", study.config), (study.root / "outcomes.zarr",)
    output = study.root / "statistics.npz"
    statistics_step.compute_statistics(settings, "variant_set", *files, without_gram=True, output=output)


def release(study, ld=None):
    draw(
        settings_for("draw", study.config),
        study.root / "outcomes.zarr",
        mechanism="steered-products",
        statistics=study.root / "statistics.npz",
        variant_set="variant_set",
        ld=ld or study.ld,
        sites=study.sites,
        output=study.root / "noisy.npz",
        events=study.root / "events.json",
    )


def fit(study, ld):
    settings, output = settings_for("fit-weights", study.config), study.root / "weights.npz"
    fit_weights(settings, [study.root / "noisy.npz"], ld=ld, output=output)
    return output


def measure(study, ld):
    held_out, outcomes = study.root / "held_out.zarr", Outcomes.load(study.root / "outcomes.zarr")
    nobody = np.zeros(len(outcomes.is_training), dtype=bool)
    write_outcomes(held_out, Outcomes(outcomes.names, outcomes.values, {}, nobody, "people"))
    measure_release(
        settings_for("measure-release", study.config),
        study.root / "noisy.npz",
        held_out,
        fit(study, ld),
        variant_set="variant_set",
        sites=study.sites,
        ld=ld,
        output=study.root / "metrics.tsv",
        accuracy=study.root / "accuracy.npz",
        events=study.root / "accuracy_events.json",
    )


def bundle(study, ld):
    settings = study.root / "settings.json"
    settings.write_text(json.dumps(study.config.as_dict()))
    files = [study.root / name for name in ("noisy.npz", "weights.npz", "accuracy.npz")]
    write_release(settings, study.sites, *files, ld=ld, output=study.root / "bundle")


def test_compute_statistics__without_gram_is_the_rest_alone(study):
    found = Statistics.load(study.root / "statistics.npz")
    whole = Statistics.load(study.sum_up(study.config))
    assert found.gram is None
    ((place, part),) = found.clipped.items()
    assert part.gram is None
    assert whole.clipped[place].gram is not None
    np.testing.assert_array_equal(part.cross, whole.clipped[place].cross)
    assert (part.row_norm, part.outcome_norm) == (
        whole.clipped[place].row_norm,
        whole.clipped[place].outcome_norm,
    )
    assert (found.n_rows, found.n_observed.tolist()) == (whole.n_rows, whole.n_observed.tolist())


def test_release__states_which_public_genotypes_and_how_they_fit(study):
    measure(study, study.ld)
    bundle(study, study.ld)
    statement, digest = study.statement(), ld_identity(study.ld)["ld"]
    assert statement["fit"]["ld"] == digest
    (stated,) = [one for one in statement["public_inputs"] if "linkage disequilibrium" in one["name"]]
    assert stated["value"] == digest
    assert stated["origin"].startswith("a simulated reference cohort")
    ((_, arrays),) = load_labelled(study.root / "weights.npz")
    assert mismatch_in_words(arrays["mismatch"]) in statement["post_processing"]
    statistics = [one["statistic"] for one in statement["mechanisms"]]
    assert statistics == ["count", "cross product", "accuracy"]


def test_write_release__raise_on_other_public_genotypes_than_were_fitted(study, monkeypatch):
    measure(study, study.ld)
    other, _ = ld_file(study.root / "other.npz", monkeypatch, seed=2)
    for ld in (other, None):
        with refused("weights-not-of-release"):
            bundle(study, ld)


def test_fit_weights__raise_on_other_public_genotypes_than_steered(study, monkeypatch):
    other, _ = ld_file(study.root / "other.npz", monkeypatch, seed=2)
    with refused("ld-differs"):
        fit(study, other)


def test_write_release__raise_on_other_public_genotypes_than_charged_for(study, monkeypatch):
    """The file of what was drawn, and the fit by it, name others than the ledger."""
    other, _ = ld_file(study.root / "other.npz", monkeypatch, seed=2)
    drawn = study.root / "noisy.npz"
    ((label, arrays),) = load_labelled(drawn)
    save_labelled(drawn, [(label | ld_identity(other), arrays)])
    fit(study, other)
    with refused("statistics-terms-differ"):
        bundle(study, other)


def test_verify_release__finds_other_public_genotypes_or_none(study):
    measure(study, study.ld)
    bundle(study, study.ld)
    folder, inputs = study.root / "bundle", study.statement()["public_inputs"]
    verify_release(folder)
    (place,) = [place for place, one in enumerate(inputs) if one["name"] == PUBLIC_LD]
    for forged in ([inputs[place] | {"value": "b" * 64}], []):
        edit_statement(folder, ["public_inputs"], inputs[:place] + forged + inputs[place + 1 :])
        seal(folder)
        with pytest.raises(DpgrsError, match="must have the same genotypes whose linkage"):
            verify_release(folder)


def test_measure_release__other_public_genotypes_are_charged_anew(study, monkeypatch):
    other, _ = ld_file(study.root / "other.npz", monkeypatch, seed=2)
    found = []
    for ld in (study.ld, other, study.ld):
        release(study, ld)
        measure(study, ld)
        found.append(load_labelled(study.root / "accuracy.npz")[0][1]["sums"])
    known = Ledger(study.ledger(study.config).path).read().requests.values()
    stated = [one.identity["weights"]["ld"] for one in known if one.identity["mechanism"] == "accuracy"]
    assert stated == [ld_identity(ld)["ld"] for ld in (study.ld, other)]
    np.testing.assert_array_equal(found[0], found[2])
    assert not np.array_equal(found[0], found[1])


def test_release__steered_by_other_public_genotypes_is_charged_anew(study, monkeypatch):
    def known():
        return Ledger(study.ledger(study.config).path).read().requests.values()

    first = (study.root / "noisy.npz").read_bytes()
    release(study)
    assert (study.root / "noisy.npz").read_bytes() == first
    # The count and X'Y.
    assert len(known()) == 2
    other, _ = ld_file(study.root / "other.npz", monkeypatch, seed=2)
    release(study, other)
    digests = [ld_identity(ld)["ld"] for ld in (study.ld, other)]
    # The count hangs on no public genotypes.
    assert [one.identity.get("ld") for one in known()] == [None, *digests]


@pytest.mark.parametrize("outcome_budget", ["joint", "separate"])
def test_plan_study__has_no_gram_matrix(tmp_path, monkeypatch, outcome_budget):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text("study: tiny\n")
    privacy = f"privacy={{epsilon: 2, accounting: gdp, bounds: tight, outcome_budget: {outcome_budget}}}"
    changes = ["mode=release", "cohort={rows: people}", "variants={size: 8}", "outcomes={count: 3}", privacy]
    plans = [
        plan_study(read_settings("study.yaml", changes=[*changes, f"methods=[{name}]"]), people=1000)
        for name in ("blup", "blup-ld")
    ]
    statistics = [{one["statistic"] for one in plan["requests"][0]["mechanisms"]} for plan in plans]
    assert statistics == [{"count", "gram", "cross product"}, {"count", "cross product"}]
    compared = [plan["requests"][0]["bounds_and_neighbours"] for plan in plans]
    for whole, own in zip(*compared, strict=True):
        assert own["noise_sd_gram"] is None
        assert whole["noise_sd_gram"] > 0
        assert own["noise_sd_cross"] < whole["noise_sd_cross"]
