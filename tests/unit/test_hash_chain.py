import errno
import fcntl
import hashlib
import itertools
import json
import os
import resource
from contextlib import nullcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.privacy.digests import canonical, digest
from dpgrs.privacy.ledger.hash_chain import (
    GENESIS,
    appending_to,
    creating_chain,
    head_path,
    reading_chain,
    reading_files,
    repair,
)
from dpgrs.privacy.ledger.verify import verify_ledger
from ledger_requests import OUTPUT, new_ledger, reserve
from refused import refused

N_ENTRIES = 5
READERS = pytest.mark.parametrize(
    "read", [lambda path: entries_of(path), verify_ledger], ids=["read", "verify"]
)


def entries_of(path):
    with reading_chain(path) as chain:
        return chain.entries


@pytest.fixture(scope="module", autouse=True)
def _closed():
    """Let nobody else open what is written here: a ledger must be closed."""
    earlier = os.umask(0o077)
    yield
    os.umask(earlier)


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """The path, the bytes and the head of a ledger with an entry of every kind."""
    ledger = new_ledger(tmp_path_factory.mktemp("chain"))
    ledger.complete(reserve(ledger, note='é "hash":"x",'), OUTPUT)
    reserve(ledger, mu="0.1")
    return ledger.path, ledger.path.read_bytes(), head_path(ledger.path).read_bytes()


@pytest.fixture
def copy(chain, tmp_path):
    """A copy of that ledger, to be damaged."""
    path = tmp_path / "cohort.jsonl"
    path.write_bytes(chain[1])
    head_path(path).write_bytes(chain[2])
    return path


def test_append__lines_are_canonical_json_bound_to_the_line_before(chain):
    previous = GENESIS
    for number, line in enumerate(chain[1].splitlines()):
        entry = json.loads(line)
        assert (entry["number"], entry["previous"]) == (number, previous)
        previous = entry.pop("hash")
        text = json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert previous == hashlib.sha256(text.encode()).hexdigest()
    assert number == N_ENTRIES - 1
    assert json.loads(chain[2]) == {"entries": N_ENTRIES, "hash": previous}


def test_append__only_its_owner_can_open_the_files(tmp_path):
    folder = tmp_path / "a" / "private"
    earlier = os.umask(0)  # the modes must not rest on the user's umask
    try:
        path = new_ledger(folder).path
    finally:
        os.umask(earlier)
    modes = [one.stat().st_mode & 0o777 for one in (folder, path, head_path(path))]
    assert modes == [0o700, 0o600, 0o600]


@pytest.mark.parametrize("is_partial", [False, True], ids=["refused", "partial"])
@pytest.mark.parametrize("at", range(5))
def test_append__full_disk_takes_the_entry_back(copy, chain, monkeypatch, at, is_partial):
    """Head and line are written and synced, then the head is renamed: a disk may be full at any of these."""
    calls = itertools.count()

    def limited(call):
        def run(*arguments):
            if next(calls) != at:
                return call(*arguments)
            if is_partial and call is write:
                return call(arguments[0], arguments[1][:7])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        return run

    write = os.write
    with appending_to(copy) as opened:
        opened.append({"kind": "before"})
        before = copy.read_bytes()
        for name in ("write", "fsync", "replace"):
            monkeypatch.setattr(os, name, limited(getattr(os, name)))
        with refused("ledger-not-writable"):
            opened.append({"kind": "test"})
        monkeypatch.undo()
        assert copy.read_bytes() == before
        assert before.startswith(chain[1])
        opened.append({"kind": "test"})
    assert verify_head(copy) == len(entries_of(copy)) == N_ENTRIES + 2


def verify_head(path):
    return json.loads(head_path(path).read_bytes())["entries"]


