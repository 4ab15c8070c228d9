"""What a centre may send that is no sum: everybody who has the public key can encrypt what they like."""

import struct
import zipfile
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest

from centres import CENTRES, D, changed_gram, set_entry, sums
from dpgrs.errors import UsageError
from dpgrs.io.files import arrays_as_bytes
from dpgrs.privacy.age_files import create_age_key, encrypted
from dpgrs.steps.export_sums import combine
from dpgrs.study.centre_sums import CentreSums, combined
from refused import refused

NORTH, SOUTH = (sums(CENTRES[name], name=name) for name in ("north", "south"))


def changed_cross(part, column, value):
    """Return sums with another X'Y of an outcome."""
    ((key, clipped),) = part.statistics.clipped.items()
    cross = clipped.cross.copy()
    cross[1, column] = value
    return replace(part, statistics=replace(part.statistics, clipped={key: replace(clipped, cross=cross)}))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda part: changed_gram(part, set_entry(0, 0, -1)),
        lambda part: changed_gram(part, set_entry(0, 1, 2**60)),
        lambda part: changed_gram(part, set_entry(0, 0, 2**40)),
        lambda part: changed_gram(part, set_entry(D, D, 2**22)),
        lambda part: changed_gram(part, set_entry(0, 1, -(2**63))),
        lambda part: changed_gram(part, lambda gram: gram + np.triu(gram, 1)),
        lambda part: changed_gram(part, lambda gram: gram.astype(float)),
        lambda part: changed_gram(part, lambda gram: gram[:-1]),
        lambda part: changed_cross(part, 0, 2**40),
        lambda part: changed_cross(part, 1, -(2**63)),
        lambda part: changed_cross(part, D, 2**40),
        lambda part: replace(part, statistics=replace(part.statistics, outcome_bound=np.inf)),
        lambda part: replace(part, statistics=replace(part.statistics, n_rows=-1)),
        lambda part: replace(part, statistics=replace(part.statistics, n_rows=3)),
    ],
)
def test_load__raise_on_impossible_sums(spoil):
    with refused("sums-impossible"):
        CentreSums.load("a.age", content=spoil(sums()).as_bytes())


def test_load__bounds_cross_products_to_the_last_unit():
    part = sums(slice(1, 2))
    ((_, clipped),) = part.statistics.clipped.items()
    # Of one person X'X is a square, and X'Y is at most its root times the bound.
    assert part.statistics.n_rows == 1
    most = int(np.sqrt(clipped.gram[0, 0])) * int(min(clipped.outcome_norm, 2.5) * 2**16)
    observed = part.statistics.n_observed.copy()
    part = replace(part, statistics=replace(part.statistics, n_observed=np.ones_like(observed)))
    CentreSums.load("a.age", content=changed_cross(part, 0, -most).as_bytes())
    for entry in (most + 1, -most - 1):
        with refused("sums-impossible"):
            CentreSums.load("a.age", content=changed_cross(part, 0, entry).as_bytes())
    none = replace(part, statistics=replace(part.statistics, n_observed=0 * observed))
    with refused("sums-impossible"):
        CentreSums.load("a.age", content=changed_cross(none, 0, 1).as_bytes())


def archive(arrays, *, compression=zipfile.ZIP_STORED, claimed=None):
    """Return arrays as a file of them, the last perhaps with a head of another shape."""
    content = BytesIO()
    with zipfile.ZipFile(content, "w", compression) as file:
        for name, array in arrays.items():
            member = BytesIO()
            np.lib.format.write_array(member, np.asanyarray(array))
            file.writestr(f"{name}.npy", member.getvalue())
        if claimed is not None:
            head = repr({"descr": claimed[0], "fortran_order": False, "shape": claimed[1]}).encode()
            file.writestr("exports.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
    return content.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        archive(SOUTH.arrays(), compression=zipfile.ZIP_DEFLATED),
        archive(SOUTH.arrays(), claimed=("<i8", (2**45,))),
        archive(SOUTH.arrays(), claimed=("<U0", (2**45,))),
        archive(SOUTH.arrays(), claimed=("|O", (0,))),
        archive(SOUTH.arrays() | {"genotypes": np.arange(10)}),
        archive(SOUTH.arrays() | {"people": np.array([0, 3, 9])}),
        archive(SOUTH.arrays() | {"clipped_values/7": np.array([1, 2, 3])}),
        archive(SOUTH.arrays() | {"cross/\u0667": np.zeros((3, 8), dtype=np.int64)}),
        b"\x80\x04N.",
        b"",
    ],
)
def test_load__raise_on_what_holds_other_arrays_than_it_says(content):
    with refused("arrays-not-plain", "`a.age`"):
        CentreSums.load("a.age", content=content)


def test_load__raise_on_an_array_that_is_there_twice():
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = archive(SOUTH.arrays() | {"exports": np.array(["0" * 64])}, claimed=("<i8", (0,)))
    with refused("arrays-not-plain"):
        CentreSums.load("a.age", content=content)


@pytest.mark.parametrize(
    "arrays",
    [
        {"centre_names": np.array(["\x1b[2Ksouth"])},
        {"centre_names": np.array(["south: SHA-256 abc"])},
        {"centre_names": np.array([], dtype="<U1")},
        {"centre_names": np.array(["south", "South"])},
        {"exports": np.array(["abc"])},
        {"exports": np.array(["0" * 64] * 2)},
        {"centre_terms": np.array("[" * 100_000)},
        {"centre_terms": np.array("[1]")},
    ],
)
def test_load__raise_on_names_and_terms_that_none_writes(arrays):
    with refused("not-sums-of-centres"):
        CentreSums.load("a.age", content=arrays_as_bytes(SOUTH.arrays() | arrays))


def test_combined__raise_on_one_name_in_two_cases_and_more_terms():
    with refused("centre-twice", "north"):
        combined([("a.age", NORTH), ("b.age", replace(SOUTH, centres=("North",)))])
    more = replace(SOUTH, public_terms=SOUTH.public_terms | {"privacy.delta": "1"})
    for pair in ((NORTH, more), (more, NORTH)):
        with refused("sums-of-other-terms", "privacy.delta"):
            combined(zip("ab", pair, strict=True))


def test_sums__hold_nothing_beyond_their_bounds():
    assert NORTH.statistics.gram is None
    assert NORTH.statistics.cross == {}
    assert sums(bounds="worst-case").statistics.gram is not None


def test_combine__raise_on_a_place_that_is_shared_or_taken(tmp_path):
    folder = tmp_path
    key, export = folder / "secret" / "key", folder / "north.age"
    public = create_age_key(key)
    export.write_bytes(encrypted(NORTH.as_bytes(), public_key=public))
    before = key.read_bytes(), export.read_bytes()
    (folder / "link").symlink_to(key)
    for output in (key, export, folder / "link"):
        with refused("output-over-input", "`--output`", error=UsageError):
            combine([export], key=key, output=output)
    (folder / "clone" / ".git").mkdir(parents=True)
    for output in (folder / "clone" / "sums.npz", folder / "results" / "sums.npz"):
        with refused("path-not-private", "`--output`", error=UsageError):
            combine([export], key=key, output=output)
    assert (key.read_bytes(), export.read_bytes()) == before
    combine([export], key=key, output=folder / "sums.npz")
