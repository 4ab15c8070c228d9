import math
from pathlib import Path

import pytest

from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.preflight.checks import check
from dpgrs.privacy.accounting.accountant import gdp_epsilon, gdp_mu
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.privacy.noise.study_key import VARIABLE
from dpgrs.study.release_cost import total_epsilon
from dpgrs.study.settings import resolve
from dpgrs.types import Bounds, Protection
from found_by import all_found, merged
from ledger_requests import DATASET, create_fixed_key, new_ledger, reserve
from release_studies import CURATION
from vcf_files import record, vcf_text, write_text

# Of those that take all as private; others: test_preflight_public_side.py.
RELEASED = [name for name in methods_that("may_be_released") if Protection.FULL in METHODS[name].protections]


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Settings of a release that nothing is wrong with."""
    monkeypatch.chdir(tmp_path)  # no earlier results
    monkeypatch.setenv(VARIABLE, str(tmp_path / "key" / "study.key"))
    create_fixed_key()
    return {
        "mode": "release",
        "dataset": DATASET | {"version": "1"},
        "cohort": {"rows": "people"},
        "outcomes": {"count": 3},
        "privacy": {"epsilon": 1, "ledger": str(new_ledger(tmp_path, pure_epsilon="1").path)},
        "release": CURATION,
    }


@pytest.mark.parametrize(
    ("method", "bounds"),
    [
        (method, bounds)
        for method in RELEASED
        for bounds in (Bounds.TIGHT, Bounds.WORST_CASE)
        if bounds == Bounds.TIGHT or not METHODS[method].takes_ld
    ],
)
def test_release__a_complete_study_passes(study, method, bounds):
    complete = merged(study, {"methods": [method], "privacy": {"bounds": bounds}})
    assert check(complete).mode == "release"


@pytest.mark.parametrize(
    "changes",
    [
        {"dataset": {"version": "kept in /home/anna/panel"}},
        {"public": {"origin": "kept in /home/anna/panel"}},
        {"outcomes": {"scales": "scales.tsv"}},
        {"outcomes": {"loadings": "loadings.tsv"}},
        {"outcomes": {"loadings": "components.tsv"}},
        {"covariates": {"file": "covariates.tsv", "scales": "covariate_scales.tsv"}},
    ],
)
def test_release__refuses_what_its_own_check_would_take_for_a_path(study, changes):
    text = "kept in /home/anna/panel"
    write_text(Path("scales.tsv"), f"outcome\tcentre\tscale\torigin\nheight\t0\t1\t{text}\n")
    write_text(Path("loadings.tsv"), f"outcome\torigin\ta\nheight\t{text}\t1\n")
    write_text(Path("components.tsv"), "outcome\torigin\t/home/anna/panel\nheight\tx\t1\n")
    write_text(Path("covariate_scales.tsv"), "covariate\tcentre\tscale\n/home/anna/panel\t0\t1\n")
    assert any(
        "must hold no path of a machine, got `/home/anna`" in line
        for line in all_found(merged(study, changes))
    )


def test_release__refuses_names_of_public_files_that_its_own_check_would_take_for_a_path(study):
    said = "`public.effects` must hold no path of a machine, got `C:\\e`. Rename the file."
    for path, is_refused in (("folder/C:\\e.tsv", True), ("/home/anna/e.tsv", False)):
        assert (said in all_found(merged(study, {"public": {"effects": [path]}}))) == is_refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"regression": {"heritability": 5e-324}},
            "`regression.heritability` must be null or a finite number of at least 1e-06 and below 1",
        ),
        ({"privacy": {"delta": 0.001}}, "`privacy.delta` must be at most 0.0001, got 0.001"),
        ({"privacy": {"epsilon": 30}}, "`privacy.epsilon` must cost a person at most epsilon 20"),
        (
            {"privacy": {"beyond_20": "open data"}},
            "`privacy.beyond_20` must be null for a release that costs a person at most epsilon 20, got a "
            "reason with epsilon 1 at delta 1e-06. Leave it out.",
        ),
        ({"replicates": 2}, "`replicates` must be 1 in a release, got 2."),
        ({"release": {"title": "height (cm)/leg/arm"}}, "`release.title` must hold no path of a machine"),
        (
            {"people": {"consent": {"file": "codes.tsv", "column": "code", "allow": ["GRU", "/GRU/MDS"]}}},
            "`people.consent.allow` must hold no path of a machine, got `/GRU/MDS`",
        ),
        ({"outcomes": {"test_share": 0.9999}}, "`outcomes.test_share` must be a finite number of at least 0"),
        ({"outcomes": {"traits": "none.tsv"}}, "`outcomes.traits`: `none.tsv` must be a table"),
        (
            {"methods": ["reusecov-gauss"], "variants": {"size": 12000}},
            "`release.statistics` must be false for statistics of more than 1024 MiB, got true with ",
        ),
        (
            {"methods": ["ridge", "reusecov-gauss"]},
            "`methods` must have a guarantee in a release, got ridge. Use one of reusecov-gauss, ",
        ),
        (
            {"privacy": {"neighbours": "replace-one"}, "outcomes": {"test_share": 0.2}},
            "`outcomes.test_share` must be 0 under `neighbours: replace-one` in a release, got 0.2",
        ),
        ({"cohort": {"keep_filtered": False}}, "`cohort.keep_filtered` must be true in a release, got false"),
        (
            {"methods": ["reusecov-gauss", "blup"]},
            "`methods` must be one value in a release, got reusecov-gauss, blup. Choose",
        ),
        ({"variants": {"ambiguous": "keep"}}, "`variants.ambiguous` must be drop in a release, got keep"),
        ({"variants": {"classes": ["snp", "indel"]}}, "`variants.classes` must be snp in a release, got snp"),
        ({"methods": "ols"}, "`methods` must have a guarantee in a release, got ols."),
        ({"methods": ["dp-sgd"]}, "`methods` must not be only for benchmarks in a release"),
        (
            {"methods": ["adassp"], "variants": {"size": 5000}},
            "`variants.size` must be at most 4096 for `methods: adassp`, got 5000. Lower it.",
        ),
        *(
            ({"methods": [name]}, f"`methods` must not be only for benchmarks in a release, got {name}. ")
            for name in ("naive", "bas", "k-bas", "s-blup")
        ),
        (
            {"methods": ["adassp"], "variants": {"size": 4094}, "covariates": {"pcs": 3}},
            "`variants.size` must be at most 4093 for `methods: adassp` with 3 covariates, got 4094.",
        ),
        (
            {
                "methods": ["naive"],
                "variants": {"size": 1000},
                "outcomes": {"count": 267},
                "covariates": {"pcs": 20},
            },
            "`outcomes.count` must be at most 257 for `methods: naive` at `variants.size: 1000` with 20 "
            "covariates, got 267",
        ),
        (
            {"methods": ["naive"], "variants": {"size": 1000}, "outcomes": {"count": 300}},
            "`outcomes.count` must be at most 267 for `methods: naive` at `variants.size: 1000`, got 300",
        ),
        (
            {"methods": ["naive"], "regression": {"lambda_from": "evidence"}},
            "`regression.lambda_from` must be fixed for `methods: naive` in a release, got evidence.",
        ),
        (
            {"privacy": {"protection": ["label"]}, "regression": {"lambda_from": "adassp"}},
            "`regression.lambda_from` must be fixed or evidence under label protection, as X'X has no noise",
        ),
        ({"privacy": {"epsilon": [1, 2]}}, "`privacy.epsilon` must be one value in a release, got 1, 2."),
        ({"variants": {"size": [10, 20]}}, "`variants.size` must be one value in a release"),
        ({"outcomes": {"count": [1, 3]}}, "`outcomes.count` must be one value in a release"),
        ({"privacy": {"accounting": ["gdp", "paper"]}}, "`privacy.accounting` must be one value"),
        ({"dataset": {"version": None}}, "`dataset.version` must be given for a release"),
        ({"dataset": {"accession": "phs9"}}, "`dataset.accession` must be phs000001 as in"),
        ({"privacy": {"ledger": None}}, "`privacy.ledger` must name the dataset's ledger, got null."),
        ({"privacy": {"ledger": "absent.jsonl"}}, "`privacy.ledger`:"),
        (
            {"privacy": {"neighbours": "replace-one"}},
            "must have an account full/person/replace-one, got full/",
        ),
        ({"release": {"curator": None}}, "`release.curator` must be given for a release"),
        ({"public": {"sites": "sites.tsv"}}, "`public.sites` must be left out for a simulated cohort"),
        ({"privacy": {"budget": 0.5}}, "`privacy.budget` must be at least 1, what this study spends"),
    ],
)
def test_release__raise_on(study, changes, message):
    lines = all_found(merged(study, changes))
    assert any(message in line for line in lines), lines


def test_release__over_the_ledgers_limit_is_refused_before_it_starts(study):
    assert check(merged(study, {"privacy": {"epsilon": 4.8}}))
    path = study["privacy"]["ledger"]
    reserve(Ledger(path), mu="0.5")
    (line,) = all_found(merged(study, {"privacy": {"epsilon": 4.8}}))
    # mu^2 = 1 is epsilon 4.8866 at delta 1e-6; the pure counter adds its own 1.
    assert line.startswith(
        f"`privacy.ledger`, {path}: The account full/person/add-remove does not allow this release: "
        "cost epsilon 4.8 (mu^2 0.96"
    )
    assert (
        "), spent epsilon 2.255 of 5.887 (mu^2 0.25 of mu^2 1 and pure epsilon 1), at delta 1e-06. " in line
    )
    assert check(study)  # a smaller one


def test_release__over_the_ledgers_limit_without_key_are_two_lines(study, monkeypatch):
    monkeypatch.delenv(VARIABLE)
    key, cost = sorted(all_found(merged(study, {"privacy": {"epsilon": 5}})))
    assert VARIABLE in key
    assert "does not allow this release" in cost


@pytest.mark.parametrize(
    ("public", "message"),
    [
        ({}, "`public.sites` or `public.reference` must be given for a release, got neither."),
        ({"sites": "s", "reference": "r", "origin": "x"}, "must be given for a release, got both."),
        ({"sites": "absent.tsv"}, "`public.origin` must say where the public sites come from"),
        ({"sites": "absent.tsv", "origin": "x"}, "`public.sites`: `absent.tsv` must be a table"),
        ({"frequencies": "f", "reference": "r", "origin": "x"}, "`public.frequencies` must come with"),
    ],
)
def test_release__sites_of_a_real_cohort_are_public(study, public, message):
    cohort = {"source": "vcf", "vcf": "absent{chrom}.vcf", "chromosomes": ["1"]}
    lines = all_found(merged(study, {"cohort": cohort, "public": public}))
    assert any(message in line for line in lines), lines


def test_release__reference_of_the_cohorts_own_people(study, tmp_path):
    for name, samples in (("cohort", ("a", "b")), ("own", ("b", "c")), ("other", ("c", "d"))):
        calls = record(1, "0|0 0|1", contig="1")
        write_text(tmp_path / f"{name}.vcf", vcf_text(calls, samples=samples, contigs=("1",)))
    cohort = {"source": "vcf", "vcf": str(tmp_path / "cohort.vcf"), "chromosomes": ["1"]}
    write_text(tmp_path / "common.txt", "b\n")
    remove = {"remove": str(tmp_path / "common.txt")}
    for name, people, n_lines in (("own", {}, 1), ("other", {}, 0), ("own", remove, 0)):
        public = {"reference": str(tmp_path / f"{name}.vcf"), "origin": "x"}
        lines = all_found(merged(study, {"cohort": cohort, "public": public, "people": people}))
        lines = [line for line in lines if line.startswith("`public.reference`")]
        assert len(lines) == n_lines, lines
        assert all("`public.reference` must share no sample id with the cohort" in line for line in lines)


def test_release__real_data_need_a_word_about_what_was_done_before(study):
    silent = {"source": "file", "file": "absent.tsv"}
    lines = all_found(merged(study, {"outcomes": silent, "release": {"preprocessing": None}}))
    assert any("`release.preprocessing` must be given" in line for line in lines)


def test_release__metrics_on_public_people_need_people_and_outcomes(study):
    public = {"evaluation": {"metrics": "public"}}
    assert check(merged(study, public)).evaluation.metrics == "public"
    sites = {"sites": "absent.tsv", "origin": "x"}
    cohort = {"source": "vcf", "vcf": "absent{chrom}.vcf", "chromosomes": ["1"]}
    lines = all_found(merged(study, public | {"cohort": cohort, "public": sites}))
    assert any("`public.reference` must be given for `evaluation.metrics: public`" in line for line in lines)
    lines = all_found(merged(study, public | {"outcomes": {"source": "file", "file": "absent.tsv"}}))
    assert any(
        "`evaluation.outcomes` must be given for `evaluation.metrics: public`" in line for line in lines
    )
    (line,) = all_found(merged(study, {"evaluation": {"outcomes": "y.tsv"}}))
    assert "`evaluation.outcomes` is for `metrics: public` with outcomes from a file, got y.tsv" in line


def test_release__too_few_public_sites(study, tmp_path):
    sites = tmp_path / "sites.tsv"
    sites.write_text("contig\tposition\tref\talt\tfrequency\n1\t5\tA\tC\t0.2\n")
    cohort = {"source": "vcf", "vcf": "absent{chrom}.vcf", "chromosomes": ["1"]}
    public = {"sites": str(sites), "origin": "x"}
    lines = all_found(merged(study, {"cohort": cohort, "public": public, "variants": {"size": 100}}))
    assert any("must list at least `variants.size`, 100, sites" in line for line in lines)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1\t752566\trs3094315", "which has rs3094315 at 1:752566 (GRCh37), got GRCh38. Correct it"),
        ("chr1\t248956423\t.", "position chr1:248956423 of {path}, got GRCh38, whose chromosome 1 ends at"),
    ],
)
def test_release__public_sites_of_another_build(study, tmp_path, row, message):
    sites = tmp_path / "sites.tsv"
    sites.write_text(f"contig\tposition\tid\tref\talt\tfrequency\n{row}\tA\tC\t0.2\n")
    changes = {
        "cohort": {"source": "vcf", "vcf": "absent{chrom}.vcf", "chromosomes": ["1"]},
        "public": {"sites": str(sites), "origin": "x"},
        "variants": {"size": 1},
    }
    for build, is_refused in (("GRCh37", False), ("GRCh38", True)):
        lines = all_found(merged(study, changes | {"release": {"genome_build": build}}))
        assert any(message.format(path=sites) in line for line in lines) == is_refused


def test_release__filters_of_genotypes_need_a_reference(study, tmp_path):
    sites = tmp_path / "sites.tsv"
    sites.write_text("contig\tposition\tref\talt\tfrequency\n1\t5\tA\tC\t0.2\n")
    cohort = {"source": "vcf", "vcf": "absent{chrom}.vcf", "chromosomes": ["1"]}
    changes = {"cohort": cohort, "public": {"sites": str(sites), "origin": "x"}}
    filters = {"variants": {"missing": 0.1, "hwe": 1e-6, "ld_r2": 0.2, "size": 1}}
    lines = "\n".join(all_found(merged(study, changes | filters)))
    for named in ("`variants.missing` needs", "`variants.hwe` needs", "`variants.ld_r2` needs"):
        assert named in lines
    assert "needs genotypes" not in "\n".join(all_found(merged(study, changes)))
    # The simulated reference has genotypes.
    assert check(merged(study, filters)).variants.ld_r2 == 0.2


def test_release__needs_the_study_key(study, monkeypatch):
    monkeypatch.delenv(VARIABLE)
    assert [line for line in all_found(study) if VARIABLE in line]


CHARGED = {"outcomes": {"test_share": 0.2}, "evaluation": {"metrics": "charged", "epsilon": 0.5}}


def test_release__charged_metrics_pass(study):
    assert check(merged(study, CHARGED)).evaluation.residual_bound is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            CHARGED | {"outcomes": {"test_share": 0}},
            "`outcomes.test_share` must be above 0 for `evaluation.metrics: charged`, got 0.",
        ),
        (
            CHARGED | {"evaluation": {"metrics": "charged"}},
            "`evaluation.epsilon` must be given for `evaluation.metrics: charged`, got null.",
        ),
        (
            CHARGED | {"evaluation": {"metrics": "charged", "epsilon": 21}},
            "`privacy.epsilon` must cost a person at most epsilon 20 in the whole release, got 21.07 at "
            "delta 1e-06. Lower it, lower `evaluation.epsilon`, or give",
        ),
        ({"evaluation": {"epsilon": 0.5}}, "`evaluation.epsilon` is for `metrics: charged`"),
        ({"evaluation": {"residual_bound": 4}}, "`evaluation.residual_bound` is for `metrics: charged`"),
        (
            CHARGED | {"privacy": {"budget": 1.1}},
            "`privacy.budget` must be at least 1.14, what this study spends, got 1.1.",
        ),
    ],
)
def test_release__metrics_raise_on(study, changes, message):
    (line,) = all_found(merged(study, changes))
    assert message in line


def test_release__charged_metrics_in_doubt_are_named_once(study):
    (line,) = all_found(merged(study, CHARGED | {"evaluation": {"metrics": "charged", "epsilon": "much"}}))
    assert "`evaluation.epsilon` must be null or a finite number" in line


@pytest.mark.parametrize(("outcome_budget", "n_budgets"), [("joint", 1), ("separate", 3)])
def test_total_epsilon__adds_up_weights_and_metrics(outcome_budget, n_budgets):
    config = resolve(
        {
            "mode": "release",
            "cohort": {"rows": "people"},
            "outcomes": {"count": 3, "test_share": 0.2},
            "privacy": {
                "epsilon": 1,
                "outcome_budget": outcome_budget,
                "gram_share": 0.25,
                "count_share": 0.2,
            },
            "evaluation": {"metrics": "charged", "epsilon": 0.5},
        }
    )
    weights, metrics = gdp_mu(1.0, 1e-6) ** 2, gdp_mu(0.5, 1e-6) ** 2
    # The count takes 0.2, X'X 0.2, X'Y 0.6 of the budget of the weights.
    total = (0.4 + 0.6 * n_budgets) * weights + n_budgets * metrics
    assert total_epsilon(config) == pytest.approx(gdp_epsilon(math.sqrt(total), 1e-6), rel=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"privacy": {"ledger": "l.jsonl"}}, "`privacy.ledger` is for `mode: release`, got l.jsonl"),
        ({"public": {"sites": "s.tsv"}}, "`public.sites` is for `mode: release`"),
        ({"dataset": {"version": "1"}}, "`dataset.version` is for `mode: release`"),
        ({"outcomes": {"test_share": 0}}, "`outcomes.test_share` must be above 0 in a benchmark"),
        ({"evaluation": {"metrics": "charged"}}, "`evaluation.metrics` must be withheld in a benchmark"),
        ({"evaluation": {"epsilon": 1}}, "`evaluation.epsilon` is for `mode: release`, got 1 in"),
    ],
)
def test_benchmark__refuses_what_it_would_ignore(settings, message):
    (line,) = all_found(settings)
    assert message in line
