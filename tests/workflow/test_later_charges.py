"""What a later charge, or a later step by its public files, refuses is refused before the first charge."""

from dataclasses import replace

import pytest

from dpgrs.io.outcomes import Outcomes
from dpgrs.io.variant_set import VariantSet
from dpgrs.privacy.ledger.ledger import Ledger
from dpgrs.privacy.noise.study_key import VARIABLE
from kinds_of_releases import COVARIATES, KINDS, MEASURED, REFERENCE, Kind
from neighbouring_cohorts import base_cohort, write_public
from nightly import at_night
from release_studies import make_key, make_ledger
from study_runs import run

pytestmark = pytest.mark.release
FIRST = KINDS["covariates first, public reference"]
GENOME = KINDS["covariates first, public map of a genome"]
CHARGED = KINDS["charged metrics"]


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv(VARIABLE, "set again by make_key")


def begin(folder, kind, **budget):
    """Write the files of a study, and return its settings."""
    make_key(folder)
    write_public(folder, n_reference=150)
    base_cohort(1).write(folder)
    scales = folder / "scales.tsv"
    scales.write_text(scales.read_text() + "length\t0\t1\tNA\n")
    make_ledger(folder / "ledger.jsonl", **kind.account | budget)
    return kind.settings(folder) | {"variants": {"size": 7}}


def require_refusal(folder, settings, words, *arguments):
    """Run, and require that a draw refuses with these words and leaves the ledger as it is."""
    ledger = folder / "ledger.jsonl"
    before = ledger.read_bytes()
    process = run(folder, settings, *arguments, check=False)
    assert process.returncode == 1
    assert "Error in rule draw" in process.stdout
    assert words in process.stdout
    assert ledger.read_bytes() == before


@pytest.mark.parametrize(
    ("kind", "budget"),
    [(FIRST, {"epsilon": "22"}), (CHARGED, {"epsilon": "40"})],
    ids=["regression", "metrics"],
)
def test_release__raise_on_a_budget_for_the_first_request_only(tmp_path, kind, budget):
    """Another name of an outcome, or another public frequency, makes all that rests on it new."""
    settings = begin(tmp_path, kind, **budget)
    run(tmp_path, settings)
    outcomes, sites = tmp_path / "cohort" / "outcomes.tsv", tmp_path / "sites.tsv"
    table, before = outcomes.read_text(), (tmp_path / "ledger.jsonl").read_bytes()
    outcomes.write_text(table.replace("height", "length"))
    later, words = settings | {"study": "later"}, "does not allow this release: cost epsilon"
    require_refusal(tmp_path, later, words)
    outcomes.write_text(table)
    if kind is CHARGED:
        frequencies = sites.read_text()
        sites.write_text(frequencies.replace("\t0.35\n", "\t0.36\n"))
        require_refusal(tmp_path, later, words)
        sites.write_text(frequencies)
    # All are replays still.
    run(tmp_path, later)
    assert (tmp_path / "ledger.jsonl").read_bytes() == before


def test_release__raise_on_people_held_out_who_changed_before_a_further_outcome(tmp_path):
    """The study is a new one, so that no earlier file shows it; no statistic of the draw changes."""
    settings = begin(tmp_path, replace(CHARGED, epsilon=1))
    settings["privacy"] |= {"outcome_budget": "separate"}
    settings["regression"] = {"heritability": 0.5}
    table = tmp_path / "cohort" / "outcomes.tsv"
    every = [line.split("\t") for line in table.read_text().splitlines()]

    def write(n_columns, rows=every):
        table.write_text("".join("\t".join(row[: n_columns + 1]) + "\n" for row in rows))

    write(1)
    run(tmp_path, settings)
    private, ledger = tmp_path / "results" / "twin" / "private", tmp_path / "ledger.jsonl"
    outcomes = Outcomes.load(private / "replicate1" / "outcomes.zarr")
    samples = VariantSet.open(private / "variants.zarr").sample_id
    held_out, before = samples[~outcomes.is_training][0], ledger.read_bytes()
    changed = [[row[0], "0.25", *row[2:]] if row[0] == held_out else row for row in every]
    write(2, changed)
    require_refusal(tmp_path, settings | {"study": "later"}, "The data changed under the label 1")
    write(2)
    run(tmp_path, settings | {"study": "later"})
    accuracies = [
        request.identity["outcomes"]["names"]
        for request in Ledger(ledger).read().requests.values()
        if request.identity["mechanism"] == "accuracy"
    ]
    assert accuracies == [[every[0][1]], [every[0][2]]]
    assert ledger.read_bytes().startswith(before)


