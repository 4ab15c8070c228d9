"""Fetching against a server on the loopback address that cuts connections and spoils bytes."""

import errno
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.errors import DpgrsError, UsageError
from dpgrs.fetching import downloads
from dpgrs.fetching.files import fetch_file, fetch_manifest
from dpgrs.fetching.manifests import Entry, read_entries
from http_server import md5, serving, tree_line
from refused import refused

CONTENT = bytes(range(256)) * 40
PLACE = "/vol1/ftp/release/chr21.vcf.gz"
URL = f"https://example.org{PLACE}"
DIGEST = md5(CONTENT)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as running:
        running.files = {PLACE: CONTENT, "/md5.txt": f"{DIGEST}  chr21.vcf.gz\n".encode()}
        yield running


@pytest.fixture
def output(tmp_path):
    return tmp_path / "downloads" / "chr21.vcf.gz"


def fetch(server, output, **options):
    options = {"manifest": f"{server.address}/md5.txt", "progress": False, "pause": lambda _: None} | options
    return fetch_file(server.address + PLACE, output=output, **options)


def left(output):
    return sorted(path.name for path in output.parent.iterdir())


def only_line(error):
    assert "\n" not in str(error.value)
    return str(error.value)


def write_manifest(folder, text):
    path = folder / "manifest.txt"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("line", "size"),
    [
        (f"{DIGEST}  chr21.vcf.gz", None),
        (f"{DIGEST.upper()} *./chr21.vcf.gz", None),
        (f"chr21.vcf.gz {DIGEST}", None),
        (f"./chr21.vcf.gz\t{DIGEST}", None),
        (f"release/chr21.vcf.gz {DIGEST}", None),
        (tree_line("ftp/release/chr21.vcf.gz", CONTENT), len(CONTENT)),
        (tree_line("ftp/release/chr21.vcf.gz", CONTENT).replace("\t\n", "\r\n"), len(CONTENT)),
        (f"{'ab' * 32}  chr21.vcf.gz", None),
    ],
)
def test_read_entries__forms(tmp_path, line, size):
    folder = "ftp/release\tdirectory\t4096\tFri Mar 12 00:00:00 2021\t\t"
    text = f"# made up\n\n{folder}\n{'0' * 32}  r21.vcf.gz\n{line}\n"
    entry = read_entries(write_manifest(tmp_path, text), [URL])[URL]
    assert (entry.digest, entry.size) == ("ab" * 32 if "ab" * 32 in line else DIGEST, size)
    assert entry.algorithm == ("sha256" if "ab" * 32 in line else "md5")


def test_read_entries__path_tells_files_of_one_name_apart(tmp_path):
    names = ("ftp/old/chr21.vcf.gz", "chr21.vcf.gz", "release/chr21.vcf.gz", "lease/chr21.vcf.gz")
    lines = [f"{number:032x}  {name}\n" for number, name in enumerate(names)]
    found = read_entries(write_manifest(tmp_path, "".join(lines)), [URL, f"{URL}.tbi"])
    assert found == {URL: Entry("release/chr21.vcf.gz", f"{2:032x}")}


def test_read_entries__raise_on_two_checksums(tmp_path):
    text = f"{DIGEST}  chr21.vcf.gz\n" * 2
    assert read_entries(write_manifest(tmp_path, text), [URL])[URL].digest == DIGEST
    with refused("checksum-ambiguous", "got 2"):
        read_entries(write_manifest(tmp_path, f"{text}{'0' * 32}  chr21.vcf.gz\n"), [URL])


def test_read_entries__raise_on_what_is_no_manifest(tmp_path):
    with refused("manifest-empty"):
        read_entries(write_manifest(tmp_path, "<html>Not found</html>\n"), [URL])


def test_fetch_file__with_its_index(server, output):
    index = b"index"
    server.files |= {f"{PLACE}.tbi": index}
    server.files["/current.tree"] = "".join(
        tree_line(f"ftp/release/{name}", content)
        for name, content in (("chr21.vcf.gz", CONTENT), ("chr21.vcf.gz.tbi", index))
    ).encode()
    fetched = fetch(server, output, manifest=f"{server.address}/current.tree")
    assert output.read_bytes() == CONTENT
    assert (fetched["bytes"], fetched["md5"]) == (len(CONTENT), DIGEST)
    assert left(output) == ["chr21.vcf.gz", "chr21.vcf.gz.tbi"]


@pytest.mark.parametrize("fault", ["cut", "reset"])
@pytest.mark.parametrize("headers", [{}, {"ETag": None}, {"ETag": 'W/"1"'}])
def test_fetch_file__goes_on_after_a_broken_connection(server, output, fault, headers):
    server.headers = headers
    server.faults = {PLACE: [{fault: 1000}, {fault: 2000}]}
    fetch(server, output)
    assert output.read_bytes() == CONTENT
    assert server.ranges(PLACE) == [None, "bytes=1000-", "bytes=3000-"]
    assert left(output) == ["chr21.vcf.gz"]


