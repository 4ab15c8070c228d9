"""The digest of a store as it lies on disk."""

import numpy as np
import pytest

from dpgrs.io.outcomes import TERMS, Outcomes
from dpgrs.io.sealed_zarr import fingerprint

VALUES = np.random.default_rng(0).standard_normal((3, 2000))


def stored(path, values=VALUES):
    Outcomes(("a", "b", "c"), {5: values}, {}, np.ones(2000, dtype=bool), "people").save(path)
    return path


def test_fingerprint__is_that_of_equal_stores(tmp_path):
    first, second = (fingerprint(stored(tmp_path / name)) for name in ("first", "second"))
    assert first == second
    (tmp_path / "second" / ".snakemake_timestamp").touch()
    assert fingerprint(tmp_path / "second") == first


@pytest.mark.parametrize("what", ["value", "terms", "name", "absent"])
def test_fingerprint__is_another_of_any_change(tmp_path, what):
    path = stored(tmp_path / "outcomes.zarr")
    before, chunk = fingerprint(path), path / "values" / "0.0"
    if what == "value":
        other = VALUES.copy()
        other[1, 7] += 1e-9
        path = stored(tmp_path / "other.zarr", other)
        assert fingerprint(path) != before
    elif what == "terms":
        content = bytearray((path / TERMS).read_bytes())
        content[60] ^= 1
        (path / TERMS).write_bytes(content)
    elif what == "name":
        chunk.rename(path / "values" / "0.1")
    else:
        chunk.unlink()
    assert fingerprint(path) != before
