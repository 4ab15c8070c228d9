"""Releases draw the integers, charge the events and write the bytes that the table holds digests of."""

import csv
from pathlib import Path

import pytest

from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.privacy.accounting.events import MECHANISM_VERSION
from dpgrs.statement.schema import FORMAT_VERSION
from dpgrs.verify.bundle import verify_release
from golden_releases import CASES, release

TABLE, TOLERANCE, DIGITS = Path(__file__).parents[1] / "golden_releases.tsv", 1e-9, 12
# The number with which each kind of item may change, and what an item is of a release.
VERSIONS = dict.fromkeys(("key", "drawn", "event", "identity"), ("MECHANISM_VERSION", MECHANISM_VERSION))
VERSIONS |= dict.fromkeys(("file", "numbers"), ("FORMAT_VERSION", FORMAT_VERSION))
WORDS = {
    "key": "what keys the noise of {}",
    "drawn": "the noisy integers of {}",
    "event": "the event of {}",
    "identity": "the ledger's identity of the {}",
    "file": "the file {}",
    "numbers": "the numbers of the file {}",
}
SAID = f'A release differs from tests/{TABLE.name} (docs/development.md, "Bytes that must not change"):'


def read_table():
    """Return what the table has of each case, a dict of (kind, name) to (version, value)."""
    found = {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        for one in csv.DictReader(file, delimiter="\t"):
            found.setdefault(one["case"], {})[one["kind"], one["name"]] = int(one["version"]), one["value"]
    return found


def write_table(table):
    lines = [("case", "kind", "name", "version", "value")]
    for own in CASES:
        lines += [(own, *key, *entry) for key, entry in table.get(own, {}).items()]
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(lines)


def as_text(value):
    return value if isinstance(value, str) else " ".join(f"{number:.{DIGITS}g}" for number in value)


def is_equal(kind, value, stated):
    """Tell whether an item is what the table states; numbers within `TOLERANCE` of their norm."""
    if kind != "numbers":
        return value == stated
    (n, norm, mixed), (n_stated, *held) = value, map(float, stated.split())
    return n == n_stated and max(abs(norm - held[0]), abs(mixed - held[1])) <= TOLERANCE * norm


def differences(items, stated):
    """Compare the items of a release with its lines of the table.

    Returns
    -------
    changed : list of str, what may not differ.
    waiting : list of str, what a run with `--write-goldens` writes.
    """
    changed, waiting = [], []
    for kind, name in dict.fromkeys([*stated, *items]):
        what, (number, current) = WORDS[kind].format(name), VERSIONS[kind]
        version, value = stated.get((kind, name), (None, None))
        got = items.get((kind, name))
        if version not in (None, current):
            waiting.append(f"{what}: the table is of {number} {version}, the code of {current}")
        elif value is None:
            waiting.append(f"{what}: the table lacks it")
        elif got is None:
            changed.append(f"{what}, of {number} {version}, must be there")
        elif not is_equal(kind, got, value):
            changed.append(f"{what}, of {number} {version}, must be {value}, got {as_text(got)}")
    return changed, waiting


def written_anew(items, stated):
    """Return the lines of a case with all that may be written: what is new, or of a lower version."""
    kept = {key: entry for key, entry in stated.items() if entry[0] == VERSIONS[key[0]][1]}
    return {key: (VERSIONS[key[0]][1], as_text(value)) for key, value in items.items()} | kept


@pytest.mark.parametrize("name", CASES)
def test_release__is_that_of_the_table(name, tmp_path, monkeypatch, request):
    (tmp_path / "private").mkdir(mode=0o700)
    items, table = release(tmp_path / "private", monkeypatch, CASES[name]), read_table()
    stated = table.get(name, {})
    changed, waiting = differences(items, stated)
    if request.config.getoption("--write-goldens"):
        write_table(table | {name: written_anew(items, stated)})
        waiting = []
    told = "\n".join(f"  {name}: {line}" for line in [*changed, *waiting])
    assert not told, f"{SAID}\n{told}"
    verify_release(tmp_path / "private" / "bundle")


CHANGES = [
    ("key", "gram", "what keys the noise of gram, of MECHANISM_VERSION {}, must be {}, got other"),
    ("drawn", "gram", "the noisy integers of gram, of MECHANISM_VERSION {}, must be {}, got other"),
    ("event", "count", "the event of count, of MECHANISM_VERSION {}, must be {}, got other"),
    (
        "identity",
        "outcomes",
        "the ledger's identity of the outcomes, of MECHANISM_VERSION {}, must be {}, got other",
    ),
    ("file", "registry.yaml", "the file registry.yaml, of FORMAT_VERSION {}, must be {}, got other"),
]


@pytest.mark.parametrize(("kind", "name", "line"), CHANGES)
def test_differences__names_what_changed_and_by_which_number_it_may(kind, name, line):
    stated = read_table()["reusecov-gauss"]
    items = {
        key: value if key[0] != "numbers" else [*map(float, value.split())]
        for key, (_, value) in stated.items()
    }
    assert differences(items, stated) == ([], [])
    version, value = stated[kind, name]
    assert differences(items | {(kind, name): "other"}, stated) == ([line.format(version, value)], [])
    without = {key: one for key, one in items.items() if key != (kind, name)}
    assert len(differences(without, stated)[0]) == 1
    # What is of a lower version, or new, waits to be written; what is written stays as it is.
    assert len(differences(items, stated | {(kind, name): (version - 1, value)})[1]) == 1
    changed = items | {(kind, name): "other"}
    assert written_anew(changed, stated) == stated
    assert written_anew(changed, stated | {(kind, name): (version - 1, value)})[kind, name] == (
        version,
        "other",
    )


@pytest.mark.parametrize(("by", "is_seen"), [(1e-11, False), (1e-8, True)])
def test_differences__of_numbers_are_those_above_the_last_digits(by, is_seen):
    stated = {("numbers", "constants.tsv"): (FORMAT_VERSION, "3 0.5 0.25")}
    changed, _ = differences({("numbers", "constants.tsv"): [3, 0.5 + by, 0.25]}, stated)
    assert bool(changed) == is_seen


def test_table__is_of_these_cases_alone():
    assert [*read_table()] == [*CASES], f"tests/{TABLE.name} must have these cases: run `make golden`"


def test_cases__are_of_every_method_under_each_protection():
    wanted = {
        (method, str(protection))
        for method in methods_that("may_be_released")
        for protection in METHODS[method].protections
    }
    found = {(own.method, *own.sections["privacy"].get("protection", ["full"])) for own in CASES.values()}
    assert found == wanted
