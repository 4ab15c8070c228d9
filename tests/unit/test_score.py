"""`dpgrs score`: sums by hand, whatever the form of the target, and what is refused."""

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pysam
import pysam.bcftools
import pytest

from dpgrs.io import scoring_files
from dpgrs.io import target as targets
from dpgrs.io.known_positions import SNPS
from dpgrs.release.pgs_catalog import site_digest
from dpgrs.scoring import score_files, sums
from dpgrs.scoring.apply import apply_scores
from forged_releases import seal
from plink_sets import write_bed
from release_data import make_bundle, make_scores
from score_targets import (
    HEADER,
    make_score,
    make_target,
    match_of,
    refusal_of,
    run,
    scored,
    sums_by_hand,
    write_score,
    write_target,
)
from vcf_files import record, vcf_text

N = 70


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize("prefix", ["", "chr"])
def test_score__is_the_sum_by_hand(tmp_path, rng, prefix):
    records = make_target(rng, n_people=N, n_records=70, missing=0.1)
    target = write_target(tmp_path / "a.vcf.gz", records, prefix=prefix, contigs=["1", "2"])
    rows = [make_score(rng, records) for _ in range(3)]
    for number, own in enumerate(rows):
        write_score(tmp_path / f"y{number}.txt", records, own, flips=number > 0)
    found, said = scored(tmp_path / "out", target, *(tmp_path / f"y{number}.txt" for number in range(3)))
    assert found.index.tolist() == [f"p{number}" for number in range(N)]
    for number, own in enumerate(rows):
        by_hand = sums_by_hand(records, own)
        np.testing.assert_allclose(found[f"y{number}.sum"], by_hand, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found[f"y{number}.average"], by_hand / 140, rtol=1e-12, atol=1e-12)
    assert "y0: 70 of 70 variants used" in said
    page = (tmp_path / "out" / "report" / "index.html").read_text()
    assert "all people (70)" in page
    assert "raw sum" in page
    assert "10 of these are A/T or C/G" in said
    assert "filled by the target's own frequency" in said
    assert {"matched", "swapped", "flipped", "flipped and swapped"} == set(match_of(tmp_path / "out").status)
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert [one["used"] for one in summary["scores"]] == [70] * 3
    n_missing = sum((calls < 0).sum() for *_, calls in records)
    assert summary["counts"]["alleles_filled"] == n_missing


def test_score__hangs_on_no_form_no_block_and_no_thread(tmp_path, rng, monkeypatch):
    records = make_target(rng, n_people=N, n_records=42, missing=0.1)
    score = write_score(tmp_path / "y.txt", records, make_score(rng, records))
    whole, _ = scored(tmp_path / "whole", write_target(tmp_path / "a.vcf", records), score)
    parts = [
        write_target(tmp_path / f"{contig}.vcf.gz", [one for one in records if one[0] == contig])
        for contig in ("2", "1")
    ]
    monkeypatch.setattr(sums, "PEOPLE_AT_A_TIME", 16)
    monkeypatch.setattr(sums, "ROWS_AT_A_TIME", 2)
    monkeypatch.setattr(targets, "MOST_ROWS", 3)
    monkeypatch.setattr(targets, "FEWEST_ROWS", 3)
    cut, _ = scored(tmp_path / "cut", parts, score, options=["--threads", 1])
    np.testing.assert_allclose(cut, whole, rtol=1e-12, atol=1e-12)
    pysam.bcftools.view("-Ob", "-o", str(tmp_path / "a.bcf"), str(tmp_path / "a.vcf"), catch_stdout=False)
    of_bcf, _ = scored(tmp_path / "bcf", tmp_path / "a.bcf", score)
    pd.testing.assert_frame_equal(of_bcf, whole, rtol=1e-12, atol=1e-12)
    other, _ = scored(tmp_path / "other", parts, score, options=["--threads", 3])
    pd.testing.assert_frame_equal(cut, other, check_exact=True)
    names = ["scores.tsv.gz", "match.tsv.gz", "summary.json"]
    assert [(tmp_path / "cut" / name).read_bytes() for name in names] == [
        (tmp_path / "other" / name).read_bytes() for name in names
    ]


