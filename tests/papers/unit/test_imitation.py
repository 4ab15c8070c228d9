"""A generator's windows and thresholds, and what is refused; what it makes is in `workflow/test_gan.py`."""

import sys

import numpy as np
import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import pack
from dpgrs.io.store_writer import StoreWriter
from dpgrs_papers.imitation.adversaries import library
from dpgrs_papers.imitation.imitation import ImitationModel, imitate_store, thresholds, windows_of
from refused import refused

N_VARIANTS, N_PEOPLE = 6, 4


def write(path, *, missing=None, dosages=None):
    sites = {"contig": ["1"] * N_VARIANTS, "position": np.arange(1, N_VARIANTS + 1)}
    sites |= {name: [value] * N_VARIANTS for name, value in (("id", "."), ("ref", "A"), ("alt", "C"))}
    alleles = np.tile([0, 1], (N_VARIANTS, N_PEOPLE))
    ids = [f"p{i}" for i in range(N_PEOPLE)]
    with StoreWriter.create(path, sample_id=ids, has_dosages=dosages is not None) as writer:
        writer.append(sites, pack(alleles), missing, dosages)
        writer.attributes.update(source={"file": "1.vcf.gz", "sha256": "0" * 64})
    return path


def test_windows__hold_each_variant_once_and_none_of_two_contigs():
    contigs, is_common = ["1"] * 7 + ["2"] * 3 + ["X"], np.array([1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1]) == 1
    windows = windows_of(contigs, is_common, ImitationModel(window=3, overlap=2))
    assert [(one.contig, one.rows.start, one.rows.stop) for one in windows] == [
        ("1", 0, 3),
        ("1", 3, 6),
        ("1", 6, 7),
        ("2", 7, 10),
        ("X", 10, 11),
    ]
    assert [one.before.tolist() for one in windows] == [[], [0], [3, 4], [], []]
    assert [one.common.tolist() for one in windows] == [[0], [3, 4], [], [7, 8], [10]]


def test_windows__are_given_the_last_of_the_common_variants_before():
    (*_, last) = windows_of(["1"] * 9, np.arange(9) % 2 == 0, ImitationModel(window=3, overlap=2))
    made_before = np.array([[0, 2, 4], [10, 12, 14]])
    assert last.before.tolist() == [2, 4]
    assert last.condition_alleles(made_before).tolist() == [[2, 4], [12, 14]]
    (first, *_) = windows_of(["1"], [True], ImitationModel())
    assert first.condition_alleles(made_before).shape == (2, 0)


def test_windows__give_nothing_without_an_overlap():
    windows = windows_of(["1"] * 5, np.ones(5, dtype=bool), ImitationModel(window=2, overlap=0))
    assert [len(one.before) for one in windows] == [0, 0, 0]


def test_thresholds__keep_frequencies():
    draws = np.random.Generator(np.random.PCG64(1))
    odds = draws.standard_normal((1000, 5)).astype(np.float32)
    frequency = np.array([0, 0.001, 0.25, 0.9, 1])
    least = thresholds(odds, frequency)
    np.testing.assert_allclose((odds >= least).mean(axis=0), frequency)
    # What nobody has, or everybody, stays so beyond the outputs that were seen.
    assert (least <= 100).tolist() == [False, True, True, True, True]
    assert (least <= -100).tolist() == [False, False, False, False, True]


@pytest.mark.parametrize(
    ("terms", "fault"),
    [
        ({"window": 0}, ("field-out-of-domain", "`window`", "got 0")),
        ({"overlap": -1}, ("field-out-of-domain", "`overlap`", "got -1")),
        ({"steps": 150}, ("field-out-of-domain", "`steps`", "got 150", "100")),
        ({"steps": 0}, ("field-out-of-domain", "`steps`", "got 0", "100")),
    ],
)
def test_imitation_model__raise_out_of_range(terms, fault):
    with refused(*fault, error=UsageError):
        ImitationModel(**terms)


@pytest.mark.parametrize(
    "planes",
    [
        {"missing": np.full((N_VARIANTS, 1), 1, dtype=np.uint64)},
        {"dosages": np.zeros((N_VARIANTS, N_PEOPLE), dtype=np.uint16)},
    ],
)
def test_imitate__raise_on_unknown_alleles_and_on_dosages(planes, tmp_path):
    source = write(tmp_path / "source", **planes)
    with refused("dosages-not-haplotypes"):
        imitate_store(source, tmp_path / "made", people=5, seed=1)
    assert not (tmp_path / "made").exists()


@pytest.fixture
def without_library(monkeypatch):
    library.cache_clear()
    monkeypatch.setitem(sys.modules, "jax", None)


@pytest.mark.usefixtures("without_library")
def test_store_imitate__says_in_a_line_how_to_install_the_extra(tmp_path):
    source = write(tmp_path / "source")
    options = ["store", "imitate", str(source), str(tmp_path / "made"), "--people", "5"]
    found = CliRunner().invoke(main, options)
    assert found.exit_code == 2
    line = found.output.strip().splitlines()[-1]
    assert line == "dpgrs: `dpgrs store` needs the library jax: pip install 'dpgrs[gan]'"
    assert not (tmp_path / "made").exists()