def test_fetch_file__goes_on_in_another_run(server, output):
    server.faults = {PLACE: [{"cut": 1000}] + [{"status": 503}] * downloads.FRUITLESS}
    with refused("download-failed", "503") as error:
        fetch(server, output)
    assert "what came is kept" in only_line(error)
    assert left(output) == ["chr21.vcf.gz.part", "chr21.vcf.gz.part.version"]
    fetch(server, output)
    assert server.ranges(PLACE)[-1] == "bytes=1000-"
    assert output.read_bytes() == CONTENT


def test_fetch_file__begins_anew_when_the_file_has_changed(server, output):
    server.files[PLACE] = bytes(len(CONTENT))
    server.faults = {PLACE: [{"cut": 1000}] + [{"status": 503}] * downloads.FRUITLESS}
    with refused("download-failed"):
        fetch(server, output)
    server.files[PLACE] = CONTENT
    n_before = len(server.requests)
    fetch(server, output)
    assert output.read_bytes() == CONTENT
    # One request of the manifest and one of the file: what the server sent instead of the rest was the whole.
    assert len(server.requests) == n_before + 2


@pytest.mark.parametrize(
    ("has_ranges", "headers", "faults", "ranges"),
    [
        (False, {}, [{"cut": 1000}], [None, "bytes=1000-"]),
        (True, {}, [{"cut": 1000}, {"offset": 5}], [None, "bytes=1000-", None]),
        (True, {"Content-Length": None}, [], [None]),
    ],
    ids=["without ranges", "another range than asked for", "without a length"],
)
def test_fetch_file__from_odd_servers(server, output, has_ranges, headers, faults, ranges):
    server.has_ranges, server.headers, server.faults = has_ranges, headers, {PLACE: faults}
    fetch(server, output)
    assert server.ranges(PLACE) == ranges
    assert output.read_bytes() == CONTENT


@pytest.mark.parametrize("faults", [[{"corrupt": 7}], [{"cut": 1000, "corrupt": 7}, {}]])
def test_fetch_file__spoilt_bytes_are_fetched_once_more(server, output, faults):
    server.faults = {PLACE: faults}
    fetch(server, output)
    assert output.read_bytes() == CONTENT
    assert server.ranges(PLACE)[-1] is None
    assert left(output) == ["chr21.vcf.gz"]


def test_fetch_file__spoilt_twice(server, output):
    server.faults = {PLACE: [{"corrupt": 7}, {"corrupt": 8}]}
    with refused("download-checksum", DIGEST) as error:
        fetch(server, output)
    assert "thrown away" in only_line(error)
    assert left(output) == []
    assert len(server.ranges(PLACE)) == 2


def test_fetch_file__whole_part_of_a_killed_run(server, output):
    server.faults = {PLACE: [{"cut": 1000}] + [{"status": 503}] * downloads.FRUITLESS}
    with refused("download-failed"):
        fetch(server, output)
    output.with_name("chr21.vcf.gz.part").write_bytes(CONTENT)
    fetch(server, output)
    # The server had nothing to add (416).
    assert server.ranges(PLACE)[-1] == f"bytes={len(CONTENT)}-"
    assert output.read_bytes() == CONTENT


def test_fetch_file__one_that_is_there(server, output):
    fetch(server, output)
    fetch(server, output)
    assert len(server.ranges(PLACE)) == 1
    output.write_bytes(b"mine")
    with refused("file-checksum") as error:
        fetch(server, output)
    assert str(output) in only_line(error)
    assert output.read_bytes() == b"mine"


def test_fetch_file__raise_on_a_file_that_is_not_listed(server, output):
    server.files["/md5.txt"] = f"{DIGEST}  chr22.vcf.gz\n".encode()
    with refused("checksum-not-listed", "chr21.vcf.gz") as error:
        fetch(server, output)
    assert "/md5.txt`" in only_line(error)
    assert server.ranges(PLACE) == []


def test_fetch_file__raise_on_another_size(server, output):
    server.files["/md5.txt"] = tree_line("release/chr21.vcf.gz", CONTENT[1:]).encode()
    with refused("download-size", "got 10240", "10239"):
        fetch(server, output)
    assert left(output) == []


@pytest.mark.parametrize(
    ("status", "message"),
    [(404, "answered 404 Not Found. Correct the address."), (403, "not open to all"), (500, "answered 500")],
)
def test_fetch_file__raise_on_what_the_server_refuses(server, output, status, message):
    server.faults = {PLACE: [{"status": status}] * downloads.FRUITLESS}
    with pytest.raises(DpgrsError) as error:
        fetch(server, output)
    assert message in only_line(error)
    assert f"{server.address}{PLACE}" in str(error.value)