def test_score__of_plink_1_counts_as_its_letters(tmp_path):
    path = write_bed(tmp_path / "a", counts=((0, 1, -127), (2, 1, 0)), bim=("1 . 0 4 C A", "23 x 0 9 G T"))
    (tmp_path / "y.txt").write_text(f"{HEADER}1\t4\tC\tA\t1\nX\t9\tT\tG\t10\n")
    found, _ = scored(tmp_path / "out", path, tmp_path / "y.txt")
    assert found["y.sum"].tolist() == [0.0, 11.0, 20.5]


def test_score__fills_by_public_frequencies(tmp_path, rng):
    records = make_target(rng, n_people=N, n_records=5, missing=0.5)[:4]
    rows = [(place, 1, 0, 1.5) if place % 2 else (place, 0, 1, 1.5) for place in range(4)]
    score = write_score(tmp_path / "y.txt", records, rows)
    table = [
        f"chr{contig}\t{position}\t{ref}\t{alt}\t{0.1 * (place + 1)}\n"
        for place, (contig, position, (ref, alt), _) in enumerate(records)
    ]
    (tmp_path / "sites.tsv").write_text("contig\tposition\tref\talt\tfrequency\n" + "".join(table))
    frequency = np.array([[1 - 0.1 * (place + 1), 0.1 * (place + 1)] for place in range(4)])
    target = write_target(tmp_path / "a.vcf", records)
    options = ["--frequencies", tmp_path / "sites.tsv"]
    found, said = scored(tmp_path / "out", target, score, options=options)
    np.testing.assert_allclose(found["y.sum"], sums_by_hand(records, rows, frequency=frequency), rtol=1e-12)
    assert "own frequency" not in said
    lines = score.read_text().splitlines()
    told = [f"{frequency[place, allele]}" for place, allele, *_ in rows]
    told = [f"{line}\t{one}" for line, one in zip(lines, ["allelefrequency_effect", *told], strict=True)]
    score.write_text("\n".join(told) + "\n")
    other, _ = scored(tmp_path / "other", target, score)
    np.testing.assert_allclose(other, found, rtol=1e-12)


def test_score__by_a_bundle_alone_hangs_on_nobody_else(tmp_path):
    sites = pd.DataFrame(
        {"contig": "1", "position": [10, 20, 30], "ref": "A", "alt": "C", "id": "."}, index=range(3)
    )
    frequency, weights = np.array([0.125, 0.25, 0.5]), np.array([[1.0, 2, 4], [1, 1, 1], [0, 1, 0]])
    stated = {"n_variants": 3, "site_digest": site_digest(sites)}
    bundle = make_bundle(tmp_path, sites=sites, weights=weights, frequency=frequency, content=stated)
    calls = np.array([[[-1, -1], [0, 1], [1, -1]], [[1, 1], [1, 1], [1, 1]], [[0, 1], [0, 0], [0, 0]]])
    sums = []
    for name, chosen in (("alone", calls[:1]), ("beside", calls)):
        records = [("1", 10 * (k + 1), ("A", "C"), chosen[:, k]) for k in range(3)]
        found, said = scored(tmp_path / name, write_target(tmp_path / f"{name}.vcf", records), bundle)
        assert "own frequency" not in said
        sums.append(found.loc["p0", [column for column in found if column.endswith(".sum")]].tolist())
    assert sums[0] == sums[1] == (weights @ [2 * 0.125, 1, 1 + 0.5]).tolist()


