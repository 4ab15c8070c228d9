"""Scoring files of many origins: several scores in one, inferred alleles, alleles of no letters, repeats."""

import gzip
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpgrs
from dpgrs.errors import UsageError
from dpgrs.io.scoring_files import open_effects
from refused import refused
from score_targets import HEADER, match_of, run, scored
from vcf_files import record, vcf_text

CALLS = "0/0 0/1 1/1"


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "a.vcf"
    path.write_text(vcf_text(*(record(10 * k, CALLS) for k in (1, 2, 3))))
    return path


def test_score__has_a_score_for_each_column_of_weights(tmp_path, target):
    names = HEADER.replace("effect_weight", "effect_weight\teffect_weight_Height\teffect_weight.BMI 2")
    (tmp_path / "y.txt").write_text(f"{names}1\t10\tC\tA\t1\t10\t0.5\n1\t20\tA\tC\t0\t-1\t2\n")
    found, said = scored(tmp_path / "out", target, tmp_path / "y.txt")
    sums = [column for column in found if column.endswith(".sum")]
    assert sums == ["y.sum", "Height.sum", "BMI 2.sum"]
    assert found[sums].T.to_numpy().tolist() == [[0, 1, 2], [-2, 9, 20], [4, 2.5, 1]]
    assert "y, Height, BMI 2: 2 of 2 variants used" in said


def header_with(*columns, weight="effect_weight"):
    """Return the line of names, with columns after those of every score, and another name for the weight."""
    return "\t".join([HEADER.strip().replace("effect_weight", weight), *columns]) + "\n"


TWO_WEIGHTS = "effect_weight_A\teffect_weight_B"
HARMONISED = "rsID\teffect_allele\teffect_weight\thm_chr\thm_pos\n"
REFUSED = {
    "a weight of several that is missing": (
        header_with(weight=TWO_WEIGHTS) + "1\t10\tC\tA\t1\t1\n1\t20\tC\tA\t1\t\n",
        "row 2: effect_weight_B must be a finite number",
    ),
    "weights of one name": (
        header_with(weight="effect_weight_A\teffect_weight_A") + "1\t10\tC\tA\t1\t1\n",
        "columns must have names of their own",
    ),
    "one constant for two scores": (
        "#constant=1\n" + header_with(weight=TWO_WEIGHTS) + "1\t10\tC\tA\t1\t1\n",
        "`#constant=` must be of one score, got 2",
    ),
    "harmonised to another build": (
        f"#genome_build=NR\n#HmPOS_build=GRCh37\n{HARMONISED}rs1\tC\t1\t1\t10\n",
        "genome build, GRCh38, got those of GRCh37",
    ),
    "accessions of another build": (
        f"{HEADER}NC_000001.10\t10\tC\tA\t1\n",
        "GRCh38, got NC_000001.10 of GRCh37",
    ),
    "frequencies in percent": (
        header_with("allelefrequency_effect") + "1\t10\tC\tA\t1\t0.5\n1\t20\tC\tA\t1\t25\n",
        "row 2: the frequency of an allele must be from 0 to 1",
    ),
    "scores below each other": (
        header_with("accession") + "1\t10\tC\tA\t1\tPGS1\n1\t20\tC\tA\t1\tPGS2\n",
        "must hold one score, got 2 in the column `accession`",
    ),
    **{
        f"ratios as {name}": (
            header_with(weight=name) + "1\t10\tC\tA\t1.5\n",
            "must name a column effect_weight, weights that go together, got odds or hazard",
        )
        for name in ("OR", "HR", "odds_ratio")
    },
    "a ratio beside a missing weight": (
        header_with("OR") + "1\t10\tC\tA\t\t1.5\n",
        "row 1: effect_weight must be a finite number",
    ),
}


@pytest.mark.parametrize(("text", "line"), REFUSED.values(), ids=REFUSED)
def test_score__refuses_other_forms_in_one_line(tmp_path, target, text, line):
    (tmp_path / "y.txt").write_text(text)
    options = ["--genome-build", "GRCh38", "--output", tmp_path / "out"]
    found = run(target, "--score", tmp_path / "y.txt", *options)
    assert (found.exit_code in (1, 2), found.output.count("\n")) == (True, 1)
    assert line in found.output
    assert ("write their natural logarithms as effect_weight" in found.output) == ("got odds" in line)


def test_open_effects__of_a_fit_takes_one_column_of_weights(tmp_path):
    names = HEADER.replace("effect_weight", "effect_weight_A\teffect_weight_B")
    (tmp_path / "y.txt").write_text(f"{names}1\t10\tC\tA\t1\t1\n")
    with refused("effect-columns-ambiguous", "got 2"):
        open_effects(tmp_path / "y.txt", build=None)


DOUBLE = {
    "same": "1\t10\tC\tA\t5\n",
    "swapped": "1\t10\tA\tC\t5\n",
    "flipped": "1\t10\tG\tT\t5\n",
    "one allele": "1\t10\tC\t\t5\n",
}