def test_fetch_file__raise_without_a_network(server, output, tmp_path):
    pauses = []
    manifest = write_manifest(tmp_path, f"{DIGEST}  chr21.vcf.gz\n")
    server.address = "http://127.0.0.1:1"
    with refused("download-failed") as error:
        fetch(server, output, manifest=manifest, pause=pauses.append)
    assert "refused" in only_line(error)
    assert pauses == [2, 4, 8, 16]


@pytest.mark.parametrize("location", ["ftp://127.0.0.1/x", "file:///etc/passwd"])
def test_fetch_file__follows_redirects_to_http_alone(server, output, location):
    server.files["/here"] = CONTENT
    server.faults = {PLACE: [{"status": 302, "location": "/here"}]}
    fetch(server, output)
    assert output.read_bytes() == CONTENT
    output.unlink()
    server.faults = {PLACE: [{"status": 302, "location": location}] * downloads.FRUITLESS}
    with pytest.raises(DpgrsError):
        fetch(server, output)
    assert not output.exists()


def test_redirects__never_from_https_to_http():
    asked = downloads.request.Request("https://example.org/a")
    with refused("redirect-not-https"):
        downloads._Redirects().redirect_request(asked, None, 302, "Found", {}, "http://example.org/a")


def test_fetch_file__raise_on_too_little_room(server, output, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=100))
    with refused("disk-full", "got 100", "10240"):
        fetch(server, output, manifest=write_manifest(output.parent.parent, f"{DIGEST}  chr21.vcf.gz\n"))


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "No space left on device. Make room"),
        (errno.EROFS, "Read-only file system. Name a place"),
    ],
)
def test_fetch_file__raise_on_what_the_disk_refuses(server, output, monkeypatch, number, message):
    opened = Path.open

    def open_full(path, mode="r", *arguments, **options):
        if path.suffix == ".part" and "a" in mode:
            raise OSError(number, os.strerror(number), str(path))
        return opened(path, mode, *arguments, **options)

    monkeypatch.setattr(Path, "open", open_full)
    with refused("file-not-writable") as error:
        fetch(server, output, manifest=write_manifest(output.parent.parent, f"{DIGEST}  chr21.vcf.gz\n"))
    assert message in only_line(error)


def test_fetch_file__raise_where_no_folder_can_be(server, tmp_path):
    (tmp_path / "file").write_text("")
    manifest = write_manifest(tmp_path, f"{DIGEST}  chr21.vcf.gz\n")
    with refused("file-not-writable") as error:
        fetch(server, tmp_path / "file" / "chr21.vcf.gz", manifest=manifest)
    only_line(error)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://example.org/chr21.vcf.gz", "same path by https://"),
        ("chr21.vcf.gz", "Give the whole address"),
        ("file:///data/chr21.vcf.gz", "Give the whole address"),
        ("https://example.org/phs000001.v1/chr21.vcf.gz", "must be of open data"),
        ("https://example.org/EGAD00001000001/chr21.vcf.gz", "must be of open data"),
    ],
)
def test_fetch_file__raise_on_an_address(url, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        fetch_file(url, manifest="m", output=tmp_path / "x")


def test_fetch_manifest__replaces_and_never_goes_on(server, tmp_path):
    output = tmp_path / "md5.txt"
    output.write_text("old")
    output.with_name("md5.txt.part").write_text("half of ano")
    fetch_manifest(f"{server.address}/md5.txt", output=output)
    assert output.read_bytes() == server.files["/md5.txt"]
    server.files["/md5.txt"] = b"<html>"
    with refused("manifest-empty", server.address, "/md5.txt"):
        fetch_manifest(f"{server.address}/md5.txt", output=output)


def test_fetch__command(server, output):
    manifest = f"{server.address}/md5.txt"
    arguments = ["fetch", server.address + PLACE, "--manifest", manifest, "--output", str(output)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    *progress, record = result.stderr.splitlines()
    assert progress[-1] == "chr21.vcf.gz: 0.0 of 0.0 MB"
    assert json.loads(record)["md5"] == DIGEST


@pytest.mark.realdata
def test_fetch_file__real_genotypes(server, real_data, tmp_path):
    source = real_data / "1kg" / "phase3_chr1_region" / "chr1_11697036-11836540.vcf.gz"
    server.files = {f"/{source.name}": source.read_bytes()}
    server.faults = {f"/{source.name}": [{"reset": 100_000}, {"corrupt": 700_000}, {"cut": 800_000}]}
    manifest = write_manifest(tmp_path, tree_line(source.name, source.read_bytes()))
    output = tmp_path / source.name
    fetch_file(
        f"{server.address}/{source.name}",
        manifest=manifest,
        output=output,
        progress=False,
        pause=lambda _: None,
    )
    assert output.read_bytes() == source.read_bytes()
    assert server.ranges(f"/{source.name}") == [None, "bytes=100000-", None, "bytes=800000-"]