def test_score__of_a_release_is_in_its_unit(tmp_path):
    scores = make_scores()
    bundle = make_bundle(tmp_path)
    case = scores.outcomes[1]
    (bundle / "outcome_scales.tsv").write_text(
        f"outcome\tcentre\tscale\tis_binary\torigin\nheight\t170\t9\tFalse\tx\n{case}\t0.2\t0.4\tTrue\tx\n"
    )
    seal(bundle)
    sites = scores.sites.assign(bare=scores.sites["contig"].str.removeprefix("chr"))
    sites = sites.sort_values(["bare", "position", "ref", "alt"])
    calls = np.random.default_rng(1).integers(0, 2, size=(len(sites), 6))
    lines = [
        record(one.position, " ".join(f"0|{call}" for call in own), contig=one.bare, ref=one.ref, alt=one.alt)
        for one, own in zip(sites.itertuples(), calls, strict=True)
    ]
    contigs = sorted(set(sites["bare"]))
    (tmp_path / "a.vcf").write_text(vcf_text(*lines, samples=list("abcdef"), contigs=contigs))
    found, said = scored(tmp_path / "out", tmp_path / "a.vcf", bundle)
    for name, weights, constant in zip(
        scores.outcomes, scores.weights, scores.constants.of_person, strict=True
    ):
        raw = weights[sites.index] @ calls
        np.testing.assert_allclose(found[f"{name}.sum"], raw, rtol=1e-12, atol=1e-15)
        centre, scale = {"height": (170, 9), case: (0.2, 0.4)}.get(name, (0, 1))
        np.testing.assert_allclose(found[f"{name}.score"], centre + scale * (constant + raw), rtol=1e-12)
    assert "no constant" not in said
    units = [one["unit"] for one in json.loads((tmp_path / "out" / "summary.json").read_text())["scores"]]
    assert units == ["the outcome's own"] * 2 + ["standard deviations of the outcome"]
    _, _, limits, spreads = apply_scores([tmp_path / "a.vcf"], [bundle]).shown()
    assert limits.tolist() == [[-np.inf, np.inf], [0, 1], [-np.inf, np.inf]]
    assert spreads.tolist() == [9, 0.4, 1]


def test_score__says_of_each_variant_why(tmp_path):
    lines = [
        record(10, "0/0 0/1 1/1", ref="A", alt="C"),
        record(20, "0/0 0/1 1/1", ref="A", alt="T"),
        record(30, "0/0 0/1 1/1", ref="A", alt="C,G"),
        record(40, "0/0 0/1 1/1", ref="A", alt="C"),
        record(40, "0/0 0/1 1/1", ref="A", alt="C"),
        record(50, "./. ./. ./.", ref="A", alt="C"),
        record(60, "0/0 0/1 1/2", ref="A", alt="C,G"),
    ]
    (tmp_path / "a.vcf").write_text(vcf_text(*lines))
    rows = [
        ("1\t10\tC\tA", "matched", "A>C"),
        ("1\t20\tA\tT", "swapped", "A>T"),
        ("1\t30\tAT\tG", "other alleles in the target", "A>C,G"),
        ("1\t40\tC\tA", "more than once in the target", "A>C,C"),
        ("1\t50\tC\tA", "no calls in the target", "A>C"),
        ("1\t60\tA\tG", "swapped", "A>C,G"),
        ("1\t70\tA\tG", "not in the target", ""),
        ("Y\t10\tA\tG", "chromosome other than 1-22 and X", ""),
        ("1\t\tA\tG", "no position", ""),
        ("1\t10\tN\tG", "alleles not of A, C, G, T", ""),
    ]
    text = HEADER + "".join(f"{row}\t1\n" for row, *_ in rows)
    (tmp_path / "y.txt").write_text(text)
    found, said = scored(
        tmp_path / "out", tmp_path / "a.vcf", tmp_path / "y.txt", options=["--min-matched", 0]
    )
    match = match_of(tmp_path / "out")
    assert match["status"].tolist() == [status for _, status, _ in rows]
    assert match["target"].tolist() == [target for *_, target in rows]
    assert match["ambiguous"].tolist() == ["no", "yes"] + ["no"] * 8
    # C at 10, A at 20, and A at 60, which C and G there are not.
    assert found["y.sum"].tolist() == [0 + 2 + 2, 1 + 1 + 1, 2 + 0 + 0]
    assert "y: 3 of 10 variants used" in said
    options = ["--drop-ambiguous", "--match-only"]
    result = run(tmp_path / "a.vcf", "--score", tmp_path / "y.txt", "--output", tmp_path / "m", *options)
    assert result.exit_code == 0
    assert match_of(tmp_path / "m")["status"][1] == "ambiguous and left out"
    assert {path.name for path in (tmp_path / "m").iterdir()} == {"match.tsv.gz", "summary.json"}


# The frequency of the allele is 3/5 and 2/5.
@pytest.mark.parametrize(("calls", "sums"), [("0 1 1/.", [0, 2, 1.6]), ("./0 1/1 0/0", [0.4, 2, 0])])
def test_score__takes_one_allele_twice_and_half_a_call_once(tmp_path, calls, sums):
    """As plink2 takes male X by default; of half a call the missing allele is filled."""
    (tmp_path / "a.vcf").write_text(vcf_text(record(10, calls, contig="X"), contigs=["X"]))
    (tmp_path / "y.txt").write_text(f"{HEADER}X\t10\tC\tA\t1\n")
    found, _ = scored(tmp_path / "out", tmp_path / "a.vcf", tmp_path / "y.txt")
    np.testing.assert_allclose(found["y.sum"], sums)