def test_append__the_disk_of_the_ledger_full_in_earnest(tmp_path):
    ledger = new_ledger(tmp_path, mu_squared="100")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, limits[1]))  # the kernel writes what fits of a line
    try:
        with refused("ledger-not-writable"):
            all(reserve(ledger, mu="0.1", number=number) for number in range(20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    n_entries = verify_ledger(ledger.path)["entries"]
    assert 2 < n_entries < 20
    assert verify_head(ledger.path) == n_entries
    reserve(ledger, mu="0.1", number=30)
    assert len(entries_of(ledger.path)) == n_entries + 1


@pytest.fixture
def steps(copy, monkeypatch):
    """What is done to a ledger's files, in order: the name of a call, and what it is done to."""
    done, own = [], {copy.stat().st_ino: "ledger", copy.parent.stat().st_ino: "folder"}

    def noted(name, call):
        def run(target, *rest):
            is_open = isinstance(target, int)
            done.append((name, own.get(os.fstat(target).st_ino, "head") if is_open else "head"))
            return call(target, *rest)

        return run

    for name in ("write", "fsync", "replace", "ftruncate"):
        monkeypatch.setattr(os, name, noted(name, getattr(os, name)))
    return done


NEW_HEAD = [("write", "head"), ("fsync", "head")]
IN_PLACE = [("replace", "head"), ("fsync", "folder")]


def test_append__is_safe_on_disk_before_the_head_says_so(copy, steps):
    with appending_to(copy) as opened:
        opened.append({"kind": "test"})
        assert steps == [*NEW_HEAD, ("write", "ledger"), ("fsync", "ledger"), *IN_PLACE]


def test_settle__what_the_head_did_not_know_is_safe_on_disk_before_it_does(copy, chain, steps):
    cut_after_a_crash(copy, chain, size=None)
    with appending_to(copy):
        assert steps == [("fsync", "ledger"), *NEW_HEAD, *IN_PLACE]


def test_repair__is_safe_on_disk(copy, chain, steps):
    assert repair(copy) == 0
    assert steps == []
    cut_after_a_crash(copy, chain, size=9)
    assert repair(copy) == 9
    assert steps == [("ftruncate", "ledger"), ("fsync", "ledger")]


def test_open__writers_are_alone_and_readers_are_not(copy, tmp_path):
    for path, opens, is_shared in (
        (copy, appending_to, False),
        (tmp_path / "new.jsonl", creating_chain, False),
        (copy, reading_chain, True),
        (copy, reading_files, True),
    ):
        with opens(path), path.open("rb") as other:
            with nullcontext() if is_shared else pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
            with pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


@READERS
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o602, 0o777])
@pytest.mark.parametrize("is_head", [False, True])
def test_open__raise_on_a_ledger_that_others_can_open(copy, read, mode, is_head):
    path = head_path(copy) if is_head else copy
    path.chmod(mode)
    with refused("ledger-not-closed", path, f"{mode:04o}", "chmod"):
        read(copy)
    with refused("ledger-not-closed"), appending_to(copy):
        pass
    path.chmod(0o600)
    read(copy)


@READERS
def test_open__raise_on_a_ledger_of_somebody_else(copy, read, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: copy.stat().st_uid + 1)
    with refused("ledger-not-closed"):
        read(copy)


@READERS
@pytest.mark.parametrize("is_head", [False, True])
def test_open__raise_on_a_pipe(copy, read, is_head):
    path = head_path(copy) if is_head else copy
    path.unlink()
    os.mkfifo(path, 0o600)
    with refused("ledger-not-a-file"):
        read(copy)
    with refused("ledger-not-a-file"), appending_to(copy):
        pass


def is_refused(path):
    """Return whether both readers refuse a ledger, in one line each."""
    refusals = 0
    for read in (entries_of, verify_ledger):
        try:
            read(path)
        except DpgrsError as error:
            refusals += "\n" not in str(error)
    return refusals == 2


def test_tampering__every_byte_is_found(copy):
    for path in (copy, head_path(copy)):
        with path.open("r+b", buffering=0) as file:
            for i, byte in enumerate(path.read_bytes()):
                os.pwrite(file.fileno(), bytes([byte ^ 1]), i)
                assert is_refused(copy), i
                os.pwrite(file.fileno(), bytes([byte]), i)
    assert not is_refused(copy)


@settings(deadline=None)
@given(st.data())
def test_tampering__any_edit_is_found(chain, tmp_path_factory, data):
    whole = chain[1]
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, len(whole)))
    new = data.draw(st.one_of(st.binary(max_size=30), st.just(whole[start:stop] * 2), st.just(whole)))
    changed = whole[:start] + new + whole[stop:]
    assert is_refused(scratch(tmp_path_factory, changed, chain[2])) == (changed != whole)


@settings(deadline=None)
@given(st.lists(st.integers(0, N_ENTRIES - 1), max_size=N_ENTRIES + 1))
def test_tampering__lines_lost_moved_or_repeated_are_found(chain, tmp_path_factory, order):
    lines = chain[1].splitlines(keepends=True)
    changed = b"".join(lines[i] for i in order)
    assert is_refused(scratch(tmp_path_factory, changed, chain[2])) == (changed != chain[1])


def scratch(tmp_path_factory, data, head):
    """Write a ledger to a file that examples share."""
    path = tmp_path_factory.getbasetemp() / "scratch.jsonl"
    path.write_bytes(data)
    head_path(path).write_bytes(head)
    return path


@READERS
def test_tampering__lost_or_foreign_head_is_found(copy, chain, tmp_path, read):
    head_path(copy).unlink()
    with pytest.raises(DpgrsError, match="head"):
        read(copy)
    older = chain[1].splitlines()[N_ENTRIES - 3]
    head_path(copy).write_bytes(
        canonical({"entries": N_ENTRIES - 2, "hash": json.loads(older)["hash"]}) + b"\n"
    )
    with pytest.raises(DpgrsError, match="head"):
        read(copy)


