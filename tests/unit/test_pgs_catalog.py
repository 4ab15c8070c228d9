import gzip
import hashlib
import struct

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.release.pgs_catalog import (
    header_text,
    in_file_order,
    site_digest,
    write_scoring_file,
    write_standard_errors,
)
from dpgrs.statement.files import file_stems
from refused import refused
from release_data import OUTCOMES, SITES, make_scores

SOURCE = {"citation": "A paper", "license_text": "CC0"}


def lines_of(path):
    return gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]


def write(tmp_path, scores, index=1):
    path = tmp_path / "score.txt.gz"
    write_scoring_file(path, scores, index, pgs_id="an_id", **SOURCE)
    return path


def changed_sites(row, **values):
    return SITES.assign(
        **{name: [*SITES[name][:row], value, *SITES[name][row + 1 :]] for name, value in values.items()}
    )


def test_write_scoring_file__header_and_rows(tmp_path):
    scores = make_scores()
    lines = lines_of(write(tmp_path, scores))
    assert lines[0].startswith("###PGS CATALOG SCORING FILE - see https://www.pgscatalog.org/downloads/")
    assert lines[1:10] == [
        "#format_version=2.0",
        "##POLYGENIC SCORE (PGS) INFORMATION",
        "#pgs_id=an_id",
        "#pgs_name=LDL/HDL : ratio",
        "#trait_reported=LDL/HDL : ratio",
        "#trait_mapped=NR",
        "#trait_efo=NR",
        "#genome_build=GRCh38",
        "#variants_number=8",
    ]
    assert {"#dp_epsilon=1", "#dp_delta=0.000001", "#dp_unit=haplotype", "#license=CC0"} <= set(lines)
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    assert rows[0] == ["rsID", "chr_name", "chr_position", "effect_allele", "other_allele", "effect_weight"]
    sites = [tuple(row[:5]) for row in rows[1:]]
    assert sites == [
        (".", "3", "20", "C", "G"),
        (".", "3", "9000000", "G", "GAT"),
        ("rs1", "10", "1", "A", "C"),
        (".", "21", "10", "TA", "T"),
        ("rs12", "22", "200", "C", "A"),
        (".", "22", "200", "G", "A"),
        ("rs77", "22", "300", "T", "C"),
        (".", "X", "5", "G", "A"),
    ]
    by_site = {
        (contig.removeprefix("chr"), str(position), alt): weight
        for contig, position, alt, weight in zip(
            SITES["contig"], SITES["position"], SITES["alt"], scores.weights[1], strict=True
        )
    }
    assert {(row[1], row[2], row[3]): float(row[5]) for row in rows[1:]} == by_site


def test_write_scoring_file__labels_and_no_ids(tmp_path):
    scores, path = make_scores(sites=SITES.assign(id=".")), tmp_path / "score.txt.gz"
    terms = {"efo_ids": ["HP_0002140", "EFO_0000712"], "mapped_traits": ["Ischemic stroke", "stroke"]}
    trait = terms | {"outcome": OUTCOMES[1], "reported_trait": "b = c\n#d=e"}
    write_scoring_file(path, scores, 1, pgs_id="an_id", trait=trait, **SOURCE)
    lines = lines_of(path)
    assert "#trait_reported=b : c #d:e" in lines
    assert "#trait_mapped=Ischemic stroke|stroke" in lines
    assert "#trait_efo=HP_0002140|EFO_0000712" in lines
    assert all(line.count("=") == 1 for line in lines if line.startswith("#") and not line.startswith("##"))
    assert "chr_name\tchr_position\teffect_allele\tother_allele\teffect_weight" in lines


def test_write_scoring_file__bytes_hold_no_name_and_no_time(tmp_path):
    first, second = tmp_path / "a.txt.gz", tmp_path / "b.txt.gz"
    order = np.random.Generator(np.random.PCG64(1)).permutation(len(SITES))
    scores = make_scores()
    shuffled = make_scores(sites=SITES.iloc[order].reset_index(drop=True), weights=scores.weights[:, order])
    write_scoring_file(first, scores, 0, pgs_id="x", **SOURCE)
    write_scoring_file(second, shuffled, 0, pgs_id="x", **SOURCE)
    assert first.read_bytes() == second.read_bytes()
    flags, time = struct.unpack("<BI", first.read_bytes()[3:8])
    assert (flags, time) == (0, 0)


def test_write_standard_errors__rows(tmp_path):
    errors = np.arange(24.0).reshape(3, 8) / 8
    path = tmp_path / "errors.tsv.gz"
    write_standard_errors(path, make_scores(standard_errors=errors), 2)
    lines = lines_of(path)
    assert lines[0] == "chr_name\tchr_position\teffect_allele\tother_allele\tstandard_error"
    assert lines[1] == "3\t20\tC\tG\t2.75"
    assert lines[-1] == "X\t5\tG\tA\t2"


def test_site_digest__by_hand():
    sites = pd.DataFrame({"contig": ["chr2", "1"], "position": [7, 9], "ref": ["A", "C"], "alt": ["G", "T"]})
    assert site_digest(sites) == hashlib.sha256(b"1\t9\tT\tC\n2\t7\tG\tA\n").hexdigest()


def test_site_digest__every_column_counts():
    digests = {site_digest(SITES)}
    for change in ({"contig": "7"}, {"position": 21}, {"ref": "T"}, {"alt": "T"}):
        digests.add(site_digest(changed_sites(6, **change)))
    assert len(digests) == 5