@pytest.mark.parametrize(
    ("kind", "other", "missing"),
    [
        at_night((GENOME, {"methods": "blup-ld"}, "private_genome_sums")),
        (CHARGED, {"evaluation": {"metrics": "withheld"}}, "private_accuracy"),
    ],
    ids=["regression", "metrics"],
)
def test_release__raise_on_audits_without_a_later_mechanism(tmp_path, kind, other, missing):
    settings = begin(tmp_path, replace(kind, epsilon=2))
    settings["release"] = settings["release"] | {"audit_draws": 300}
    run(tmp_path, settings | other, "--until", "audit_mechanisms")
    require_refusal(tmp_path, settings, f"got one missing for {missing}", "--rerun-triggers", "mtime")


@pytest.mark.parametrize(
    ("kind", "sections", "words"),
    [
        (GENOME, {"privacy": {"ld_share": 0.1, "epsilon": 0.01}}, "The noise of the genome moments must be"),
        (FIRST, {"privacy": {"epsilon": 1}, "covariates": {"share": 0.99999999999}}, "must be at most 3e+14"),
    ],
    ids=["moments", "share"],
)
def test_release__raise_on_later_noise_out_of_range(tmp_path, kind, sections, words):
    settings = begin(tmp_path, kind)
    for name, keys in sections.items():
        settings[name] = settings[name] | keys
    settings["privacy"].pop("beyond_20", None)
    require_refusal(tmp_path, settings, words)


# Columns of GWAS-SSF, and of the PGS Catalog.
CATALOG = {"chromosome": "chr_name", "base_pair_location": "chr_position", "beta": "effect_weight"}
TABLES = {"covariates": "public/cohort/covariates.tsv"}
ON_PUBLIC = {"public": REFERENCE, "covariates": COVARIATES, "evaluation": MEASURED | TABLES}
FEWER = {"outcomes": {"least_share": 0.4}}
# Kinds of releases, a file of theirs, and settings that change after it was made.
STALE = {
    "effects": (
        Kind(("blup",), 2, {"public": {"effects": ["e.tsv"]}}),
        "public/effects.npz",
        {"public": {"effects": ["f.tsv"]}},
    ),
    "LD": (
        Kind(("blup-hedged",), 2, {"public": REFERENCE}),
        "public/ld.npz",
        {"privacy": {"genotype_clip": 1.2}},
    ),
    "LD after a regression": (
        replace(FIRST, epsilon=2),
        "public/ld.npz",
        {"privacy": {"genotype_clip": 1.2}},
    ),
    "outcomes": (Kind(("blup",), 2, ON_PUBLIC), "public/replicate1/outcomes.zarr", FEWER),
    "covariates": (Kind(("blup",), 2, ON_PUBLIC), "public/covariates.npz", FEWER),
}


@pytest.mark.parametrize("case", STALE)
def test_release__raise_on_what_a_later_step_would_refuse(tmp_path, case):
    """Made by other settings, of which Snakemake is told that it is up to date."""
    kind, target, changes = STALE[case]
    settings = begin(tmp_path, kind)
    effects = (tmp_path / "height.tsv").read_text()
    for old, new in CATALOG.items():
        effects = effects.replace(old, new)
    for name in ("e.tsv", "f.tsv"):
        (tmp_path / name).write_text(effects)
    path = f"results/twin/{target}"
    run(tmp_path, settings, path)
    changed = settings | {name: settings.get(name, {}) | keys for name, keys in changes.items()}
    run(tmp_path, changed, path, "--touch")
    words = f"`{path}` must be made by the settings of the release, got others of"
    require_refusal(tmp_path, changed, words)


def test_release__until_draw_draws_after_a_regression(tmp_path):
    settings = begin(tmp_path, FIRST)
    assert "BUG" not in run(tmp_path, settings, "--until", "draw").stdout
    drawn = [path.stem for path in (tmp_path / "results").rglob("drawn/*.npz")]
    assert sorted(drawn) == ["covariate-regression", "steered-products"]
