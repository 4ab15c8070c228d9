"""The files of a chain: how they are named, that they are closed again, and what is said of them."""

import re
from datetime import datetime
from pathlib import Path

import pytest

from dpgrs.privacy.ledger import hash_chain
from dpgrs.privacy.ledger.hash_chain import appending_to, creating_chain, head_path, reading_chain, repair
from refused import refused


@pytest.fixture
def path(tmp_path):
    with creating_chain(tmp_path / "chain.jsonl") as chain:
        chain.append({"kind": "first"})
    return tmp_path / "chain.jsonl"


def test_chain__a_path_may_be_text(tmp_path):
    path = str(tmp_path / "chain.jsonl")
    with creating_chain(path) as chain:
        chain.append({"kind": "first"})
    with appending_to(path) as chain:
        chain.append({"kind": "second"})
    assert repair(path) == 0
    with reading_chain(path) as chain:
        assert [entry["kind"] for entry in chain.entries] == ["first", "second"]


@pytest.mark.parametrize("links_head", [False, True])
def test_chain__by_a_link_and_by_its_own_path_is_one(path, tmp_path, links_head):
    """The head is replaced whenever an entry is added: a link to it would become a file of its own."""
    linked = tmp_path / "study" / "linked.jsonl"
    linked.parent.mkdir()
    linked.symlink_to(path)
    if links_head:
        (tmp_path / "study" / "linked.jsonl.head").symlink_to(head_path(path))
    for kind in ("second", "third"):
        with appending_to(linked) as chain:
            chain.append({"kind": kind})
    for one in (path, linked):
        with reading_chain(one) as chain:
            assert [entry["kind"] for entry in chain.entries] == ["first", "second", "third"]
    assert head_path(linked) == head_path(path)


def open_files():
    return sorted(one.name for one in Path("/proc/self/fd").iterdir())


def test_append__leaves_no_file_open(path):
    before = open_files()
    with appending_to(path) as chain:
        chain.append({"kind": "second"})
    assert open_files() == before


def test_append__tells_the_second_in_utc(path, monkeypatch):
    monkeypatch.setattr(hash_chain, "datetime", datetime)
    with appending_to(path) as chain:
        entry = chain.append({"kind": "second"})
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", entry["time"])


def test_append__a_clock_that_was_put_back_breaks_nothing(path, monkeypatch):
    class PutBack(datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(2000, 1, 1, tzinfo=tz)

    monkeypatch.setattr(hash_chain, "datetime", PutBack)
    with appending_to(path) as chain:
        chain.append({"kind": "second"})
    with reading_chain(path) as chain:
        first, second = chain.entries
    assert (first["kind"], second["kind"]) == ("first", "second")
    assert second["time"] < first["time"]


def test_read__names_the_head_that_does_not_fit(path):
    head_path(path).write_bytes(b"{}\n")
    with (
        refused("ledger-damaged", head_path(path)),
        reading_chain(path),
    ):
        pass


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_read__raise_on_a_line_too_deep_to_be_parsed(path, opening):
    path.write_bytes(opening * 100_000 + b"\n")
    with refused("ledger-damaged", "line 1"), reading_chain(path):
        pass
