"""A release in the hands of plink2 and the tools of the PGS Catalog, against ours and by hand."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from clients import client
from dpgrs.release.pgs_catalog import site_digest
from dpgrs.scoring.ancestry import adjust_scores
from dpgrs.scoring.apply import apply_scores
from forged_releases import edit
from release_data import make_bundle
from score_targets import write_target

pytestmark = [
    pytest.mark.release,
    pytest.mark.skipif(shutil.which("plink2") is None, reason="no plink2; Debian: apt-get install plink2"),
]

N, N_VARIANTS, STEMS = 60, 300, ["height", "LDL_HDL_ratio", "groe"]
# None reads alike on both strands: the Catalog's tools leave such variants out.
PAIRS = (("A", "C"), ("A", "G"), ("T", "C"), ("G", "T"))
# plink2 prints six digits; these sums have four decimals, and are below 100, so that it prints all.
DIGITS = 1e-6


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A folder with a bundle and a target, of which every fifth variant has the alleles the other way."""
    folder, rng = tmp_path_factory.mktemp("clients"), np.random.default_rng(5)
    sites, records = [], []
    for place in range(N_VARIANTS):
        ref, alt = PAIRS[place % len(PAIRS)]
        contig, position = "1" if place < 200 else "2", 1000 + 37 * place
        calls = (rng.random((N, 2)) < rng.uniform(0.05, 0.95)).astype(int)
        calls[0] = 0, 1
        is_swapped = place % 5 == 0
        alleles = (alt, ref) if is_swapped else (ref, alt)
        sites.append((contig, position, ref, alt, f"rs{place + 1}"))
        records.append((contig, position, alleles, 1 - calls if is_swapped else calls))
    sites = pd.DataFrame(sites, columns=["contig", "position", "ref", "alt", "id"])
    weights = rng.normal(size=(len(STEMS), N_VARIANTS)).round(4)
    stated = {"n_variants": N_VARIANTS, "site_digest": site_digest(sites)}
    frequency = rng.uniform(size=N_VARIANTS)  # a column of the files that nobody needs here
    make_bundle(folder, sites=sites, weights=weights, frequency=frequency, content=stated)
    write_target(folder / "target.vcf.gz", records, prefix="chr")
    copies = [
        (calls == alleles.index(alt)).sum(axis=1)
        for (_, _, alleles, calls), alt in zip(records, sites["alt"], strict=True)
    ]
    return folder, weights @ np.array(copies)


def run(folder, *command):
    process = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout + process.stderr


