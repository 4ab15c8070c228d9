"""Where numba, pyarrow and zarr are not installed, people get the same scores."""

import gzip
import shutil
import sys

import numpy as np
import pytest

from dpgrs.genotypes.bits import pack, word_count
from dpgrs.genotypes.compiled import compiled
from dpgrs.io import _call_kernels, _dosage_kernels, _listed_kernels
from dpgrs.io.bgen import _kernels as bgen_kernels
from dpgrs.io.effect_cells import mapped, numbers_in, positions_in, texts_of
from dpgrs.scoring import _kernels as score_kernels
from dpgrs.scoring import writing
from release_data import make_bundle
from score_targets import run
from target_formats import arguments_of, write_targets
from without_numba import plain, run_base

SLOWER = "Without numba and pyarrow this takes longer: pip install 'dpgrs[score]'\n"


def test_compiled__without_numba_is_the_twin_or_the_kernel_itself(monkeypatch):
    monkeypatch.setattr("dpgrs.genotypes.compiled.numba", None)
    assert compiled(abs) is abs
    assert compiled(plain=max)(min) is max


def same(module, name, *arguments, filled):
    """Run a kernel and its twin; compare what they return and fill, and give back what the kernel returns."""
    outputs = []
    for own in (module, plain(module)):
        arrays = [np.full(shape, 7, dtype=dtype) for shape, dtype in filled]
        outputs.append((getattr(own, name)(*arguments, *arrays), arrays))
    (expected, wanted), (found, got) = outputs
    assert found == expected
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(one, other)
    return expected


def test_kernels_of_scores__by_numpy():
    rng, shape = np.random.default_rng(1), (40, 70)
    calls = rng.choice(np.array([0, 1, 2, -1, -2, -9, -128], dtype=np.int8), shape)
    steps = rng.choice(np.array([0, 3, 4096, 8192, 65535], dtype=np.uint16), shape)
    same(score_kernels, "count_calls", calls, filled=[(40, np.int64)] * 2)
    terms, dosages = (rng.random(40), 30), [((40, 33), np.float64)]
    same(score_kernels, "fill_calls", calls, *terms, filled=dosages)
    same(score_kernels, "fill_steps", steps, *terms, 65535, 1 / 4096, filled=dosages)


@pytest.mark.parametrize("n_people", [1, 32, 75])
def test_kernels_of_calls__by_numpy(n_people):
    rng, words = np.random.default_rng(2), word_count(2 * n_people)
    bits, dots = (pack(rng.random((6, 2 * n_people)) < share) for share in (0.5, 0.2))
    rows = np.array([0, 2, 5])
    same(_call_kernels, "calls_of_bits", bits, dots, rows, filled=[((3, n_people), np.int8)])
    place, numbers = np.array([0, 0, 1, 3, 5, 5]), np.array([1, 2, 1, 2, 1, 2])
    alleles = rng.choice([-1, 0, 1, 2], (6, 2 * n_people)).astype(np.int8)
    alleles[:, 1::2][rng.random((6, n_people)) < 0.2] = _listed_kernels.NO_ALLELE
    is_phased = rng.random((6, n_people)) < 0.5
    planes = [((6, words), np.uint64)] * 2
    same(_listed_kernels, "pack_calls", alleles, is_phased, place, numbers, 0, False, filled=planes)
    counts = np.zeros((6, 32 * words), dtype=np.int8)
    counts[:, :n_people] = rng.choice([0, 1, 2, -9], (6, n_people))
    same(_listed_kernels, "pack_counts", counts.view(np.uint64), filled=planes)
    codes = rng.integers(2**64, size=(6, words), dtype=np.uint64)
    same(_listed_kernels, "pack_codes", codes, filled=planes)
    dosages = rng.choice([-1, 0, 0.1, 0.5, 1, 1.5, 1.7, 2], (6, n_people))
    same(_listed_kernels, "pack_dosages", dosages, filled=[((6, n_people), np.uint16), *planes])
    halves = (np.arange(n_people) + rng.choice([0.5, 0.25], (6, n_people))).astype(np.float32) / 4096
    same(_listed_kernels, "pack_dosages", halves, filled=[((6, n_people), np.uint16), *planes])
    is_phased |= (alleles[:, ::2] >= 0) & (alleles[:, 1::2] >= 0)
    same(_listed_kernels, "pack_calls", alleles, is_phased, place, numbers, 0, True, filled=planes)


