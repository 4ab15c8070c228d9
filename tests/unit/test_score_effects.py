"""Scores whose copies do not add the same each: dominant, recessive, and weights of dosages."""

import numpy as np
import pytest

from dpgrs.io import target as targets
from dpgrs.scoring import sums
from score_targets import (
    HEADER,
    STRAND,
    copy_sums_by_hand,
    make_score,
    make_target,
    match_of,
    refusal_of,
    scored,
    write_target,
)
from vcf_files import record, vcf_text

N = 70
NAMES = HEADER.replace("\n", "\teffect_type\tdosage_0_weight\tdosage_1_weight\tdosage_2_weight\n")
TABLES = {
    "additive": lambda weight: (0, weight, 2 * weight),
    "dominant": lambda weight: (0, weight, weight),
    "recessive": lambda weight: (0, 0, weight),
    "nonadditive": lambda weight: (weight, -2.5, weight**2),
}


def write_typed(path, records, rows, *, flips=False, head="", names=NAMES):
    """Write a scoring file whose rows take the effect types in turn; return what 0, 1 and 2 copies add."""
    lines, tables = [], []
    for number, (place, allele, other, weight) in enumerate(rows):
        contig, position, alleles, _ = records[place]
        pair = [alleles[allele], alleles[other]]
        is_single = all(len(one) == 1 for one in pair) and set(pair) not in ({"A", "T"}, {"C", "G"})
        pair = [one.translate(STRAND) for one in pair] if flips and is_single else pair
        kind = list(TABLES)[number % len(TABLES)]
        tables.append(TABLES[kind](weight))
        weights = map(repr, tables[-1]) if kind == "nonadditive" else ("", "NA", ".")
        own = "" if kind == "nonadditive" else f"{weight!r}"
        lines.append("\t".join([contig, str(position), *pair, own, kind, *weights]) + "\n")
    path.write_text(head + names + "".join(lines))
    return tables


@pytest.mark.parametrize("flips", [False, True])
def test_score__by_effect_type_is_the_sum_by_hand(tmp_path, monkeypatch, flips):
    rng = np.random.default_rng(3)
    records = make_target(rng, n_people=N, n_records=70, missing=0.1)
    for *_, calls in records[::5]:
        calls[rng.random(N) < 0.1, 1] = -1  # half a call
    target, rows = write_target(tmp_path / "a.vcf", records), make_score(rng, records)
    tables = write_typed(tmp_path / "y.txt", records, rows, flips=flips)
    by_hand = copy_sums_by_hand(records, rows, tables)
    found, said = scored(tmp_path / "out", target, tmp_path / "y.txt")
    np.testing.assert_allclose(found["y.sum"], by_hand, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found["y.average"], by_hand / 140, rtol=1e-12, atol=1e-12)
    assert "y: of these 18 as additive, 18 as dominant, 17 as recessive, 17 as dosage weights" in said
    kinds = match_of(tmp_path / "out")["effect_type"].tolist()
    assert kinds[:4] == ["additive", "dominant", "recessive", "dosage weights"]
    for name, n_rows in (("PEOPLE_AT_A_TIME", 16), ("ROWS_AT_A_TIME", 2)):
        monkeypatch.setattr(sums, name, n_rows)
    monkeypatch.setattr(targets, "MOST_ROWS", 3)
    cut, _ = scored(tmp_path / "cut", target, tmp_path / "y.txt", options=["--threads", 1])
    np.testing.assert_allclose(cut, found, rtol=1e-12, atol=1e-12)


def test_score__by_effect_type_beside_others_of_the_same_variants(tmp_path):
    (tmp_path / "a.vcf").write_text(vcf_text(record(10, "0/0 0/1 1/1"), record(20, "0/1 1/1 1/1")))
    plain = f"{HEADER}1\t10\tC\tA\t1\n1\t20\tC\tA\t10\n"
    (tmp_path / "a.txt").write_text(plain)
    names, first, second = plain.splitlines()
    (tmp_path / "b.txt").write_text(f"{names}\tis_recessive\n{first}\tTRUE\n{second}\tFalse\n")
    (tmp_path / "c.txt").write_text(f"{names}\tis_dominant\n{first}\t1\n{second}\t0\n")
    texts = [tmp_path / f"{name}.txt" for name in "abc"]
    found, _ = scored(tmp_path / "out", tmp_path / "a.vcf", *texts)
    assert found.filter(like="sum").T.to_numpy().tolist() == [[10, 21, 22], [10, 20, 21], [10, 21, 21]]


@pytest.mark.parametrize("effect", ["A", "C"])
def test_score__of_dosages_is_a_straight_line_between_copies(tmp_path, effect):
    header = '##FORMAT=<ID=DS,Number=A,Type=Float,Description="d">\n'
    lines = [record(10 * k, "0/0:0.25 0/1:1.5 ./.:.", format_="GT:DS") for k in (1, 2, 3, 4)]
    (tmp_path / "a.vcf").write_text(vcf_text(*lines).replace("#CHROM", f"{header}#CHROM"))
    other = {"A": "C", "C": "A"}[effect]
    kinds = [("1", "dominant", *"..."), ("1", "recessive", *"..."), ("", "", "3", "5", "1")]
    rows = [f"1\t{10 * k}\t{effect}\t{other}\t" + "\t".join(cells) for k, cells in enumerate(kinds, start=1)]
    options = ["--field", "DS"]
    scores = [tmp_path / f"{number}.txt" for number in range(len(rows))]
    for path, row in zip(scores, rows, strict=True):
        path.write_text(f"{NAMES}{row}\n")
    found, _ = scored(tmp_path / "out", tmp_path / "a.vcf", *scores, options=options)
    p = 0.4375 if effect == "C" else 1 - 0.4375
    copies = np.array([0.25, 1.5]) if effect == "C" else np.array([1.75, 0.5])
    tables = [(0, 1, 1), (0, 0, 1), (3, 5, 1)]
    chances = ((1 - p) ** 2, 2 * p * (1 - p), p**2)
    by_hand = [[*np.interp(copies, [0, 1, 2], table), np.dot(chances, table)] for table in tables]
    np.testing.assert_allclose(found.filter(like="sum").T, by_hand, rtol=1e-12)


