"""From a folder as dbGaP gives it, decrypted, to exact statistics by the command line; all is made up."""

import numpy as np
import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.public_random import generator
from dpgrs.study.settings import resolve
from dpgrs.study.verbs import settings_read
from random_cohorts import random_alleles
from vcf_files import record, vcf_text, write_gzip

COMMENTS = "# Study accession: phs000000.v1.p1\n# Consent group: All\n#\n\n##\tphv00000001\tphv00000002\n"
N_PEOPLE, N_VARIANTS = 44, 6
SAMPLES = [f"S{number:03}" for number in range(N_PEOPLE)]
# Groups 0 (no consent) to 2, a missing code, and the last people are not in the table.
CODES = (["1", "2", "0", ""] * N_PEOPLE)[: N_PEOPLE - 4]
ALLOWED = [sample for sample, code in zip(SAMPLES, CODES, strict=False) if code == "1"]


def invoke(*arguments):
    result = CliRunner().invoke(main, ["-q", *map(str, arguments)])
    assert result.exit_code == 0, result.output


def statistics_of(folder, alleles, outcomes):
    """Make the folder and take it through the steps of a release, up to the statistics before the noise."""
    given = folder / "phs000000.v1.p1.c1.GRU"
    given.mkdir(parents=True)
    records = (
        record(place, " ".join("|".join(map(str, call)) for call in row.reshape(-1, 2).tolist()))
        for place, row in enumerate(alleles, start=1)
    )
    vcf = write_gzip(given / "chr1.vcf.gz", vcf_text(*records, samples=SAMPLES))
    consent, table, sites = (given / name for name in ("consent.txt", "outcomes.txt", "sites.tsv"))
    rows = zip(SAMPLES, CODES, strict=False)
    consent.write_text(
        f"{COMMENTS}SAMPLE_ID\tCONSENT\n" + "".join(f"{name}\t{code}\n" for name, code in rows)
    )
    rows = zip(SAMPLES, outcomes, strict=True)
    table.write_text(
        f"{COMMENTS}SAMPLE_ID\theight\n" + "".join(f"{name}\t{value:.3f}\n" for name, value in rows)
    )
    lines = (f"1\t{place}\tA\tC\t0.5\n" for place in range(1, N_VARIANTS + 1))
    sites.write_text("contig\tposition\tref\talt\tfrequency\n" + "".join(lines))

    private = folder / "private"
    settings = {
        "mode": "release",
        "cohort": {"chromosomes": 1, "rows": "people"},
        "people": {"consent": {"file": str(consent), "column": "CONSENT", "allow": 1}},
        "variants": {"size": N_VARIANTS},
        # Most of the table's people are of another consent group.
        "outcomes": {"source": "file", "file": str(table), "least_share": 0.2},
        "privacy": {"bounds": "worst-case"},
        "public": {"sites": str(sites)},
    }

    def run(verb, *arguments, output):
        invoke(verb, *arguments, "--settings", settings_read(resolve(settings), verb), "--output", output)

    run("choose-people", vcf, output=private / "people.txt")
    people = ("--people", private / "people.txt")
    run("ingest-chromosome", vcf, "--chromosome", 1, *people, output=private / "1.zarr")
    run("choose-sites", "--qc", private / "qc.tsv", output=private / "sites.tsv")
    chosen = ("--sites", private / "sites.tsv")
    run("make-variants", private / "1.zarr", *chosen, output=private / "variants.zarr")
    paths = (private / "variants.zarr", "--replicate", 1, "--table", table)
    run("make-outcomes", *paths, output=private / "outcomes.zarr")
    paths = (private / "variants.zarr", private / "outcomes.zarr")
    run("compute-statistics", *paths, output=private / "statistics.npz")
    return private


@pytest.fixture
def data():
    return random_alleles(N_VARIANTS, 2 * N_PEOPLE).astype(int), generator(5, "outcomes").normal(
        size=N_PEOPLE
    )


def test_dbgap_folder__who_did_not_consent_moves_nothing(tmp_path, data):
    alleles, outcomes = data
    first = statistics_of(tmp_path / "a", alleles, outcomes)
    assert HaplotypeStore.open(first / "1.zarr").sample_id.tolist() == ALLOWED
    is_out = ~np.isin(SAMPLES, ALLOWED)
    other_alleles = np.where(np.repeat(is_out, 2), 1 - alleles, alleles)
    other = statistics_of(tmp_path / "b", other_alleles, np.where(is_out, -outcomes, outcomes))
    assert (first / "statistics.npz").read_bytes() == (other / "statistics.npz").read_bytes()
    # Who is in does.
    alleles[:, SAMPLES.index(ALLOWED[0]) * 2] ^= 1
    moved = statistics_of(tmp_path / "c", alleles, outcomes)
    assert (first / "statistics.npz").read_bytes() != (moved / "statistics.npz").read_bytes()