@pytest.mark.parametrize("changed", [{"number": 9}, {"previous": "0" * 64}])
def test_tampering__a_line_of_another_place_is_found(copy, chain, changed):
    """Its own hash is right, and the next line and the head follow it."""
    *lines, line, last = map(json.loads, chain[1].splitlines())
    line = sealed(line | changed)
    last = sealed(last | {"previous": line["hash"]})
    copy.write_bytes(b"".join(canonical(entry) + b"\n" for entry in (*lines, line, last)))
    head_path(copy).write_bytes(canonical({"entries": N_ENTRIES, "hash": last["hash"]}) + b"\n")
    assert is_refused(copy)
    with refused("ledger-line-wrong", N_ENTRIES - 1):
        verify_ledger(copy)


def sealed(entry):
    entry = {name: value for name, value in entry.items() if name != "hash"}
    return entry | {"hash": digest(entry)}


@READERS
def test_missing__names_the_way_out(tmp_path, read):
    with refused("ledger-missing", error=UsageError):
        read(tmp_path / "cohort.jsonl")
    assert list(tmp_path.iterdir()) == []


def cut_after_a_crash(path, chain, size):
    """Leave what a power cut inside the last write leaves: fewer bytes, and the head of the entry before."""
    lines = chain[1].splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:size])
    last = json.loads(lines[-2])["hash"]
    head_path(path).write_bytes(canonical({"entries": N_ENTRIES - 1, "hash": last}) + b"\n")
    return len(lines[-1])


def test_torn__a_cut_anywhere_is_refused_then_repaired(copy, chain):
    n_bytes = cut_after_a_crash(copy, chain, size=1)
    for size in [1, *range(2, n_bytes, 29), n_bytes - 2, n_bytes - 1]:
        cut_after_a_crash(copy, chain, size=size)
        with refused("ledger-write-unfinished"):
            entries_of(copy)
        with refused("ledger-write-unfinished"):
            verify_ledger(copy)
        assert repair(copy) == size
        assert len(entries_of(copy)) == N_ENTRIES - 1
        assert repair(copy) == 0


def test_torn__zeros_of_a_power_cut_are_torn(copy, chain):
    cut_after_a_crash(copy, chain, size=0)
    with copy.open("ab") as file:
        file.write(bytes(200) + b'"}\n')
    assert repair(copy) == 203
    assert verify_ledger(copy)["entries"] == N_ENTRIES - 1


def test_torn__an_entry_that_the_head_knows_is_tampering_and_never_cut(copy, chain):
    copy.write_bytes(chain[1][:-20])
    for action in (entries_of, repair):
        with refused("ledger-damaged"):
            action(copy)
    assert copy.read_bytes() == chain[1][:-20]


@pytest.mark.parametrize(
    "content", [b"something else\n", b"no line", b'{"of": "something else"}\n', b"[]\n", b'"text"\n']
)
def test_torn__a_file_that_is_no_ledger_is_never_cut(tmp_path, content):
    other = tmp_path / "other.txt"
    other.write_bytes(content)
    for action in (entries_of, repair):
        with refused("ledger-damaged", "line 1"):
            action(other)
    assert other.read_bytes() == content


def test_killed_before_the_head__entry_counts_and_the_head_follows(copy, chain):
    cut_after_a_crash(copy, chain, size=None)
    assert len(entries_of(copy)) == verify_ledger(copy)["entries"] == N_ENTRIES
    with appending_to(copy):
        pass
    assert head_path(copy).read_bytes() == chain[2]


def test_killed_before_the_first_head__the_entry_counts(copy, chain):
    copy.write_bytes(chain[1].splitlines(keepends=True)[0])
    head_path(copy).unlink()
    assert len(entries_of(copy)) == verify_ledger(copy)["entries"] == 1
    copy.write_bytes(b"".join(chain[1].splitlines(keepends=True)[:2]))
    assert is_refused(copy)


def test_creating__raise_on_existing_or_lost_ledger(copy, chain):
    with refused("ledger-exists", error=UsageError), creating_chain(copy):
        pass
    assert copy.read_bytes() == chain[1]
    copy.unlink()
    with refused("ledger-lost", error=UsageError), creating_chain(copy):
        pass
    assert not copy.exists()


def test_canonical__one_text_per_value():
    assert canonical({"b": [1, "é"], "a": None}) == '{"a":null,"b":[1,"é"]}'.encode()
    assert digest({"a": 1}) == hashlib.sha256(b'{"a":1}').hexdigest()
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical(float("nan"))