@pytest.mark.parametrize("kind", DOUBLE)
def test_score__that_lists_a_variant_again_is_used_with_an_option(tmp_path, target, kind):
    text = f"{HEADER}1\t10\tC\tA\t1\n1\t20\tC\tA\t0.5\n{DOUBLE[kind]}"
    (tmp_path / "y.txt").write_text(text)
    found = run(target, "--score", tmp_path / "y.txt", "--output", tmp_path / "out")
    assert (found.exit_code, found.output.count("\n")) == (1, 1)
    assert "row 3: every variant must be there once" in found.output
    assert "`--duplicates first` or `--duplicates sum`" in found.output
    options = ["--min-matched", "1", "--duplicates"]
    first, said = scored(tmp_path / "first", target, tmp_path / "y.txt", options=[*options, "first"])
    assert first["y.sum"].tolist() == [0, 1.5, 3]
    assert match_of(tmp_path / "first")["status"].tolist()[2] == "again in the score, left out"
    assert "2 of 3 variants used (2 matched, 1 again in the score, left out)" in said
    (tmp_path / "z.txt").write_text(text)
    scores = [tmp_path / "y.txt", tmp_path / "z.txt"]
    both, _ = scored(tmp_path / "sum", target, *scores, options=[*options, "sum"])
    again = [10, 5, 0] if kind == "swapped" else [0, 5, 10]
    for name in ("y.sum", "z.sum"):
        np.testing.assert_array_equal(both[name], np.add(again, [0, 1.5, 3]))


def test_apply_scores__takes_no_other_option_for_repeats(tmp_path, target):
    (tmp_path / "y.txt").write_text(f"{HEADER}1\t10\tC\tA\t1\n")
    with refused("duplicates-unknown", "`duplicates`", error=UsageError):
        dpgrs.apply_scores([target], [tmp_path / "y.txt"], duplicates="last")


def test_score__left_out_of_a_score_is_in_no_prediction(tmp_path, target):
    names = HEADER.replace("\n", "\tallelefrequency_effect\n")
    rows = "1\t10\tC\tA\t1\t0.5\n1\t10\tC\tA\t5\t0.5\n1\t90\tC\tA\t2\t0.25\n"
    (tmp_path / "y.txt").write_text(f"#constant=1\n{names}{rows}")
    options = ["--duplicates", "first", "--min-matched", "0"]
    found, said = scored(tmp_path / "out", target, tmp_path / "y.txt", options=options)
    assert found["y.score"].tolist() == [2, 3, 4]
    assert "lack what" not in said


def test_score__by_a_single_allele_at_a_place_of_two_pairs_is_no_repeat(tmp_path):
    (tmp_path / "a.vcf").write_text(vcf_text(record(10, "0/1 0/2 1/2", alt="C,G")))
    (tmp_path / "y.txt").write_text(f"{HEADER}1\t10\tC\tA\t1\n1\t10\tG\tA\t10\n")
    found, _ = scored(tmp_path / "out", tmp_path / "a.vcf", tmp_path / "y.txt")
    assert found["y.sum"].tolist() == [1, 10, 11]


@pytest.mark.parametrize("allele", ["P", "N", "+", "-", "*", "<DEL>", "D", "HLA-DQ2", "APOE_E4", ""])
def test_score__skips_and_counts_alleles_that_are_no_letters(tmp_path, target, allele):
    rows = [f"1\t10\tC\tA\t1\n1\t20\t{allele}\tA\t3\n", f"1\t30\t{allele}\t\t\n1\t30\tC\tA\t10\n"]
    (tmp_path / "y.txt").write_text(HEADER + "".join(rows))
    options = ["--min-matched", "0.5"]
    found, said = scored(tmp_path / "out", target, tmp_path / "y.txt", options=options)
    assert found["y.sum"].tolist() == [0, 11, 22]
    assert "2 of 4 variants used (2 matched, 2 alleles not of A, C, G, T)" in said


def test_score__takes_the_inferred_other_allele_where_none_is_stated(tmp_path):
    """By the effect allele C alone, A>C and G>C at 10 could not be told apart."""
    lines = [record(10, CALLS), record(10, "1/1 0/0 0/0", ref="G"), record(20, CALLS), record(30, CALLS)]
    (tmp_path / "a.vcf").write_text(vcf_text(*lines))
    head = "#genome_build=GRCh37\n#HmPOS_build=GRCh38\n"
    names = "rsID\teffect_allele\tother_allele\teffect_weight\thm_chr\thm_pos\thm_inferOtherAllele\n"
    rows = [
        "r1\tC\t\t1\t1\t10\tA\n",
        "r2\tC\tA\t10\t1\t20\tG\n",
        "r3\tC\tNA\t100\t1\t30\tA/G\n",
        "r4\tC\tA\t1000\t\t\t\n",
    ]
    (tmp_path / "y.txt").write_text(head + names + "".join(rows))
    options = ["--genome-build", "GRCh38", "--min-matched", "0.5"]
    found, _ = scored(tmp_path / "out", tmp_path / "a.vcf", tmp_path / "y.txt", options=options)
    assert found["y.sum"].tolist() == [0, 111, 222]
    match = match_of(tmp_path / "out")
    assert match["other_allele"].tolist() == ["A", "A", "", "A"]
    assert match["status"].tolist() == ["matched", "matched", "matched", "no position"]


