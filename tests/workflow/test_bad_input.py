"""Bad input through Snakemake: one clear line, the right exit code, nothing half-written."""

import gzip

import pytest

from dpgrs.methods.registry import methods_that
from study_runs import REPOSITORY, SMALL, run
from vcf_files import record, vcf_text, write_gzip

SCREENED = methods_that("is_screened")

SAMPLES = tuple(f"person{number}" for number in range(12))
# Every person heterozygous or not, differently at each site: all variants are common.
CALLS = [" ".join("0|1" if (person + site) % 3 else "1|0" for person in range(12)) for site in range(30)]
TEXT = vcf_text(*(record(100 + site, calls) for site, calls in enumerate(CALLS)), samples=SAMPLES)
SETTINGS = {
    "study": "bad",
    "cohort": {"source": "vcf", "vcf": "cohort.vcf.gz", "chromosomes": ["1"]},
    "variants": {"size": 5},
    "outcomes": {"count": 2},
    "replicates": 1,
}


def changed(**sections):
    return SETTINGS | {name: SETTINGS.get(name, {}) | section for name, section in sections.items()}


def own_lines(output):
    """Return the lines of a console that are not Snakemake's own."""
    return [line for line in output.splitlines() if not line.startswith(("Using ", "Config file", "host:"))]


# One of each kind; tests/unit/test_preflight.py and test_config.py have all messages.
PREFLIGHT = {
    "missing file": (None, SETTINGS, "`cohort.vcf`: `cohort.vcf.gz` is not there"),
    "duplicate samples": (vcf_text(samples=("A", "B", "A")), SETTINGS, "samples 1 and 3"),
    "misspelt": (TEXT, changed(variants={"sizes": 5}), "Did you mean `variants.size`"),
    "screening": (
        TEXT,
        SETTINGS | {"methods": ["ridge", "k-blup"]},
        "`screening.size` must be below 5, the smallest `variants.size`, got 10.",
    ),
    "no phenotypes": (TEXT, changed(outcomes={"source": "file", "file": "y.tsv", "count": None}), "y.tsv"),
}


@pytest.mark.workflow
@pytest.mark.parametrize(("vcf", "settings", "message"), PREFLIGHT.values(), ids=PREFLIGHT.keys())
def test_preflight__one_line_and_exit_2(tmp_path, vcf, settings, message):
    if vcf is not None:
        write_gzip(tmp_path / "cohort.vcf.gz", vcf)
    (tmp_path / "y.tsv").write_text("sample\nperson1\n")
    process = run(tmp_path, settings, check=False)
    (line,) = own_lines(process.stdout)
    assert process.returncode == 2
    assert message in line
    assert not (tmp_path / "results").exists()


def test_preflight__all_problems_at_once(tmp_path):
    settings = changed(privacy={"epsilon": -1}, variants={"sizes": 5}, cohort={"vcf": "nowhere.vcf"})
    process = run(tmp_path, settings, check=False)
    assert process.returncode == 2
    assert len(own_lines(process.stdout)) == 3


JOBS = {
    "truncated": (gzip.compress(TEXT.encode())[:-40], SETTINGS, "truncated"),
    "unphased": (gzip.compress(TEXT.replace("0|1", "0/1", 1).encode()), SETTINGS, "unphased"),
    "too few variants": (
        gzip.compress(TEXT.encode()),
        changed(variants={"size": 31}),
        "pass all filters, 30 of 30, got 31.",
    ),
}


@pytest.mark.workflow
@pytest.mark.parametrize(("content", "settings", "message"), JOBS.values(), ids=JOBS.keys())
def test_job__one_line_on_the_console_and_exit_1(tmp_path, content, settings, message):
    (tmp_path / "cohort.vcf.gz").write_bytes(content)
    process = run(tmp_path, settings, check=False)
    assert process.returncode == 1
    (line,) = [line for line in process.stdout.splitlines() if line.startswith("dpgrs: ")]
    assert message in line
    assert "Traceback" not in process.stdout
    assert not any(name in process.stdout for name in SAMPLES)
    made = [path for path in (tmp_path / "results").rglob("*") if path.is_file() and "logs" not in path.parts]
    made = [path for path in made if path.name != "genotypes.npz"]  # of the stores, beside the variant set
    assert not any("partial" in path.name or path.suffix == ".npz" for path in made)


@pytest.mark.workflow
def test_outcomes_file__missing_values_and_few_people(tmp_path):
    write_gzip(tmp_path / "cohort.vcf.gz", TEXT)
    rows = [f"{name}\t{(-1) ** i * 0.8}\t{'NA' if i == 3 else (i - 6) / 4}" for i, name in enumerate(SAMPLES)]
    (tmp_path / "y.tsv").write_text("\n".join(["sample\theight\tweight", *rows]) + "\n")
    settings = changed(outcomes={"source": "file", "file": "y.tsv", "count": None})
    run(tmp_path, settings)
    metrics = (tmp_path / "results" / "bad" / "metrics.tsv").read_text()
    assert "\theight\t" in metrics
    assert "\tweight\t" in metrics


@pytest.mark.workflow
def test_screening__of_few_rows_and_tied_values_is_a_normal_result(tmp_path):
    write_gzip(tmp_path / "cohort.vcf.gz", TEXT)
    # Two values alone, and as few people as a table may have.
    rows = [f"{name}\t{(-1) ** i}\t{(-1) ** i if i < 10 else 'NA'}" for i, name in enumerate(SAMPLES)]
    (tmp_path / "y.tsv").write_text("\n".join(["sample\ttied\tfew", *rows]) + "\n")
    settings = changed(outcomes={"source": "file", "file": "y.tsv", "count": None}, screening={"size": 3})
    run(
        tmp_path, settings | {"methods": ["ridge", *SCREENED], "privacy": {"accounting": "gdp", "epsilon": 1}}
    )
    lines = (tmp_path / "results" / "bad" / "metrics.tsv").read_text().splitlines()
    statuses = {line.split("\t")[2]: line.split("\t")[-1] for line in lines[1:]}
    too_few = dict.fromkeys(["k-tukey", "l-tukey"], "too few models")
    assert statuses == dict.fromkeys(["ridge", *SCREENED], "ok") | too_few


def test_clone__in_a_folder_with_braces_is_one_line(tmp_path):
    (tmp_path / "cl{x}one").symlink_to(REPOSITORY)
    own = tmp_path / "cl{x}one" / "workflow" / "Snakefile"
    process = run(tmp_path, SMALL, "--snakefile", own, check=False)
    assert process.returncode == 2
    assert "The path of this clone must have no braces" in own_lines(process.stdout)[-1]


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        (SMALL, ("--resources", "runtime=10"), "than the 10 minutes that they can have: `make-variants` "),
        (
            {"variants": {"size": 100_000}, "methods": "blup", "scale": {"memory_per_job": 10**7}},
            (),
            "than the 30 days that they can have: `draw` 1,274 days",
        ),
    ],
)
def test_run_time__beyond_what_is_allowed_is_refused_before_any_job(tmp_path, settings, options, message):
    process = run(tmp_path, settings, "--dry-run", *options, check=False)
    assert process.returncode == 2
    (line,) = own_lines(process.stdout)
    assert message in line


def test_settings__that_are_a_program_are_refused(tmp_path):
    process = run(tmp_path, SMALL | {"__use_yte__": True, "replicates": "?1 + 1"}, "--dry-run", check=False)
    assert process.returncode == 2
    assert "` must be plain settings, got `__use_yte__`" in own_lines(process.stdout)[-1]
