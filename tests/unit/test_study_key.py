import hashlib
import os
import stat
import tempfile

import pytest

from dpgrs.errors import UsageError
from dpgrs.privacy.noise.study_key import KEY_BYTES, VARIABLE, StudyKey, create_study_key, load_study_key
from refused import refused


@pytest.fixture
def path(tmp_path, monkeypatch):
    path = tmp_path / "keys" / "study.key"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


def test_create_study_key__whole_private_and_random(path, monkeypatch):
    before = os.umask(0)  # the mode must not rest on the user's umask
    try:
        assert create_study_key() == path
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]
    key = load_study_key()
    assert key.secret == path.read_bytes()
    assert len(key.secret) == KEY_BYTES
    monkeypatch.setenv(VARIABLE, str(path.parent / "new" / "folder" / "other.key"))
    create_study_key()
    assert load_study_key().secret != key.secret


def test_create_study_key__is_safe_on_disk_before_it_has_its_name(path, monkeypatch):
    steps, sync, link = [], os.fsync, os.link
    monkeypatch.setattr(os, "fsync", lambda file: steps.append(os.fstat(file).st_size) or sync(file))
    monkeypatch.setattr(os, "link", lambda *names: steps.append("link") or link(*names))
    create_study_key()
    assert steps == [KEY_BYTES, "link"]


def test_create_study_key__writes_nothing_elsewhere(path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(path / "nowhere"))
    assert create_study_key() == path


def test_create_study_key__never_overwrites(path):
    create_study_key()
    secret = path.read_bytes()
    with refused("study-key-exists", error=UsageError):
        create_study_key()
    assert path.read_bytes() == secret
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("action", [create_study_key, load_study_key])
@pytest.mark.parametrize("mark", [".git", "Snakefile", "workflow/Snakefile"])
def test_study_key__raise_inside_repository(path, action, mark):
    (path.parent / "deep").mkdir(parents=True)
    marked = path.parents[1] / mark
    marked.parent.mkdir(exist_ok=True)
    marked.touch()
    with refused("path-not-private", error=UsageError):
        action()


def test_study_key__raise_inside_this_repository_and_results(tmp_path, monkeypatch, repository):
    for folder in (repository / "config", tmp_path / "results" / "demo"):
        monkeypatch.setenv(VARIABLE, str(folder / "study.key"))
        with refused("path-not-private", error=UsageError):
            create_study_key()
        assert not (folder / "study.key").exists()


def test_study_key__raise_where_a_link_leads_into_a_repository(path, tmp_path):
    inside = tmp_path / "repository"
    (inside / ".git").mkdir(parents=True)
    path.parent.symlink_to(inside)
    with refused("path-not-private", error=UsageError):
        create_study_key()


@pytest.mark.parametrize("value", [None, ""])
def test_study_key__raise_on_unset_variable(monkeypatch, value):
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    with refused("study-key-not-set", VARIABLE, VARIABLE, error=UsageError):
        load_study_key()


def test_load_study_key__raise_on_missing_file(path):
    with refused("study-key-missing", "`dpgrs key create`", error=UsageError) as raised:
        load_study_key()
    assert f"got {path}:" in str(raised.value)


def test_load_study_key__raise_on_a_path_that_is_too_long(path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(path.with_name("a" * 9999)))
    with refused("study-key-missing", error=UsageError) as raised:
        load_study_key()
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o777])
def test_load_study_key__raise_on_open_mode(path, mode):
    create_study_key()
    path.chmod(mode)
    with refused("study-key-not-closed", f"{mode:04o}", error=UsageError):
        load_study_key()


def test_load_study_key__raise_on_foreign_owner(path, monkeypatch):
    create_study_key()
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with refused("study-key-not-closed", error=UsageError):
        load_study_key()


@pytest.mark.parametrize("n_bytes", [0, KEY_BYTES - 1, KEY_BYTES + 1])
def test_load_study_key__raise_on_length(path, n_bytes):
    path.parent.mkdir()
    path.touch(mode=0o600)
    path.write_bytes(bytes(n_bytes))
    with refused("study-key-not-plain", error=UsageError):
        load_study_key()


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_load_study_key__raise_on_no_plain_file(path, make):
    path.parent.mkdir()
    make(path, 0o600)
    with refused("study-key-not-plain", error=UsageError):
        load_study_key()


def test_load_study_key__raise_on_a_folder_of_the_size_of_a_key(path, monkeypatch):
    path.mkdir(parents=True)
    status = os.stat_result((stat.S_IFDIR | 0o700, 0, 0, 1, os.geteuid(), 0, KEY_BYTES, 0, 0, 0))
    monkeypatch.setattr(os, "fstat", lambda _: status)
    with refused("study-key-not-plain", error=UsageError):
        load_study_key()


def test_load_study_key__closes_the_file(path, monkeypatch):
    create_study_key()
    opened, open_file = [], os.open
    monkeypatch.setattr(os, "open", lambda *options: opened.append(open_file(*options)) or opened[-1])
    load_study_key()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(*opened)


def test_errors__do_not_show_the_key(path):
    create_study_key()
    path.write_bytes(path.read_bytes()[:-1])
    with refused("study-key-not-plain", error=UsageError) as error:
        load_study_key()
    assert path.read_bytes().hex() not in str(error.value)


def test_study_key__repr_hides_the_secret():
    assert repr(StudyKey(bytes(KEY_BYTES))) == "StudyKey()"


def test_mark__depends_on_key_identity_and_statistic():
    keys = [StudyKey(bytes([i]) * KEY_BYTES) for i in range(2)]
    marks = {
        key.mark(identity * 64, statistic * 64) for key in keys for identity in "ab" for statistic in "cd"
    }
    assert len(marks) == 8
    assert keys[0].mark("a", "b") != keys[0].mark("ab", "")
    assert keys[0].id != keys[1].id
    assert keys[0].id in StudyKey(bytes(KEY_BYTES)).id


def test_mark__known_value():
    # HMAC-SHA256 as RFC 2104 defines it, written out, under a key of HMAC(secret, "dpgrs ledger").
    def hmac(key, message):
        block = key.ljust(64, b"\0")
        inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + message).digest()
        return hashlib.sha256(bytes(byte ^ 0x5C for byte in block) + inner).digest()

    secret = bytes(range(KEY_BYTES))
    expected = hmac(hmac(secret, b"dpgrs ledger"), b"mark\nidentity\nstatistic").hex()
    assert StudyKey(secret).mark("identity", "statistic") == expected
    assert StudyKey(secret).id == hmac(hmac(secret, b"dpgrs ledger"), b"name").hex()[:16]
