"""Tables for plink2: what they hold, in how many files, and that a changed one is found."""

import gzip
import shutil

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError
from dpgrs.release import plain_tables
from dpgrs.release.pgs_catalog import write_plink_scores
from dpgrs.release.plain_tables import format_weight
from dpgrs.verify import scoring_check
from dpgrs.verify.bundle import verify_release
from dpgrs.verify.folder_check import lines_of
from dpgrs.verify.scoring_check import PLINK_RATIO
from forged_releases import edit, seal
from release_data import SITES, make_bundle, make_scores

STEMS, TABLE = ["height", "LDL_HDL_ratio", "groe"], "plink2/scores_1.tsv.gz"


def rows(path):
    return [line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


def test_write_plink_scores__ids_name_both_alleles_in_alphabetical_order(tmp_path):
    scores = make_scores()
    write_plink_scores(tmp_path, scores)
    header, *found = rows(tmp_path / TABLE)
    assert header == ["ID", "allele", *STEMS]
    expected = {}
    for place, site in enumerate(SITES.itertuples()):
        alleles = ":".join(sorted((site.ref, site.alt)))
        id_ = f"{str(site.contig).removeprefix('chr')}:{site.position}:{alleles}"
        expected[id_] = [site.alt, *map(format_weight, scores.weights[:, place])]
    assert {id_: cells for id_, *cells in found} == expected
    assert len(found) == len(SITES)


@pytest.mark.parametrize(
    ("most_weights", "columns"), [(1, [1, 1, 1]), (3 * len(SITES) - 1, [2, 1]), (3 * len(SITES), [3])]
)
def test_write_plink_scores__as_many_outcomes_in_a_file_as_fit(tmp_path, most_weights, columns):
    write_plink_scores(tmp_path, make_scores(), most_weights=most_weights)
    heads = [rows(path)[0][2:] for path in sorted((tmp_path / "plink2").iterdir())]
    assert [len(head) for head in heads] == columns
    assert [stem for head in heads for stem in head] == STEMS


def test_write_plink_scores__variants_that_were_not_chosen_have_weight_0(tmp_path):
    chosen = np.array([[0, 2], [2, 3], [0, 3]])
    weights = np.zeros((3, len(SITES)))
    np.put_along_axis(weights, chosen, [[1, 2], [3, 4], [5, 6]], axis=1)
    write_plink_scores(tmp_path, make_scores(weights=weights, chosen=chosen))
    _, *found = rows(tmp_path / TABLE)
    assert sorted(cells for _, _, *cells in found) == [["0", "4", "6"], ["1", "0", "5"], ["2", "3", "0"]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return make_bundle(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"^(\S+\t\S+\t\S+)", r"\g<1>1"),
        (r"^ID\tallele\theight\tLDL_HDL_ratio", "ID\tallele\tLDL_HDL_ratio\theight"),
        (r"^ID", "id"),
        (r"\tgroe$", "\tother"),
        (r"^(\d+:\d+:[ACGT]+:[ACGT]+\t.*\n)", ""),
        (r"^(\d+:\d+:[ACGT]+:[ACGT]+\t.*\n)", r"\1\1"),
    ],
)
def test_verify_release__table_for_plink2_that_was_changed(whole, tmp_path, old, new):
    release = shutil.copytree(whole, tmp_path / "release")
    edit(release / TABLE, old, new)
    seal(release)
    with pytest.raises(DpgrsError, match=r"plink2/scores_1\.tsv\.gz: it"):
        verify_release(release)


@pytest.mark.parametrize("is_twice", [False, True])
def test_verify_release__table_for_plink2_that_is_missing_or_there_twice(whole, tmp_path, is_twice):
    release = shutil.copytree(whole, tmp_path / "release")
    table = release / TABLE
    shutil.copy(table, table.with_name("scores_2.tsv.gz")) if is_twice else shutil.rmtree(table.parent)
    seal(release)
    with pytest.raises(DpgrsError, match="must hold each outcome once"):
        verify_release(release)


def test_verify_release__table_for_plink2_of_zeros_is_whole(tmp_path, monkeypatch):
    """Deflate shrinks such text hundreds of times, as in older bundles, which other files may not."""
    monkeypatch.setattr(plain_tables, "GZIP_LEVEL", 9)
    sites = pd.concat([SITES.iloc[:1].assign(contig="1", id=".")] * 400, ignore_index=True)
    sites["position"] = range(1, 401)
    outcomes = tuple(f"outcome {number}" for number in range(800))
    scores = make_scores(outcomes=outcomes, sites=sites, weights=np.zeros((800, 400)))
    write_plink_scores(tmp_path, scores)
    table = tmp_path / TABLE
    assert len(gzip.decompress(table.read_bytes())) > 100 * table.stat().st_size
    (text,) = lines_of(table, problems := [], largest_ratio=PLINK_RATIO)
    assert (text.count("\n"), problems) == (401, [])


def test_verify_release__table_for_plink2_of_too_many_weights(whole, monkeypatch):
    """A forger may name all outcomes in one table, whose scores would be read at once."""
    monkeypatch.setattr(scoring_check, "MOST_PLINK_WEIGHTS", 3 * len(SITES) - 1)
    with pytest.raises(DpgrsError, match="it must hold one outcome, or at most 23 weights"):
        verify_release(whole)


@pytest.mark.parametrize("name", ["scores_2.tsv.gz", "scores_1\u0663.tsv.gz"])
def test_verify_release__table_for_plink2_of_another_number(whole, tmp_path, name):
    release = shutil.copytree(whole, tmp_path / "release")
    (release / TABLE).rename(release / "plink2" / name)
    seal(release)
    with pytest.raises(DpgrsError, match=r"from scores_1 on|must name each file"):
        verify_release(release)