def test_plink2__takes_the_table_of_a_release_as_it_is(released):
    folder, by_hand = released
    names = ["--set-all-var-ids", "@:#:$1:$2", "--new-id-max-allele-len", "1000"]
    run(folder, "plink2", "--vcf", "target.vcf.gz", *names, "--make-pgen", "--out", "target")
    terms = ["1", "2", "header-read", "no-mean-imputation", "cols=+scoresums", "--score-col-nums", "3-5"]
    run(
        *(folder, "plink2", "--pfile", "target", "--score", "release/plink2/scores_1.tsv.gz", *terms),
        *("--out", "all"),
    )
    theirs = pd.read_csv(folder / "all.sscore", sep="\t")[[f"{stem}_SUM" for stem in STEMS]]
    ours = apply_scores([folder / "target.vcf.gz"], [folder / "release"])
    np.testing.assert_allclose(ours.sums, by_hand, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(theirs.to_numpy().T, by_hand, rtol=DIGITS, atol=DIGITS)


def test_plink2__counts_a_missing_call_as_none_where_we_take_its_public_frequency(tmp_path):
    sites = pd.DataFrame({"contig": "1", "position": [10, 20], "ref": "A", "alt": "C", "id": "."})
    weights, frequency = np.array([[1.0, 2.5], [1.0, 0.5], [-1.0, 3.0]]), np.array([0.25, 0.125])
    stated = {"n_variants": 2, "site_digest": site_digest(sites)}
    make_bundle(tmp_path, sites=sites, weights=weights, frequency=frequency, content=stated)
    calls = np.array([[[0, 1], [-1, -1]], [[1, 1], [0, 1]]])
    records = [("1", 10 * (k + 1), ("A", "C"), calls[:, k]) for k in range(2)]
    write_target(tmp_path / "target.vcf", records)
    names = ["--set-all-var-ids", "@:#:$1:$2", "--make-pgen", "--out", "target"]
    run(tmp_path, "plink2", "--vcf", "target.vcf", *names)
    terms = ["1", "2", "header-read", "no-mean-imputation", "cols=+scoresums", "--score-col-nums", "3-5"]
    table = "release/plink2/scores_1.tsv.gz"
    run(tmp_path, "plink2", "--pfile", "target", "--score", table, *terms, "--out", "all")
    theirs = pd.read_csv(tmp_path / "all.sscore", sep="\t")[[f"{stem}_SUM" for stem in STEMS]].to_numpy().T
    ours = apply_scores([tmp_path / "target.vcf"], [tmp_path / "release"]).sums
    missing = np.outer(weights[:, 1], [2 * frequency[1], 0])
    np.testing.assert_allclose(ours - theirs, missing, rtol=0, atol=DIGITS)


def test_pgscatalog_utils__formats_matches_and_adds_up(released):
    folder, by_hand = released
    programs, files = client("pgscatalog-utils"), sorted((folder / "release" / "scores").iterdir())
    for name in ("formatted", "matched", "added"):
        (folder / name).mkdir()
    names = ["--set-all-var-ids", "@:#:$r:$a", "--new-id-max-allele-len", "1000"]
    run(folder, "plink2", "--vcf", "target.vcf.gz", *names, "--make-bed", "--out", "bed")
    build = ["-t", "GRCh38", "-o", "formatted", "-l", "log.json"]
    run(folder, programs / "pgscatalog-format", "-s", *files, *build)
    formatted = sorted((folder / "formatted").glob("*.txt.gz"))
    terms = ["-d", "target", "-t", "bed.bim", "--outdir", "matched", "--min_overlap", "0.75", "--combined"]
    run(folder, programs / "pgscatalog-match", "-s", *formatted, *terms)
    summary = pd.read_csv(folder / "matched" / "target_summary.csv")
    assert summary["match_status"].tolist() == ["matched"] * 3
    assert summary["count"].tolist() == [N_VARIANTS] * 3
    (score,) = (folder / "matched").glob("*.scorefile.gz")
    out = score.name.removesuffix(".scorefile.gz")
    terms = ["1", "2", "header-read", "no-mean-imputation", "cols=+scoresums,+denom,-fid"]
    columns = ["--score-col-nums", "3-5", "--out", out]
    run(folder, "plink2", "--bfile", "bed", "--score", score, *terms, *columns)
    run(folder, programs / "pgscatalog-aggregate", "-s", f"{out}.sscore", "-o", "added", "--no-split")
    theirs = pd.read_csv(folder / "added" / "aggregated_scores.txt.gz", sep="\t")
    theirs = theirs.pivot_table(index="PGS", columns="IID", values="SUM")
    theirs = theirs.loc[STEMS, [f"p{number}" for number in range(N)]]
    np.testing.assert_allclose(theirs, by_hand, rtol=DIGITS, atol=DIGITS)


CALCULATOR = """
import pandas as pd
from pgscatalog.calc.lib._ancestry.tools import pgs_adjust

reference, target = (pd.read_csv(name, index_col=0) for name in ("reference.csv", "people.csv"))
scores, terms = ["a", "b"], ["mean", "mean+var"]
_, found, _ = pgs_adjust(reference, target, scores, "pop", "pop", terms, n_pcs=3)
found.to_csv("adjusted.csv")
"""


def test_calculator__adjusts_for_ancestry_as_we_do(tmp_path):
    """It goes on to a small gradient of the same likelihood."""
    programs, rng = client("pgscatalog-utils"), np.random.default_rng(3)
    (reference, there), (people, here) = (
        (rng.normal(size=(2, n)), rng.normal(size=(3, n))) for n in (400, 70)
    )
    for scores, components in ((reference, there), (people, here)):
        scores *= np.exp(0.3 * components[0])
        scores += components[:2] * [[2.0], [-1.0]]
    for name, scores, components in (("reference", reference, there), ("people", people, here)):
        columns = dict(zip(["a", "b", "PC1", "PC2", "PC3"], [*scores, *components], strict=True))
        pd.DataFrame(columns | {"pop": "x"}).to_csv(tmp_path / f"{name}.csv")
    run(tmp_path, programs / "python", "-c", CALCULATOR)
    theirs = pd.read_csv(tmp_path / "adjusted.csv", index_col=0)
    ours = adjust_scores(people, here, reference_scores=reference, reference_components=there)
    for place, name in enumerate("ab"):
        np.testing.assert_allclose(ours.mean[place], theirs[f"Z_norm1|{name}"], rtol=0, atol=1e-9)
        np.testing.assert_allclose(ours.variance[place], theirs[f"Z_norm2|{name}"], rtol=0, atol=1e-5)
        assert np.abs(ours.variance[place] - ours.mean[place]).max() > 0.1


def test_validate_scorefiles__finds_scores_valid_and_a_wrong_chromosome_not(released):
    folder, _ = released
    program = client("validate_scorefiles") / "validate_scorefiles"
    (folder / "log").mkdir()
    shutil.copytree(folder / "release" / "scores", folder / "files")
    terms = ["-t", "formatted", "--dir", "files", "--log_dir", "log"]
    # Its exit status is 0 either way.
    assert "Valid: 3/3" in run(folder, program, *terms)
    shutil.copyfile(folder / "files" / "height.txt.gz", folder / "files" / "bad.txt.gz")
    edit(folder / "files" / "bad.txt.gz", r"\t1\t1000\t", "\t99\t1000\t")
    assert "Valid: 3/4" in run(folder, program, *terms)
