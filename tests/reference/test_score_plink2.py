"""`dpgrs score` against plink2, on a target with swaps, other strands, missing calls and several ALTs."""

import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from dpgrs.scoring.apply import apply_scores
from score_targets import make_score, make_target, sums_by_hand, write_score, write_target

pytestmark = pytest.mark.skipif(shutil.which("plink2") is None, reason="plink2 is not installed")

N, N_RECORDS = 120, 210
# plink2 prints six digits: of sums of which the first digit is 5 or more these tell 1e-6.
DIGITS, LARGE = 5.1e-6, 1e-6


def plink2(*arguments):
    command = ["plink2", *map(str, arguments), "--threads", "1"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def write_plink_score(path, records, rows):
    """Write ids and alleles of the target's own strand, as plink2 matches them."""
    lines = [
        f"{records[place][0]}:{records[place][1]}\t{records[place][2][allele]}\t{weight!r}\n"
        for place, allele, _, weight in rows
    ]
    path.write_text("ID\tallele\tweight\n" + "".join(lines))


@pytest.mark.parametrize("form", ["a.vcf.gz", "p.pgen"])
@pytest.mark.parametrize("is_large", [False, True])
def test_score__agrees_with_plink2_and_by_hand(tmp_path, form, is_large):
    rng = np.random.default_rng(11)
    records = make_target(rng, n_people=N, n_records=N_RECORDS, missing=0.05)
    write_target(tmp_path / "a.vcf.gz", records)
    plink2("--vcf", tmp_path / "a.vcf.gz", "--make-pgen", "--out", tmp_path / "p")
    rows = make_score(rng, records)
    if is_large:
        rows = [(*row[:3], abs(row[3]) + 1) for row in rows]
        scale = 750_000 / sums_by_hand(records, rows).mean()
        rows = [(*row[:3], float(scale * row[3])) for row in rows]
    write_score(tmp_path / "y.txt", records, rows, flips=True)
    write_plink_score(tmp_path / "y.score", records, rows)
    columns = ["header-read", "cols=+scoresums"]
    plink2(
        "--pfile", tmp_path / "p", "--score", tmp_path / "y.score", 1, 2, 3, *columns, "--out", tmp_path / "s"
    )
    theirs = pd.read_csv(tmp_path / "s.sscore", sep="\t", index_col="#IID")
    ours = apply_scores([tmp_path / form], [tmp_path / "y.txt"])
    assert theirs.index.tolist() == list(ours.samples)
    by_hand = sums_by_hand(records, rows)
    np.testing.assert_allclose(ours.sums[0], by_hand, rtol=1e-12, atol=1e-12 * np.abs(by_hand).mean())
    assert not is_large or by_hand.min() > 500_000
    for name, values in (("weight_SUM", ours.sums[0]), ("weight_AVG", ours.averages[0])):
        tolerance = LARGE if is_large and name.endswith("SUM") else DIGITS
        np.testing.assert_allclose(theirs[name], values, rtol=tolerance, atol=1e-12)


def test_score__takes_male_x_as_plink2_does(tmp_path):
    rng = np.random.default_rng(2)
    records = make_target(rng, n_people=N, n_records=8, contigs=("X",))
    is_male = np.arange(N) % 2 == 0
    for *_, calls in records:
        calls[is_male, 1] = calls[is_male, 0]
    write_target(tmp_path / "a.vcf", records, contigs=["X"])
    text = [line.split("\t") for line in (tmp_path / "a.vcf").read_text().splitlines()]
    haploid = [
        "\t".join(cell[0] if place >= 9 and is_male[place - 9] else cell for place, cell in enumerate(line))
        if len(line) > 9 and not line[0].startswith("#")
        else "\t".join(line)
        for line in text
    ]
    (tmp_path / "a.vcf").write_text("\n".join(haploid) + "\n")
    sexes = [f"p{number}\t{1 if male else 2}\n" for number, male in enumerate(is_male)]
    (tmp_path / "sex.txt").write_text("#IID\tSEX\n" + "".join(sexes))
    made = ["--make-pgen", "--out", tmp_path / "p", "--update-sex", tmp_path / "sex.txt"]
    plink2("--vcf", tmp_path / "a.vcf", "--split-par", "hg38", *made)
    rows = make_score(rng, records)
    write_score(tmp_path / "y.txt", records, rows)
    write_plink_score(tmp_path / "y.score", records, rows)
    score = ["--score", tmp_path / "y.score", 1, 2, 3, "header-read", "cols=+scoresums"]
    plink2("--pfile", tmp_path / "p", *score, "--out", tmp_path / "s")
    theirs = pd.read_csv(tmp_path / "s.sscore", sep="\t")["weight_SUM"]
    ours = apply_scores([tmp_path / "a.vcf"], [tmp_path / "y.txt"])
    np.testing.assert_allclose(theirs, ours.sums[0], rtol=DIGITS, atol=1e-12)
    assert ours.counts["haploid_calls"] == 8 * is_male.sum()


@pytest.mark.parametrize("model", ["dominant", "recessive"])
@pytest.mark.parametrize("field", ["GT", "DS"])
def test_score__takes_dominant_and_recessive_as_plink2_does(tmp_path, model, field):
    """Also between whole numbers of copies; no call is missing."""
    rng = np.random.default_rng(3)
    records = [one for one in make_target(rng, n_people=N, n_records=70) if len(one[2]) == 2]
    write_target(tmp_path / "a.vcf", records)
    if field == "DS":
        dosages = [np.round(rng.uniform(0, 2, N) * 2**12) / 2**12 for _ in records]
        lines = (tmp_path / "a.vcf").read_text().splitlines()
        head = [line for line in lines if line.startswith("#")]
        head.insert(-1, '##FORMAT=<ID=DS,Number=A,Type=Float,Description="d">')
        body = [line.split("\t") for line in lines if not line.startswith("#")]
        body = [
            "\t".join([*cells[:8], "DS", *(f"{value:.12g}" for value in own)])
            for cells, own in zip(body, dosages, strict=True)
        ]
        (tmp_path / "a.vcf").write_text("\n".join([*head, *body]) + "\n")
    dosage = ["dosage=DS"] if field == "DS" else []
    plink2("--vcf", tmp_path / "a.vcf", *dosage, "--make-pgen", "--out", tmp_path / "p")
    rows = make_score(rng, records)
    write_score(tmp_path / "y.txt", records, rows, flips=True)
    lines = (tmp_path / "y.txt").read_text().splitlines()
    ends = ["effect_type", *[model] * len(rows)]
    (tmp_path / "y.txt").write_text(
        "".join(f"{line}\t{end}\n" for line, end in zip(lines, ends, strict=True))
    )
    write_plink_score(tmp_path / "y.score", records, rows)
    score = ["--score", tmp_path / "y.score", 1, 2, 3, "header-read", model, "cols=+scoresums"]
    plink2("--pfile", tmp_path / "p", *score, "--out", tmp_path / "s")
    theirs = pd.read_csv(tmp_path / "s.sscore", sep="\t")["weight_SUM"]
    ours = apply_scores([tmp_path / "p.pgen"], [tmp_path / "y.txt"], field=field)
    np.testing.assert_allclose(theirs, ours.sums[0], rtol=1e-4 if field == "DS" else DIGITS, atol=1e-3)