def test_score__what_the_target_lacks_is_in_predictions_by_its_frequency(tmp_path):
    (tmp_path / "a.vcf").write_text(vcf_text(record(10, "0/0 0/1 1/1")))
    head, rows = "#constant=3\n", "1\t10\tC\tA\t1\t0.5\n1\t20\tC\tA\t10\t0.25\n"
    names = HEADER.replace("\n", "\tallelefrequency_effect\n")
    (tmp_path / "y.txt").write_text(head + names + rows)
    options = ["--min-matched", "0.5"]
    found, said = scored(tmp_path / "out", tmp_path / "a.vcf", tmp_path / "y.txt", options=options)
    assert found["y.score"].tolist() == [8, 9, 10]
    assert "lack what" not in said
    (tmp_path / "y.txt").write_text(head + names + rows.replace("0.25", "NA"))
    found, said = scored(tmp_path / "other", tmp_path / "a.vcf", tmp_path / "y.txt", options=options)
    assert found["y.score"].tolist() == [3, 4, 5]
    assert "predictions of y lack what" in said


GOOD = f"{HEADER}1\t10\tC\tA\t1\n"


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "a.vcf"
    path.write_text(vcf_text(record(10, "0/0 0/1 1/1")))
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"#genome_build=GRCh37\n{GOOD}",
            "must be of the genotypes' genome build, GRCh38, got GRCh37",
        ),
        (f"{GOOD}1\t20\tC\tA\t1\n1\t10\tA\tC\t2\n", "row 3: every variant must be there once, got 1:10:A:C"),
        (f"{GOOD}1\t10\tT\tG\t2\n", "row 2: every variant must be there once, got 1:10:T:G"),
        (f"{GOOD}1\t20\tC\tC\t1\n", "row 2: the effect allele must differ from the other one, got 1:20:C:C"),
        (f"{HEADER}1\t10\tG\tT\t1\n1\t20\tC\tA\t1\n", "got 1 of 2 (50.0%; 1 not in the target)"),
        (f"{HEADER}1\t10\tA\tG\t1\n", "got 0 of 1 (0.0%; 1 other alleles in the target)"),
        (f"{HEADER}7\t10\tC\tA\t1\n", "got 0 of 1 (0.0%; 1 not in the target)"),
        (f"{GOOD}1\t20\tC\tA\tmuch\n", "row 2: effect_weight must be a finite number"),
        (f"{GOOD}1\t20\tC\tA\tinf\n", "row 2: effect_weight must be a finite number"),
        (f"#constant=1,5\n{GOOD}", "`#constant=` must be a finite number, got 1,5"),
        (f"#pgs_id=a\tb\n{GOOD}", "must have a name without control characters"),
        (HEADER, "must hold a variant, got only the names"),
        (GOOD.replace("effect_weight", "beta"), "must name a column effect_weight"),
        ("", "y.txt` must be a table with names in its first line, but is empty"),
    ],
)
def test_score__refuses_scores_in_one_line(tmp_path, target, text, words):
    options = ["--genome-build", "GRCh38"] if "build" in text else []
    assert words in refusal_of(tmp_path, target, *options, text=text)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.vcf", "y.txt"]


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([record(10, "0/0 0/1/1 1/1")], "has more than two alleles"),
        ([record(20, "0/0 0/1 1/1"), record(10, "0/0 0/1 1/1")], "hold variants in the order of positions"),
        ([record(10, "0/0 0/1")], "the record must have as many columns as the header"),
    ],
)
def test_score__refuses_targets_in_one_line(tmp_path, target, records, words):
    target.write_text(vcf_text(*records))
    assert words in refusal_of(tmp_path, target, text=GOOD)