def test_pack_calls__by_numpy_names_the_first_call_without_phase():
    alleles = np.array([[0, 1, 0, 1], [0, 0, 1, 0]], dtype=np.int8)
    is_phased, planes = np.array([[True, True], [False, False]]), np.empty((2, 2, 1), dtype=np.uint64)
    terms = np.arange(2), np.ones(2, dtype=np.int64), -1, True
    assert plain(_listed_kernels).pack_calls(alleles, is_phased, *terms, *planes)[:2] == (1, 1)


@pytest.mark.parametrize("n_bits", [1, 7, 8, 10, 16, 31, 32])
@pytest.mark.parametrize("kind", ["common", "haploid", "three alleles"])
@pytest.mark.parametrize("is_phased", [False, True])
def test_kernels_of_bgen__by_numpy(n_bits, kind, is_phased):
    rng, n_people, whole = np.random.default_rng(n_bits), 300, 2**n_bits - 1
    n_alleles = 3 if kind == "three alleles" else 2
    ploidy = np.where(rng.random(n_people) < 0.1, 2 | 128, 2).astype(np.uint8)
    if kind == "haploid":
        ploidy[::3] = 1
    n_values = bgen_kernels.count_values(ploidy, n_alleles, is_phased)
    assert plain(bgen_kernels).count_values(ploidy, n_alleles, is_phased) == n_values
    # Of two together less than 1; some are certain, some nearly so.
    values = rng.choice([0, 0, whole // 20, whole // 3, -(-9 * whole // 10), whole * 89 // 100], n_values)
    values[1::2] = np.minimum(values[1::2], whole // 20)
    if kind == "three alleles" and not is_phased:
        values[rng.random(n_values) < 0.6] = 0
    bits = (values[:, np.newaxis] >> np.arange(n_bits) & 1).ravel()
    raw = np.concatenate([np.packbits(bits, bitorder="little"), np.zeros(8, dtype=np.uint8)])
    terms = raw, ploidy, n_alleles, is_phased, n_bits
    calls = [(2 * n_people, np.int8)]
    ends = {same(bgen_kernels, "decode_calls", *terms, filled=calls)}
    for allele in range(n_alleles):
        ends.add(same(bgen_kernels, "decode_dosages", *terms, allele, filled=[(n_people, np.float64)]))
    if kind == "common":
        assert ends == {bgen_kernels.ALL_TAKEN}


def test_kernels_of_bgen__by_numpy_name_the_first_sample_beyond_1():
    raw = np.array([255, 0, 200, 56, 255, 255, 200, 55, *[0] * 8], dtype=np.uint8)
    ploidy, own = np.array([2, 130, 2, 2], dtype=np.uint8), plain(bgen_kernels)
    assert own.decode_calls(raw, ploidy, 2, False, 8, np.empty(8, dtype=np.int8)) == 2
    assert own.decode_dosages(raw, ploidy, 2, False, 8, 1, np.empty(4)) == 2
    ploidy[1] = 3
    assert own.count_values(ploidy, 2, False) == -1


COLUMNS = {
    "decimals": "0|0:0.1:.1 0|0:0.1:.1 .:. 0|1:1e-1 1|1:2:1E-02 0|0:0.1:.1 1",
    "several": "0|0:0.1,1:1,0 0|1:.,.:. 0|0:0.1,1:1,0 0|0:.:1",
    "odd": "0|0:0.1 0|1:x:0|1 0|0:0.1:4:5 0|1:x:0|1",
}


@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("n_alts", [1, 2])
def test_kernels_of_dosages__by_distinct_columns(columns, place, n_alts):
    text, n = np.frombuffer(columns.replace(" ", "\t").encode(), dtype=np.uint8), columns.count(" ") + 1
    twins = plain(_dosage_kernels)
    same(_dosage_kernels, "count_alleles", text, place, filled=[(n, np.int8)])
    for name, shapes in (("read_numbers", [((n, n_alts), np.float64), (n, np.int64)]),):
        arrays = [[np.full(shape, 7, dtype=dtype) for shape, dtype in shapes] for _ in range(2)]
        ends = [
            getattr(module, name)(text, place, *own)
            for module, own in zip((_dosage_kernels, twins), arrays, strict=True)
        ]
        assert ends[0] == ends[1]
        if ends[0] == _dosage_kernels.ALL_TAKEN:
            for one, other in zip(*arrays, strict=True):
                np.testing.assert_array_equal(one, other)


def test_pack_dosages__by_numpy():
    steps = np.array([-1, 0, 2047, 2048, 6143, 6144, 8192] * 9, dtype=np.int32)
    planes = [(63, np.uint16), (2, np.uint64), (2, np.uint64)]
    same(_dosage_kernels, "pack_dosages", steps, filled=planes)


def test_score__by_the_base_is_the_same_in_every_format(tmp_path):
    bundle = make_bundle(tmp_path)
    targets = write_targets(tmp_path, bundle)
    for name, target in targets.items():
        found = run(*arguments_of(*target, bundle, tmp_path / "full")[1:])
        assert found.exit_code == 0, found.output
        base = run_base(*arguments_of(*target, bundle, tmp_path / "base"), folder=tmp_path)
        assert (base.returncode, base.stdout) == (0, found.stdout), (name, base.stderr)
        assert base.stderr == SLOWER
        for file in ("scores.tsv.gz", "match.tsv.gz"):
            full, alike = (
                gzip.decompress((tmp_path / kind / file).read_bytes()) for kind in ("full", "base")
            )
            assert alike == full, (name, file)
        pages = [(tmp_path / kind / "report" / "index.html").read_bytes() for kind in ("full", "base")]
        assert pages[0] == pages[1]
        for kind in ("full", "base"):
            shutil.rmtree(tmp_path / kind)


def test_score__by_the_base_names_the_extra_that_reads_stores(tmp_path):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "zarr.json").write_text("{}")
    found = run_base("score", "a.zarr", "--score", make_bundle(tmp_path), "--output", "out", folder=tmp_path)
    line = "dpgrs: `dpgrs score` needs the library zarr: pip install 'dpgrs[score]'\n"
    assert (found.returncode, found.stderr) == (2, SLOWER + line)


QUOTED = [{"name": ['a"b', "c\td", "e"], "number": np.array([1.5, 1e-7, np.nan])}]
NUMBERS = [
    {"n": np.array([0, 7, -2]), "x": np.array([0.0, -1e-5, 123456789.125])},
    {"n": np.array([3, 4, 5]), "x": np.array([1e10, 5e-324, -np.inf])},
]


@pytest.mark.parametrize("parts", [QUOTED, NUMBERS], ids=["quoted", "numbers"])
def test_write_table__without_pyarrow_has_the_same_lines(tmp_path, monkeypatch, parts):
    rng = np.random.default_rng(1)
    for part in parts:
        part["more"] = rng.standard_normal(3) * 10.0 ** rng.integers(-20, 20, 3)
    writing._write_table(tmp_path / "full.gz", parts)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    writing._write_table(tmp_path / "base.gz", parts)
    full, base = (gzip.decompress((tmp_path / f"{name}.gz").read_bytes()) for name in ("full", "base"))
    assert base == full


CELLS = ["1", " 2 ", "", "1e-3", "x", "7.0", "1234567890123", "-4", "inf", "1"]


def test_effect_cells__without_pyarrow(monkeypatch):
    def read(cells):
        texts = texts_of(cells)
        return mapped(texts, str.upper), numbers_in(texts), positions_in(texts)

    both = [read(CELLS), read(CELLS[:1] * 3)]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert isinstance(texts_of(CELLS), np.ndarray)
    for full, base in zip(both, [read(CELLS), read(CELLS[:1] * 3)], strict=True):
        for one, other in zip(full, base, strict=True):
            np.testing.assert_array_equal(other, one)