def test_score__by_effect_type_fills_what_the_target_lacks(tmp_path):
    (tmp_path / "a.vcf").write_text(vcf_text(record(10, "0/0 0/1 1/1")))
    names = NAMES.replace("\n", "\tallelefrequency_effect\n")
    rows = [
        "1\t10\tC\tA\t1\t\t\t\t\t0.5\n",
        "1\t20\tC\tA\t10\tdominant\t\t\t\t0.25\n",
        "1\t30\tC\tA\t100\trecessive\t\t\t\t0.5\n",
        "1\t40\tC\tA\t\t\t1\t2\t5\t0.5\n",
    ]
    (tmp_path / "y.txt").write_text("#constant=3\n" + names + "".join(rows))
    options = ["--min-matched", "0.1"]
    found, said = scored(tmp_path / "out", tmp_path / "a.vcf", tmp_path / "y.txt", options=options)
    shift = 3 + 10 * (1 - 0.75**2) + 100 * 0.25 + (0.25 * 1 + 0.5 * 2 + 0.25 * 5)
    np.testing.assert_allclose(found["y.score"], [shift, shift + 1, shift + 2])
    assert "lack what" not in said


def test_score__leaves_out_what_is_not_of_single_alleles(tmp_path):
    """Each reason is counted, and a row that cannot be used may lack its weight."""
    (tmp_path / "a.vcf").write_text(vcf_text(*(record(10 * k, "0/0 0/1 1/1") for k in range(1, 10))))
    flags = ["is_haplotype", "is_diplotype", "is_interaction", "is_dominant", "is_recessive"]
    names = HEADER.replace("\n", "\t" + "\t".join([*flags, "effect_type"]) + "\n")
    cells = [
        ("1", "0 0 0 0 0", "", "additive"),
        ("", "True False False False False", "", "haplotype"),
        ("1", "F T F F F", "", "diplotype"),
        ("1", "no no yes no no", "", "interaction"),
        ("1", "False False False True True", "", "contradictory effect types"),
        ("1", ". NA NR true ", "additive", "contradictory effect types"),
        ("1", "0 0 0 1 0", "Dominant", "dominant"),
        ("1", "0 0 0 0 0", "overdominant", "unknown effect type"),
        ("1", "0 0 0 0 0", "nonadditive", "unknown effect type"),
    ]
    rows = [
        "\t".join(["1", str(10 * k), "C", "A", weight, *own.split(" "), stated]) + "\n"
        for k, (weight, own, stated, _) in enumerate(cells, start=1)
    ]
    (tmp_path / "y.txt").write_text(names + "".join(rows))
    options = ["--min-matched", "0"]
    found, said = scored(tmp_path / "out", tmp_path / "a.vcf", tmp_path / "y.txt", options=options)
    assert found["y.sum"].tolist() == [0, 2, 3]
    match = match_of(tmp_path / "out")
    assert match["effect_type"].tolist() == [kind for *_, kind in cells]
    used = ("additive", "dominant")
    assert match["status"].tolist() == ["matched" if kind in used else kind for *_, kind in cells]
    assert "2 of 9 variants used (2 matched, 2 contradictory effect types" in said


PLACE = "1\t10\tC\tA\t"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{NAMES}{PLACE}1\t\t0\t1\t\n", "row 1: dosage_0_weight, dosage_1_weight, dosage_2_weight"),
        (f"{NAMES}{PLACE}1\t\t0\t1\tmany\n", "must be three finite numbers or all be empty"),
        (f"{NAMES}{PLACE}\t\t\t\t\n", "row 1: effect_weight must be a finite number"),
        (NAMES.replace("\tdosage_1_weight", "") + f"{PLACE}1\t\t0\t1\n", "got none for dosage_1_weight"),
        (
            HEADER.replace("\n", "\tis_dominant\n") + f"{PLACE}1\tperhaps\n",
            "column `is_dominant`: must be True or False, got perhaps",
        ),
    ],
)
def test_score__refuses_effect_types_in_one_line(tmp_path, text, words):
    (tmp_path / "a.vcf").write_text(vcf_text(record(10, "0/0 0/1 1/1")))
    assert words in refusal_of(tmp_path, tmp_path / "a.vcf", text=text)


def test_score__of_weights_of_dosages_needs_no_other(tmp_path):
    (tmp_path / "a.vcf").write_text(vcf_text(record(10, "0/0 0/1 1/1")))
    names = HEADER.replace("effect_weight", "dosage_0_weight\tdosage_1_weight\tdosage_2_weight")
    (tmp_path / "y.txt").write_text(f"{names}1\t10\tA\tC\t0\t1\t5\n")
    found, _ = scored(tmp_path / "out", tmp_path / "a.vcf", tmp_path / "y.txt")
    assert found["y.sum"].tolist() == [5, 1, 0]