@settings(max_examples=40)
@given(st.lists(st.text(min_size=1, max_size=99), unique=True, max_size=6))
def test_file_stems__safe_and_apart(names):
    stems = file_stems(names)
    assert len({stem.casefold() for stem in stems}) == len(names)
    assert all(
        set(stem) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
        for stem in stems
    )
    assert not any(stem.startswith((".", "-")) for stem in stems)


def test_file_stems__a_name_that_is_the_digest_of_another_has_one_of_its_own():
    stems = file_stems(["a/b", "A b"])
    for _ in range(3):
        stems = file_stems(["a/b", "A b", *stems])
        assert len(set(stems)) == len(stems)


def test_file_stems__order_does_not_matter():
    names = ["a/b", "A b", "c"]
    assert file_stems(names[::-1]) == file_stems(names)[::-1]


@pytest.mark.parametrize("value", ["a=b\nc", "=", "\n", "\x1b[31mred", "two\u2028lines"])
def test_header_text__one_line_without_equals_sign(value):
    text = header_text(value)
    assert text.isprintable()
    assert text
    assert "=" not in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contig": "Y"}, "chromosomes 1 to 22 or X"),
        ({"contig": "chrUn_1"}, "chromosomes 1 to 22 or X"),
        ({"position": 0}, "position of at least 1"),
        ({"alt": "<DEL>"}, "letters A, C, G and T"),
        ({"alt": "*"}, "letters A, C, G and T"),
        ({"ref": "n"}, "letters A, C, G and T"),
        ({"alt": "G", "ref": "G"}, "differs from REF"),
        ({"contig": "22", "position": 300, "ref": "C", "alt": "T"}, "there once"),
        ({"contig": "chr22", "position": 300, "ref": "T", "alt": "C"}, "there once"),
    ],
)
def test_scores__raise_on_site(change, message):
    with pytest.raises(DpgrsError, match=message):
        make_scores(sites=changed_sites(7, **change))


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["weights", "standard_errors"])
def test_scores__raise_on_number(name, number):
    numbers = np.ones((3, 8))
    numbers[2, 4] = number
    with refused("weights-not-finite"):
        make_scores(**{name: numbers})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"weights": np.ones((8, 3))}, "shape"),
        ({"standard_errors": np.full((3, 8), -1.0)}, "at least 0"),
        ({"outcomes": ("a", "a", "b")}, "each once"),
        ({"outcomes": ("a", "", "b")}, "none empty"),
        ({"genome_build": "hg38"}, "GRCh37 or GRCh38"),
        ({"sites": SITES[:0], "weights": np.ones((3, 0))}, "at least one variant"),
    ],
)
def test_scores__raise_on_field(changed, message):
    with pytest.raises(DpgrsError, match=message):
        make_scores(**changed)


def test_scores__usage_errors_are_told_apart():
    with refused("genome-build-unknown", error=UsageError):
        make_scores(genome_build="NR")


CHOSEN = np.array([[0, 2], [1, 3], [5, 7]])


def chosen_weights(chosen=CHOSEN):
    weights = np.zeros((3, 8))
    np.put_along_axis(weights, chosen, np.arange(1.0, 1 + chosen.size).reshape(chosen.shape), axis=1)
    return weights


def test_write_scoring_file__chosen_variants_alone(tmp_path):
    errors = np.arange(24.0).reshape(3, 8) / 8
    scores = make_scores(weights=chosen_weights(), standard_errors=errors, chosen=CHOSEN)
    lines = lines_of(write(tmp_path, scores))
    assert "#variants_number=2" in lines
    assert [line.split("\t") for line in lines if not line.startswith("#")][1:] == [
        ["rs12", "22", "200", "C", "A", "4"],
        ["rs77", "22", "300", "T", "C", "3"],
    ]
    write_standard_errors(tmp_path / "errors.tsv.gz", scores, 1)
    assert lines_of(tmp_path / "errors.tsv.gz")[1:] == ["22\t200\tC\tA\t1.375", "22\t300\tT\tC\t1.125"]
    assert scores.subset(1) == {"n_variants": 2, "site_digest": site_digest(SITES.iloc[[3, 1]])}
    assert make_scores().subset(1) == {}


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (CHOSEN[:2], "for each of 3 outcomes, got int64 of shape"),
        (CHOSEN[0], "for each of 3 outcomes"),
        (CHOSEN.astype(float), "got float64"),
        (CHOSEN[:, ::-1], "ascend within 0 to 7, each once"),
        (CHOSEN[:, [0, 0]], "ascend within 0 to 7, each once"),
        (CHOSEN[:, :0], "at least one"),
        (CHOSEN - 1, "ascend within 0 to 7"),
        (CHOSEN + 1, "ascend within 0 to 7"),
        (CHOSEN[:, :1], "not chosen must have a weight of 0"),
    ],
)
def test_scores__raise_on_chosen(chosen, message):
    with pytest.raises(DpgrsError, match=message):
        make_scores(weights=chosen_weights(), chosen=chosen)


def test_in_file_order__is_that_of_the_files(tmp_path):
    scores = make_scores()
    ordered = in_file_order(SITES)
    table, places = scores.rows(0)
    assert ordered["position"].tolist() == table["chr_position"].tolist()
    assert SITES.iloc[places].reset_index(drop=True).equals(ordered)