def test_score__refuses_what_is_twice_and_what_is_there(tmp_path, target):
    for folder in ("full", "empty"):
        (tmp_path / folder).mkdir()
    (tmp_path / "full" / "mine").write_text("")
    (tmp_path / "y.txt").write_text(GOOD)
    (tmp_path / "z.txt").write_text(f"#pgs_id=y\n{GOOD}")
    for files, scores, output, exit_code, words in (
        ([target], ["y.txt", "z.txt"], "out", 2, "a name of its own, got y"),
        ([target] * 2, ["y.txt"], "out", 1, "each place in one file alone"),
        ([target], ["y.txt"], "full", 2, "must be a new name"),
        ([target], ["empty"], "out", 1, "must be the bundle of a release"),
    ):
        options = [option for score in scores for option in ("--score", tmp_path / score)]
        result = run(*files, *options, "--output", tmp_path / output)
        assert (result.exit_code, words in result.output) == (exit_code, True), result.output


def test_score__names_may_hold_quotes(tmp_path, target):
    (tmp_path / "y.txt").write_text(f'#pgs_id=a "b"\n{GOOD}')
    found, _ = scored(tmp_path / "out", target, tmp_path / "y.txt")
    assert found['a "b".sum'].tolist() == [0, 1, 2]
    assert match_of(tmp_path / "out")["scores"].tolist() == ['a "b"']


def test_score__refuses_a_target_of_another_build(tmp_path):
    name, chromosome, _, at37, _ = SNPS[0]
    lines = record(at37, "0/0 0/1 1/1", contig=chromosome, id_=name)
    (tmp_path / "a.vcf").write_text(vcf_text(lines, contigs=[chromosome]).replace(",length=1000000", ""))
    text = f"#genome_build=GRCh38\n{HEADER}{chromosome}\t{at37}\tC\tA\t1\n"
    (tmp_path / "y.txt").write_text(text)
    assert "`--genome-build` must be the build of" in refusal_of(tmp_path, tmp_path / "a.vcf")
    both = text.replace("#genome", "#HmPOS_build=GRCh37\n#genome").replace(
        "weight\n", "weight\thm_chr\thm_pos\n"
    )
    (tmp_path / "y.txt").write_text(both[:-1] + f"\t{chromosome}\t{at37}\n")
    found = run(tmp_path / "a.vcf", "--score", tmp_path / "y.txt", "--output", tmp_path / "out")
    assert (found.exit_code, "must say the build of the target" in found.output) == (2, True)
    options = ["--genome-build", "GRCh37"]
    scored(tmp_path / "out", tmp_path / "a.vcf", tmp_path / "y.txt", options=options)


def test_score__reads_each_head_and_each_table_once(tmp_path, rng, monkeypatch):
    records = make_target(rng, n_people=N, n_records=70)
    write_target(tmp_path / "a.vcf.gz", records)
    for name in ("y1.txt", "y2.txt"):
        write_score(tmp_path / name, records, make_score(rng, records))
    opened = []

    def noted(module, name):
        function = getattr(module, name)

        def note(given, *options, **named):
            opened.append((name, Path(given).name))
            return function(given, *options, **named)

        monkeypatch.setattr(module, name, note)

    noted(score_files, "head_of")
    noted(scoring_files, "_all_at_once")
    scored(tmp_path / "out", tmp_path / "a.vcf.gz", tmp_path / "y1.txt", tmp_path / "y2.txt")
    files = ("y1.txt", "y2.txt")
    assert sorted(opened) == [(name, file) for name in ("_all_at_once", "head_of") for file in files]


def test_score__of_the_same_variants_is_matched_once(tmp_path):
    (tmp_path / "a.vcf").write_text(vcf_text(record(10, "0/0 0/1 1/1"), record(20, "0/1 0/1 1/1")))
    texts = {"a": "1\t10\tC\tA\t1\n", "b": "1\t10\tC\tA\t2\n", "c": "1\t20\tA\tC\t1\n1\t10\tC\tA\t4\n"}
    (tmp_path / "scores").mkdir()
    for name, rows in texts.items():
        (tmp_path / "scores" / f"{name}.txt.gz").write_bytes(gzip.compress((HEADER + rows).encode()))
    found, said = scored(tmp_path / "out", tmp_path / "a.vcf", tmp_path / "scores")
    assert found.filter(like="sum").to_numpy().tolist() == [[0, 0, 1], [1, 2, 5], [2, 4, 8]]
    assert "a, b: 1 of 1 variants used" in said
    assert match_of(tmp_path / "out")["scores"].tolist() == ["a, b", "c", "c"]
