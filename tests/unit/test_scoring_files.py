"""Files of effects: the same rows by either way of reading, and of any form."""

import gzip

import numpy as np
import pytest

from dpgrs.io import scoring_files
from dpgrs.io.effects_head import head_of
from dpgrs.io.scoring_files import open_effects
from refused import refused

HEAD = "###PGS\n#genome_build=GRCh37\n#HmPOS_build=GRCh38\n\n"
NAMES = "rsID\tchr_name\tchr_position\teffect_allele\tother_allele\teffect_weight\tis_dominant\n"
ROWS = (
    "rs1\tchr1\t10\ta\tG\t0.1\tFalse",
    ".\t1\t2e3\tA\tG\t-1e-300\tTRUE",
    "rs3\tX\t0012\tAC\t\tNA\tFalse",
    "rs4\t22\t\tT\tC\t1234567.890123456789\tFalse",
)


def rows_of(path):
    (rows,) = open_effects(path, build=None).row_blocks()
    return rows


@pytest.mark.parametrize("ending", ["txt", "txt.gz"])
def test_parts__hold_what_the_cells_say(tmp_path, ending):
    path, text = tmp_path / f"a.{ending}", HEAD + NAMES + "\n".join(ROWS) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    rows = rows_of(path)
    assert rows.contig.tolist() == ["1", "1", "X", "22"]
    assert rows.position.tolist() == [10, 0, 12, 0]
    assert rows.effect_allele.tolist() == ["A", "A", "AC", "T"]
    assert rows.other_allele.tolist() == ["G", "G", "", "C"]
    np.testing.assert_array_equal(rows.effects[:, 0], [0.1, -1e-300, np.nan, 1234567.890123456789])
    assert rows.is_additive.tolist() == [True, False, True, True]
    assert rows.id.tolist() == ["rs1", ".", "rs3", "rs4"]
    assert np.isnan(rows.frequency).all()
    assert head_of(path).builds == ["GRCh37", "GRCh38"]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\t10\t", "\t 10 \t"),
        lambda text: text.replace("rs4", "\t" * 6 + "\nrs4"),
        lambda text: text.replace("False\n", "False\t\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\t", ","),
    ],
)
def test_parts__are_the_same_by_either_way_of_reading(tmp_path, monkeypatch, change):
    path, odd = tmp_path / "a.txt", tmp_path / "odd.txt"
    text = NAMES + "".join(f"{row}\n" for row in ROWS)
    path.write_text(text)
    odd.write_text(change(text), newline="")
    plain, other = rows_of(path), rows_of(odd)
    monkeypatch.setattr(scoring_files, "LARGEST_AT_ONCE", 0)
    for found in (other, rows_of(path)):
        for name, values in vars(plain).items():
            np.testing.assert_array_equal(getattr(found, name), values, err_msg=name)


def test_parts__are_numbered_through(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text(NAMES + "".join(f"{row}\n" for row in ROWS))
    monkeypatch.setattr(scoring_files, "LARGEST_AT_ONCE", 0)
    monkeypatch.setattr(scoring_files, "ROWS_AT_A_TIME", 3)
    parts = list(open_effects(tmp_path / "a.txt", build=None).row_blocks())
    assert [(part.first, len(part.contig)) for part in parts] == [(1, 3), (4, 1)]


def test_parts__raise_on_a_short_row(tmp_path):
    (tmp_path / "a.txt").write_text(NAMES + f"{ROWS[0]}\nrs9\t1\t5\n")
    with refused("line-width", "line 3", "got 3"):
        rows_of(tmp_path / "a.txt")


def test_parts__hold_frequencies_and_ratios(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(
        "chromosome\tbase_pair_location\teffect_allele\tother_allele\todds_ratio\teffect_allele_frequency\n"
        "1\t10\tA\tG\t2\t0.25\n1\t11\tA\tG\t0\tNA\n"
    )
    rows = rows_of(path)
    np.testing.assert_array_equal(rows.effects[:, 0], [np.log(2), np.nan])
    np.testing.assert_array_equal(rows.frequency, [0.25, np.nan])


@pytest.mark.parametrize(
    ("line", "build"),
    [
        ("#genome_build=GRCh37", "GRCh37"),
        ("# genome_build=GRCh37", "GRCh37"),
        ("#genome_build = hg19", "GRCh37"),
        ("## genome_build : GRCh38.p13", "GRCh38"),
        ("#Genome_Build: hg38", "GRCh38"),
        ("# Original Genome Build = hg19", "GRCh37"),
        ("#genome_build=b37 (hs37d5)", "GRCh37"),
        ("#genome_build=human_g1k_v37", "GRCh37"),
        ("#genome_build=38", "GRCh38"),
        ("#genome_build=hg18", "NCBI36"),
        ("#genome_build=GRCh37,,,,,", "GRCh37"),
        ('"#genome_build=GRCh37",,,,,', "GRCh37"),
        ("#genome_build=NR", None),
        ("#genome_build=T2T-CHM13v2.0", "T2T-CHM13v2.0"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_head__states_its_build(tmp_path, line, build, ending, mark):
    names = NAMES.replace("\t", ",") if ",," in line else NAMES
    text = f"{line}\n# PGS ID = TOY\n{names}{names.replace('rsID', '.')}"
    (tmp_path / "a.txt").write_text(mark + text.replace("\n", ending), newline="")
    head = head_of(tmp_path / "a.txt")
    assert (head.own_build, head.remarks["pgs_id"]) == (build, "TOY")
    assert head.names == NAMES.strip().split("\t")


def test_head__of_any_length_is_read_whole(tmp_path):
    (tmp_path / "a.txt").write_text(f"#citation={'x' * 70_000}\u2028y\n#genome_build=GRCh37\n{NAMES}")
    assert head_of(tmp_path / "a.txt").builds == ["GRCh37"]


@pytest.mark.parametrize("build", [None, "GRCh38"])
@pytest.mark.parametrize("stated", ["hg18", "T2T-CHM13v2.0"])
def test_open_effects__refuses_a_build_without_positions_of_the_genotypes(tmp_path, build, stated):
    (tmp_path / "a.txt").write_text(f"# genome build = {stated}\n{NAMES}{ROWS[0]}\n")
    with refused("stated-build-differs", stated):
        open_effects(tmp_path / "a.txt", build=build)
