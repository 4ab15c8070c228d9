import gc
import hashlib
import os
import socket
import warnings
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import pytest

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import (
    LazyArrays,
    load_arrays,
    read_bytes,
    read_table,
    replacing,
    require_regular,
    save_arrays,
    write_table,
    write_text,
)
from dpgrs.io.json_files import read_json, write_json
from dpgrs.io.loadings import read_loadings, write_loadings
from dpgrs.io.sites import read_chosen_sites, write_sites
from dpgrs.io.tables.people import find_people
from dpgrs.io.tables.tables import read_populations
from dpgrs.steps.collect_tables import collect_tables
from flips import after_flips
from refused import refused


def test_replacing__file(tmp_path):
    target = tmp_path / "new" / "file.txt"
    with replacing(target) as temporary:
        temporary.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert [path.name for path in target.parent.iterdir()] == ["file.txt"]


def test_replacing__empty_folder(tmp_path):
    target = tmp_path / "folder"
    target.mkdir()
    with replacing(target) as temporary:
        temporary.mkdir()
        (temporary / "new").touch()
    assert [path.name for path in target.iterdir()] == ["new"]


def test_replacing__raise_on_a_folder_that_holds_something(tmp_path):
    (tmp_path / "thesis").write_text("years of work")
    with refused("folder-not-empty", error=UsageError), replacing(tmp_path):
        pytest.fail("The folder was about to be replaced.")
    assert (tmp_path / "thesis").read_text() == "years of work"


def test_replacing__what_a_killed_run_left_is_removed(tmp_path):
    left = tmp_path / ".folder.partial"
    left.mkdir()
    (left / "half").touch()
    with replacing(tmp_path / "folder") as temporary:
        temporary.mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.parametrize("make", ["mkdir", "touch"])
def test_replacing__failure_leaves_what_was_there(tmp_path, make):
    target = tmp_path / "file.txt"
    target.write_text("old")

    def fail():
        with replacing(target) as temporary:
            getattr(temporary, make)()
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert [path.name for path in tmp_path.iterdir()] == ["file.txt"]
    assert target.read_text() == "old"


def test_save_arrays__round_trip_and_same_bytes(tmp_path):
    arrays = {"a/1": np.arange(5), "names": np.array(["x", "yé"])}
    digests = set()
    for name in ("first.npz", "second.npz"):
        save_arrays(tmp_path / name, arrays)
        digests.add(hashlib.sha256((tmp_path / name).read_bytes()).hexdigest())
    assert len(digests) == 1
    loaded = load_arrays(tmp_path / "first.npz")
    assert list(loaded) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array)


def test_write_table__text(tmp_path):
    write_table(tmp_path / "t.tsv", pd.DataFrame({"a": [1, 2], "b": [0.1 + 0.2, np.nan], "c": ["x", None]}))
    assert (tmp_path / "t.tsv").read_text() == "a\tb\tc\n1\t0.3\tx\n2\t\t\n"


DAMAGED = (b"", b"text", b"a\tb\n1\t2\n3", b"a\tc\n1\t2\n", b"a\tb\n1\t\xff\n", b"PK broken", None)


@pytest.mark.parametrize("content", DAMAGED)
@pytest.mark.parametrize("read", [load_arrays, partial(read_table, required=["a", "b"])])
def test_readers__raise_on_another_file(tmp_path, read, content):
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    with refused("file-not-as-written"):
        read(tmp_path / "file")


@pytest.mark.parametrize(("offset", "bit"), [(8, 1), (8, 1 << 5), (10, 1 << 3)])
def test_load_arrays__raise_on_a_flipped_bit_of_the_directory(tmp_path, offset, bit):
    save_arrays(tmp_path / "a.npz", {"a": np.arange(3)})
    data = bytearray((tmp_path / "a.npz").read_bytes())
    data[data.rindex(zipfile.stringCentralDir) + offset] ^= bit
    (tmp_path / "a.npz").write_bytes(data)
    with refused("file-not-as-written"):
        load_arrays(tmp_path / "a.npz")


SITES = pd.DataFrame({"contig": ["1", "1"], "position": [5, 9], "id": [".", "rs1"], "ref": ["A", "A"]})
SITES = SITES.assign(alt=["C", "G"], frequency=[0.1, 0.25], rank=[1, 0])
LOADINGS = np.array([[0.5, -1 / 3]])
PLACES = pd.DataFrame({"sample": ["a", "b"], "population": ["GBR", "YRI"]})


def collected(path):
    collect_tables([path], output=path.with_name("all.tsv"))
    return path.with_name("all.tsv").read_text()


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (lambda path: write_table(path, SITES), read_table),
        (lambda path: write_table(path, SITES), collected),
        (lambda path: write_sites(path, SITES), read_chosen_sites),
        (lambda path: write_loadings(path, SITES, SITES["frequency"], LOADINGS), read_loadings),
        (lambda path: write_table(path, PLACES), read_populations),
        (lambda path: write_json(path, {"mode": "release", "bounds": [1, 2.5]}), read_json),
        (lambda path: write_text(path, "a\nb\n"), lambda path: find_people(path, ["a", "b", "c"])),
    ],
    ids=["table", "collected", "sites", "loadings", "populations", "json", "people"],
)
def test_write_text__a_flipped_bit_anywhere_is_seen_when_it_is_read(tmp_path, write, read):
    path = tmp_path / "file"
    write(path)
    written = repr(read(path))
    # Of the line beside it nothing but the digest is read.
    for file, n_read in ((path, None), (path.with_name("file.sha256"), 64)):
        found = after_flips(file, lambda: repr(read(path)), places=lambda n: [*range(0, n, 4), n - 1])
        errors = [one for one in found if isinstance(one, DpgrsError)]
        assert len(errors) == (len(found) if n_read is None else n_read // 4)
        assert not any("\n" in str(one) for one in errors)
        assert all(one == written for one in found if isinstance(one, str))


def test_write_text__as_sha256sum_reads_it_and_anew(tmp_path):
    for text in ("old", "new"):
        write_text(tmp_path / "a.txt", text)
    digest = hashlib.sha256(b"new").hexdigest()
    assert (tmp_path / "a.txt.sha256").read_text() == f"{digest}  a.txt\n"
    (tmp_path / "a.txt.sha256").unlink()
    write_json(tmp_path / "b.json", {})
    (tmp_path / "b.json.sha256").unlink()
    assert read_json(tmp_path / "b.json") == {}  # as those of earlier versions


def test_require_regular__files_links_folders_and_nothing(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "link", ".", "absent"):
        require_regular(tmp_path / name)


def test_require_regular__raise_on_pipe_socket_and_device(tmp_path, monkeypatch):
    # The path of a socket may have 107 bytes only.
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "device").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as file:
        file.bind("socket")
        for name in ("pipe", "link", "device", "socket"):
            for read in (require_regular, read_bytes, read_table):
                with refused("not-a-regular-file", name):
                    read(tmp_path / name)


def test_lazy_arrays__close_their_file_if_they_are_in_a_cycle(tmp_path):
    save_arrays(tmp_path / "arrays.npz", {"array": np.arange(3)})

    def read_in_cycle():
        arrays = LazyArrays(tmp_path / "arrays.npz", {"name": "array"})
        cycle = [arrays]
        cycle.append(cycle)
        return arrays["name"].tolist()

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert read_in_cycle() == [0, 1, 2]
        gc.collect()
    assert [str(warning.message) for warning in seen] == []