@pytest.mark.parametrize(
    ("name", "position"),
    [*((name, "10") for name in ("chr1", "01", "Chr1", "CHR1", "NC_000001.11")), ("1", "10.0")],
)
def test_score__reads_all_names_of_chromosomes_and_positions_as_pandas_writes_them(
    tmp_path, target, name, position
):
    (tmp_path / "y.txt").write_text(f"{HEADER}{name}\t{position}\tC\tA\t1\n")
    found, _ = scored(tmp_path / "out", target, tmp_path / "y.txt")
    assert found["y.sum"].tolist() == [0, 1, 2]


def test_score__takes_frequencies_by_any_name_of_a_chromosome(tmp_path):
    (tmp_path / "a.vcf").write_text(vcf_text(record(10, "./. 0/1 1/1")))
    (tmp_path / "y.txt").write_text(f"{HEADER}chr01\t10\tC\tA\t1\n")
    (tmp_path / "f.tsv").write_text("contig\tposition\tref\talt\tfrequency\nNC_000001.11\t10\tA\tC\t0.125\n")
    options = ["--frequencies", tmp_path / "f.tsv"]
    found, _ = scored(tmp_path / "out", tmp_path / "a.vcf", tmp_path / "y.txt", options=options)
    assert found["y.sum"].tolist() == [0.25, 1, 2]


TYPES = ("additive", "dominant", "recessive")
ROWS = st.lists(
    st.tuples(
        st.integers(1, 6),
        st.sampled_from(["AC", "CA", "TG", "A", "C", "PN", "C/G"]),
        st.integers(-3, 3),
        st.sampled_from(TYPES),
        st.sampled_from(["harmonised", "inferred", "lost"]),
    ),
    min_size=1,
    max_size=8,
)


@settings(max_examples=30, deadline=None)
@given(rows=ROWS)
def test_score__formatted_as_pygscatalog_does_has_the_same_sums(rows):
    """It writes harmonised positions, inferred alleles, ``effect_type`` and no head, and keeps repeats."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "a.vcf").write_text(vcf_text(*(record(10 * k, CALLS) for k in range(1, 7))))
        original, formatted, seen = [], [], set()
        for number, (k, alleles, weight, kind, fate) in enumerate(rows):
            effect, other = ("A", alleles) if "/" in alleles else (alleles[0], alleles[1:])
            hm = {
                "harmonised": ("1", 10 * k, ""),
                "inferred": ("1", 10 * k, "A" if effect == "C" else "C"),
                "lost": ("", "", ""),
            }[fate]
            flags = [str(kind == one) for one in ("dominant", "recessive")]
            original.append([f"rs{number}", "2", 7 + k, effect, other, weight, *flags, "liftover", *hm])
            inferred = "" if "/" in other else other or hm[2]
            key = (*hm[:2], effect, inferred)
            formatted.append([*key, weight, kind, key in seen, "PGS1_hmPOS_GRCh38", number])
            seen.add(key)
        head = "#pgs_id=PGS1\n#genome_build=GRCh37\n#HmPOS_build=GRCh38\n"
        names = "rsID chr_name chr_position effect_allele other_allele effect_weight is_dominant is_recessive"
        names += " hm_source hm_chr hm_pos hm_inferOtherAllele"
        write(folder / "PGS1.txt", head, names, original)
        names = "chr_name chr_position effect_allele other_allele effect_weight effect_type is_duplicated"
        write(folder / "formatted.txt.gz", "", f"{names} accession row_nr", formatted)
        options = {"genome_build": "GRCh38", "min_matched": 0, "duplicates": "sum", "only_match": True}
        both = [folder / "PGS1.txt", folder / "formatted.txt.gz"]
        is_used = [dpgrs.apply_scores([folder / "a.vcf"], [one], **options).n_used[0] for one in both]
        assert is_used[0] == is_used[1]
        if is_used[0]:
            options["only_match"] = False
            one, other = (dpgrs.apply_scores([folder / "a.vcf"], [path], **options).sums for path in both)
            np.testing.assert_array_equal(one, other)


def write(path, head, names, rows):
    """Write a table with tabs, plain or gzipped."""
    lines = [names.split(" "), *rows]
    text = head + "".join("\t".join(map(str, line)) + "\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
