"""Releases of a whole genome along a public map: verified, replayed, and killed between chromosomes."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.errors import DpgrsError
from dpgrs.fit_keys import MATCHED_PEOPLE
from dpgrs.io.files import file_digest
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import load_labelled
from dpgrs.io.sites import read_chosen_sites
from dpgrs.io.variant_set import VariantSet
from dpgrs.linalg.genome_moments import ChromosomeMoments, n_moments
from dpgrs.linalg.genome_sums import ChromosomeSums
from dpgrs.privacy.accounting.accountant import gdp_mu
from dpgrs.study.genome_maps import panel_dosages, stored_maps
from dpgrs.study.genome_people import sums_digest
from dpgrs.study.training_data import load_chromosomes
from dpgrs.verify.bundle import verify_release
from effects_files import write_statistics
from html_pages import Page
from release_studies import RELEASE, bundle, copied_site, run_and_kill, shared_site
from study_runs import run

SETTINGS = RELEASE | {
    "study": "genome",
    "methods": ["blup-genome"],
    "cohort": RELEASE["cohort"] | {"planned_people": 150},
    "variants": {"size": 40},
    "outcomes": {"count": 2},
    "release": RELEASE["release"] | {"audit_draws": 100},
}
PRIVATE = "results/genome/private/replicate1"
pytestmark = pytest.mark.release


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    options = {"people": 200, "reference_people": MATCHED_PEOPLE}
    with shared_site(tmp_path_factory, SETTINGS, **options) as folder:
        yield folder


@pytest.fixture
def copy(site, tmp_path):
    return copied_site(site, tmp_path / "copy")


def test_release__is_one_draw_of_all_chromosomes(site):
    folder = site / "results" / "genome"
    statement = json.loads((folder / "release" / "privacy_statement.json").read_text())
    count, sums = statement["mechanisms"]
    assert (count["statistic"], sums["statistic"]) == ("count", "genome sums")
    assert sums["proof"] == "docs/proofs/genome.md"
    labels = [label for label in load_labelled(folder / "public" / "ld.npz").labels if "terms" in label]
    assert [label["contig"] for label in labels] == ["21", "22"]
    assert statement["fit"]["ld"] == labels[0]["digest"]
    audited = {audit["mechanism"] for audit in statement["audit"]["mechanisms"]}
    assert audited == {"private_count", "private_genome_sums"}
    assert verify_release(folder / "release")["n_requests"] == 2
    ((_, fit),) = load_labelled(folder / "private" / "replicate1" / "weights.npz")
    assert fit["weights"].shape == (2, 40)
    assert np.isfinite(fit["weights"]).all()
    # Exact sums are removed once noise was drawn on them, and X'X and X'Y were never summed.
    assert not (site / PRIVATE / "genome").exists()
    assert not (site / PRIVATE / "statistics.npz").exists()
    page = " ".join(Page(folder / "report" / "index.html").text.split())
    assert "products of genotypes and outcomes along directions of public LD" in page


def test_release__a_regression_on_covariates_waits_for_the_map(copy):
    """A map that is refused, as of rare variants, leaves no charge behind."""
    drawn = f"{PRIVATE}/drawn/covariate-regression.npz"
    plan = run(copy, SETTINGS | {"covariates": {"pcs": 1}}, "--dry-run", drawn).stdout
    assert plan.count("rule draw_regression:") == 1
    assert "rule measure_ld:" in plan


def test_release__killed_between_chromosomes_gives_the_same_bytes_at_no_further_cost(site, copy):
    first = f"{PRIVATE}/genome/1_of_2.npz"
    before = (site / "ledger.jsonl").read_bytes()
    run(copy, SETTINGS, first)
    made = (copy / first).stat().st_mtime_ns
    run_and_kill(copy, SETTINGS, "dpgrs.steps.sum_genome.contig_sums")
    assert (copy / first).stat().st_mtime_ns == made
    # The ledger of the first release: the draw is a replay.
    assert "Replayed: nothing was charged" in run(copy, SETTINGS).stdout
    assert bundle(copy, "genome") == bundle(site, "genome")
    assert (copy / "ledger.jsonl").read_bytes() == before


def test_release__with_equal_shares_holds_effects_and_their_ld_beside_it(copy):
    privacy = SETTINGS["privacy"] | {"direction_shares": "equal"}
    run(copy, SETTINGS | {"study": "equal", "privacy": privacy})
    folder = copy / "results" / "equal"
    bundle, ld = folder / "release", folder / "truncated_ld.npz"
    assert verify_release(bundle, ld=ld)["n_requests"] == 2
    notes = (bundle / "statistics" / "simulated_0001.tsv.gz-meta.yaml").read_text()
    assert "Not supported: PRS-CS" in notes
    assert file_digest(ld) in notes
    table = pd.read_csv(bundle / "statistics" / "simulated_0001.tsv.gz", sep="\t")
    assert len(table) == 40
    deviation = np.sqrt(2 * table["effect_allele_frequency"] * (1 - table["effect_allele_frequency"]))
    squares = (table["standard_error"] * deviation) ** 2
    np.testing.assert_allclose(np.rint(table["noise_scale"] / squares), table["n"])


def test_release__with_second_moments_is_verified_scored_and_the_same_after_a_kill(copy):
    """With moments a stated ancestry gives no scale."""
    privacy = SETTINGS["privacy"] | {"ld_share": 0.1}
    public = SETTINGS["public"] | {"same_ancestry": True}
    settings = SETTINGS | {"study": "moments", "privacy": privacy, "public": public}
    run(copy, settings)
    root, files, before = copy / "results" / "moments", bundle(copy, "moments"), ledger_of(copy)
    statement = json.loads(files["privacy_statement.json"])
    drawn = {event["statistic"]: event for event in statement["mechanisms"]}
    assert list(drawn) == ["count", "genome moments", "genome sums"]
    assert drawn["count"]["request"] == drawn["genome moments"]["request"] != drawn["genome sums"]["request"]
    squares = {name: float(event["mu"]) ** 2 for name, event in drawn.items()}
    assert sum(squares.values()) == pytest.approx(gdp_mu(2, 1e-6) ** 2, rel=1e-6)
    assert squares["genome moments"] == pytest.approx(
        0.1 * (squares["genome moments"] + squares["genome sums"])
    )
    audited = {audit["mechanism"] for audit in statement["audit"]["mechanisms"]}
    assert audited == {"private_count", "private_genome_moments", "private_genome_sums"}
    (stored,) = stored_maps(root / "public" / "ld.npz")
    assert drawn["genome moments"]["entries"] == n_moments(stored.genome)
    assert stored.label["terms"]["mu"] == pytest.approx(float(drawn["genome sums"]["mu"]), rel=1e-9)
    assert "same_ancestry" not in statement["fit"]
    assert any("noisy second moments of rows within blocks" in line for line in statement["post_processing"])
    assert verify_release(root / "release")["n_requests"] == 2
    assert not (copy / "results/moments/private/replicate1/genome").exists()
    page = " ".join(Page(root / "report" / "index.html").text.split())
    assert "products of genotypes along two directions of public LD" in page
    alone = shutil.copytree(root / "release", copy / "alone")
    target = [str(copy / "reference" / f"{name}.vcf.gz") for name in ("21", "22")]
    scored = CliRunner().invoke(
        main, ["score", *target, "--score", str(alone), "--output", str(copy / "out")]
    )
    assert scored.exit_code == 0, scored.output
    table = pd.read_csv(copy / "out" / "scores.tsv.gz", sep="\t")
    assert len(table) == MATCHED_PEOPLE
    assert (table.filter(regex="sum$").std() > 0).sum() == 2
    shutil.rmtree(root)
    first = "results/moments/private/replicate1/genome/1_of_2.npz"
    run(copy, settings, first)
    (moments,) = load_chromosomes([copy / first], sums_digest(stored, None), ChromosomeMoments)
    assert moments.contig == "21"
    run_and_kill(copy, settings, "dpgrs.steps.sum_genome.contig_sums")
    assert "Replayed: nothing was charged" in run(copy, settings).stdout
    assert bundle(copy, "moments") == files
    assert ledger_of(copy) == before


def ledger_of(folder):
    return (folder / "ledger.jsonl").read_bytes()


def test_release__of_stated_ancestry_scales_the_weights_of_the_same_draws(site, copy):
    public = SETTINGS["public"] | {"same_ancestry": True}
    before = (copy / "ledger.jsonl").read_bytes()
    run(copy, SETTINGS | {"study": "stated", "public": public})
    assert (copy / "ledger.jsonl").read_bytes() == before
    folder = copy / "results" / "stated"
    assert verify_release(folder / "release")["n_scores"] == 2
    statement = json.loads((folder / "release" / "privacy_statement.json").read_text())
    stated = {public["name"]: public["value"] for public in statement["public_inputs"]}
    assert stated["ancestry of the public genotypes"] == "stated to be the cohort's"
    assert any("the scale of scores" in line for line in statement["post_processing"])
    weights, unscaled = (
        next(iter(load_labelled(path / "private" / "replicate1" / "weights.npz")))[1]["weights"]
        for path in (folder, site / "results" / "genome")
    )
    ratios = weights / unscaled
    np.testing.assert_allclose(ratios, ratios[0, 0], rtol=1e-6)
    assert 0.8 < ratios[0, 0] < 1.2
    assert ratios[0, 0] != pytest.approx(1, abs=1e-6)


def test_release__with_public_effects_is_another_fit_of_the_same_draws(site, copy):
    sites = read_chosen_sites(site / "results" / "genome" / "public" / "sites.tsv")
    write_statistics(copy / "gwas.tsv", sites, np.random.default_rng(1).standard_normal(len(sites)))
    public = SETTINGS["public"] | {"effects": ["gwas.tsv"]}
    before = (copy / "ledger.jsonl").read_bytes()
    run(copy, SETTINGS | {"study": "told", "public": public})
    files = bundle(copy, "told")
    assert files != bundle(site, "genome")
    assert (copy / "ledger.jsonl").read_bytes() == before
    statement = json.loads(files["privacy_statement.json"])
    stated = {public["name"]: public["origin"] for public in statement["public_inputs"]}
    assert stated["effects of gwas.tsv"] == "40 of 40 variants matched"
    assert any("Genetic correlations with the public effects" in one for one in statement["post_processing"])
    assert verify_release(copy / "results" / "told" / "release")["n_scores"] == 2


def subtracted_settings(copy, site, *, seed=1):
    """Write a GWAS of the first outcome, and return settings by which its score is subtracted.

    Its effects are those of a score of common variants that explains 0.4 of a phenotype in the reference.
    """
    public = site / "results" / "genome" / "public"
    sites, panel = read_chosen_sites(public / "sites.tsv"), VariantSet.open(public / "variants.zarr")
    X = panel_dosages(panel, np.arange(len(sites))).astype(np.float64)
    X -= X.mean(axis=0)
    is_common = X.var(axis=0) > np.median(X.var(axis=0))
    score = X @ (is_common * np.random.default_rng(seed).standard_normal(len(sites)))
    effects = np.sqrt(0.4) / score.std() * (score @ X) / np.square(X).sum(axis=0)
    write_statistics(copy / "simulated_0001.tsv", sites, effects)
    public = {"effects": ["simulated_0001.tsv"], "subtract": ["simulated_0001"]}
    return SETTINGS | {"study": "less", "public": SETTINGS["public"] | public}


def drawn_slopes(folder):
    """Return the slopes of the clips of what was drawn in the folder of a study."""
    ((_, arrays),) = load_labelled(folder / "private" / "replicate1" / "drawn" / "genome-statistics.npz")
    return arrays["slopes"]


def test_release__of_outcomes_less_a_public_score_is_another_draw_and_the_same_after_a_kill(site, copy):
    settings, before = subtracted_settings(copy, site), ledger_of(copy)
    run(copy, settings)
    root, plain_root = copy / "results" / "less", site / "results" / "genome"
    files, after = bundle(copy, "less"), ledger_of(copy)
    assert after.startswith(before)
    assert len(after) > len(before)
    statement = json.loads(files["privacy_statement.json"])
    plain = json.loads(bundle(site, "genome")["privacy_statement.json"])
    assert statement["fit"]["subtracted"] == ["simulated_0001"]
    assert statement["fit"]["ld"] != plain["fit"]["ld"]
    assert any("was subtracted from simulated_0001" in line for line in statement["post_processing"])
    # The number of people is replayed, the sums are another request at the same cost.
    counts, sums = zip(statement["mechanisms"], plain["mechanisms"], strict=True)
    assert counts[0]["request"] == counts[1]["request"]
    assert sums[0]["request"] != sums[1]["request"]
    assert sums[0]["mu"] == sums[1]["mu"]
    assert verify_release(root / "release")["n_requests"] == 2
    (stored,), (plain_map,) = (stored_maps(one / "public" / "ld.npz") for one in (root, plain_root))
    assert stored.scored == ("simulated_0001",)
    assert stored.genome.residual_variances[0] < 0.95
    ours, theirs = drawn_slopes(root), drawn_slopes(plain_root)
    assert ours[0] > ours[1]
    assert theirs[0] == theirs[1]
    shutil.rmtree(root)
    first = "results/less/private/replicate1/genome/1_of_2.npz"
    run(copy, settings, first)
    (sums,) = load_chromosomes([copy / first], sums_digest(stored, None), ChromosomeSums)
    assert sums.contig == "21"
    with pytest.raises(DpgrsError, match="must be made along the map of this release"):
        load_chromosomes([copy / first], sums_digest(plain_map, None), ChromosomeSums)
    run_and_kill(copy, settings, "dpgrs.steps.sum_genome.contig_sums")
    assert "Replayed: nothing was charged" in run(copy, settings).stdout
    assert bundle(copy, "less") == files
    assert ledger_of(copy) == after
    # A release by other effects cannot take the place of this one.
    refused = run(copy, subtracted_settings(copy, site, seed=2), check=False)
    assert refused.returncode != 0
    assert "`study` must be new for another release" in refused.stdout
    assert bundle(copy, "less") == files
    assert ledger_of(copy) == after


def test_benchmark__has_a_map_for_every_design_beside_other_methods(copy):
    settings = {
        "study": "compared",
        "replicates": 1,
        "cohort": SETTINGS["cohort"],
        "public": {"reference": SETTINGS["public"]["reference"]},
        "variants": {"size": [20, 40]},
        "outcomes": {"count": [1, 2]},
        "methods": ["blup", "blup-ld", "blup-genome"],
        "privacy": {"epsilon": [20], "bounds": "tight", "accounting": ["gdp"], "ld_share": 0.1},
    }
    run(copy, settings)
    root = copy / "results" / "compared"
    metrics = pd.read_csv(root / "metrics.tsv", sep="\t")
    assert metrics.groupby("method")["r2"].count().to_dict() == dict.fromkeys(settings["methods"], 6)
    assert metrics["mse_nonprivate"].notna().all()
    labels = [label for label in load_labelled(root / "public" / "ld.npz").labels if "terms" in label]
    designs = {(label["terms"]["n_variants"], label["terms"]["n_outcomes"]) for label in labels}
    assert designs == {(20, 1), (20, 2), (40, 1), (40, 2)}
    assert len({label["digest"] for label in labels}) == 4


# Two chromosomes, on which blocks and components of ancestry are not all of a genome.
N_PEOPLE, COMPONENTS = 1500, ["PC1", "PC2"]
ADJUSTED = SETTINGS | {
    "study": "adjusted",
    "cohort": RELEASE["cohort"] | {"planned_people": 1300},
    "variants": {"size": 1000},
    "covariates": {"file": "covariates.tsv", "scales": "scales.tsv", "pcs": len(COMPONENTS)},
    "release": RELEASE["release"],
}


def write_covariates(folder):
    rng = np.random.default_rng(1)
    names = pd.Index([f"sim{number:04d}" for number in range(1, N_PEOPLE + 1)], name="sample")
    table = pd.DataFrame({"age": rng.normal(45, 12, N_PEOPLE), "sex": rng.integers(0, 2, N_PEOPLE)}, names)
    table.to_csv(folder / "covariates.tsv", sep="\t")
    constants = "covariate\tcentre\tscale\tprevalence\nage\t45\t12\tNA\nsex\tNA\tNA\t0.5\n"
    (folder / "scales.tsv").write_text(constants)


@pytest.fixture(scope="module")
def adjusted_site(tmp_path_factory):
    options = {"people": N_PEOPLE, "prepare": write_covariates, "length": 2_000_000, "reference_people": 400}
    with shared_site(tmp_path_factory, ADJUSTED, **options) as folder:
        yield folder


def test_release_with_covariates__the_map_is_steered_by_the_budget_that_is_left(adjusted_site):
    folder = adjusted_site / "results" / "adjusted"
    statement = json.loads((folder / "release" / "privacy_statement.json").read_text())
    regression, count, sums = statement["mechanisms"]
    names = [event["statistic"] for event in (regression, count, sums)]
    assert names == ["covariate regression", "count", "genome sums"]
    (stored,) = stored_maps(folder / "public" / "ld.npz")
    budget = stored.label["terms"]["mu"]
    assert budget == pytest.approx(float(sums["mu"]), rel=1e-9)
    whole = gdp_mu(2, 1e-6)
    squares = [float(event["mu"]) ** 2 for event in (regression, count, sums)]
    assert sum(squares) == pytest.approx(whole**2, rel=1e-6)
    assert budget < 0.99 * whole
    assert verify_release(folder / "release")["n_requests"] == 3
    ((_, fit),) = load_labelled(folder / "private" / "replicate1" / "weights.npz")
    assert fit["weights"].shape == (2, 1004)
    effects = Outcomes.load(folder / "private" / "replicate1" / "adjusted_outcomes.zarr").covariate_effects
    np.testing.assert_array_equal(fit["weights"][:, -4:], effects[:, 1:])
    assert (effects != 0).all()


def test_release_with_covariates__killed_before_the_draw_gives_the_same_bytes(adjusted_site, tmp_path):
    copy, before = (
        copied_site(adjusted_site, tmp_path / "copy"),
        (adjusted_site / "ledger.jsonl").read_bytes(),
    )
    first = "results/adjusted/private/replicate1/genome/1_of_2.npz"
    run(copy, ADJUSTED, first)
    made = (copy / first).stat().st_mtime_ns
    effects = Outcomes.load(
        copy / "results" / "adjusted" / "private" / "replicate1" / "adjusted_outcomes.zarr"
    ).covariate_effects
    (stored,) = stored_maps(copy / "results" / "adjusted" / "public" / "ld.npz")
    (sums,) = load_chromosomes([copy / first], sums_digest(stored, effects), ChromosomeSums)
    assert sums.contig == "21"
    # Sums of outcomes less another regression's part are not taken.
    for others in (None, effects + 2.0**-12):
        with pytest.raises(DpgrsError, match="must be made along the map of this release"):
            load_chromosomes([copy / first], sums_digest(stored, others), ChromosomeSums)
    run_and_kill(copy, ADJUSTED, "dpgrs.steps.sum_genome.contig_sums")
    assert (copy / first).stat().st_mtime_ns == made
    assert "Replayed: nothing was charged" in run(copy, ADJUSTED).stdout
    assert bundle(copy, "adjusted") == bundle(adjusted_site, "adjusted")
    assert (copy / "ledger.jsonl").read_bytes() == before
