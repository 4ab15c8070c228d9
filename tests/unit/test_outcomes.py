"""Outcomes on disk: read as they were written, in any parts, or not at all."""

import numpy as np
import pytest

from dpgrs.io import outcomes as store
from dpgrs.io.outcomes import Outcomes
from refused import refused

NAMES, N_ROWS, IS_TRAINING = ("a", "b", "c"), 21, np.arange(21) % 3 > 0


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(store, "CHUNK", (2, 8))


def values(seed=0):
    Y = np.random.default_rng(seed).standard_normal((len(NAMES), N_ROWS))
    Y[1, 4:13] = np.nan
    return Y


def content(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_save__in_parts_gives_the_same_bytes(tmp_path):
    whole = Outcomes(NAMES, {4: values(), 6: values(1)}, {4: np.eye(3)}, IS_TRAINING, "people")
    whole.save(tmp_path / "whole")
    for n in (1, 5, 8, N_ROWS):
        parts = (whole.of_rows(slice(first, first + n)).values for first in range(0, N_ROWS, n))
        whole.save(tmp_path / str(n), parts)
        assert content(tmp_path / str(n)) == content(tmp_path / "whole")


def test_load__takes_what_is_asked_for(tmp_path):
    own = {"prevalence": np.array([0.1, np.nan, 0.3]), "components": ("u", "v"), "loadings": np.ones((3, 2))}
    saved = Outcomes(NAMES, {4: values(), 6: values(1)}, {4: np.eye(3)}, IS_TRAINING, "people", **own)
    saved.save(tmp_path / "outcomes")
    found = Outcomes.load(tmp_path / "outcomes")
    assert (found.names, found.rows, found.components) == (NAMES, "people", ("u", "v"))
    for name in ("is_training", "prevalence", "loadings"):
        np.testing.assert_array_equal(getattr(found, name), getattr(saved, name))
    np.testing.assert_array_equal(found.effects[4], np.eye(3))
    assert found.effects.keys() == {4}
    for size, Y in saved.values.items():
        stored = found.values[size]
        assert (len(stored), stored.shape, stored.ndim) == (3, (3, N_ROWS), 2)
        np.testing.assert_array_equal(stored, Y)
        for place in (1, slice(0, 2), (slice(1, 3), IS_TRAINING), (slice(None), slice(5, 18)), (2, 7)):
            np.testing.assert_array_equal(stored[place], Y[place])


def test_of_rows__are_in_memory(tmp_path):
    Y = values()
    Outcomes(NAMES, {4: Y, 6: Y}, {}, IS_TRAINING, "people").save(tmp_path / "outcomes")
    part = Outcomes.load(tmp_path / "outcomes").of_rows(slice(3, 12))
    np.testing.assert_array_equal(part.values[6], Y[:, 3:12])
    np.testing.assert_array_equal(part.is_training, IS_TRAINING[3:12])
    assert part.values[4] is part.values[6]


def test_save__what_is_the_same_for_all_variant_sets_is_written_once(tmp_path):
    Y = values()
    for name, second, n_arrays in (("once", Y, 1), ("twice", Y.copy(), 2)):
        Outcomes(NAMES, {4: Y, 6: second}, {}, IS_TRAINING, "people").save(tmp_path / name)
        found = Outcomes.load(tmp_path / name)
        np.testing.assert_array_equal(found.values[4], Y)
        np.testing.assert_array_equal(found.values[6], Y)
        assert len(list((tmp_path / name).glob("values*"))) == n_arrays


@pytest.mark.parametrize("change", ["bit", "cut", "missing", "metadata"])
def test_load__raise_on_damage(tmp_path, change):
    Outcomes(NAMES, {4: values()}, {}, IS_TRAINING, "people").save(tmp_path / "outcomes")
    chunk = tmp_path / "outcomes" / "values" / "1.2"
    content = bytearray(chunk.read_bytes())
    if change == "bit":
        content[len(content) // 2] ^= 1
        chunk.write_bytes(content)
    elif change == "cut":
        chunk.write_bytes(content[:3])
    elif change == "missing":
        chunk.unlink()
    else:
        attributes = tmp_path / "outcomes" / ".zattrs"
        attributes.write_text(attributes.read_text().replace("people", "haplotypes"))
    with refused("store-damaged"):
        np.asarray(Outcomes.load(tmp_path / "outcomes").values[4])


def test_load__raise_without_its_terms(tmp_path):
    Outcomes(NAMES, {4: values()}, {}, IS_TRAINING, "people").save(tmp_path / "outcomes")
    terms = tmp_path / "outcomes" / store.TERMS
    terms.write_bytes(terms.read_bytes().replace(b"\x01\x01", b"\x01\x00", 1))
    with refused("file-not-as-written"):
        Outcomes.load(tmp_path / "outcomes")
    terms.unlink()
    with refused("file-not-as-written"):
        Outcomes.load(tmp_path / "outcomes")


def test_load__raise_on_what_is_no_store(tmp_path):
    with refused("not-a-store"):
        Outcomes.load(tmp_path / "nothing")
