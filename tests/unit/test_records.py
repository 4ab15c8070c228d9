"""Files of a release without Snakemake's record of how they were made."""

import json
import os
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from dpgrs.errors import UsageError
from dpgrs.preflight.records import require_records


@pytest.fixture(autouse=True)
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for store in ("private/panel.zarr", "private/store/21.zarr", "public/store/21.zarr"):
        Path(store).mkdir(parents=True)
        Path(store, "inner.npz").touch()
        Path(store, ".snakemake_timestamp").touch()
    for name in ("private/people.txt", "private/trial1/statistics.npz", "public/sites.tsv"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    for path in MADE:
        record(path)
    # What is being written, and what no rule makes.
    Path("private/.panel.zarr.partial").mkdir()
    Path("private/.panel.zarr.partial/terms.npz").touch()
    Path("private/people.txt.sha256").touch()
    return tmp_path


MADE = [
    "private/panel.zarr",
    "private/store/21.zarr",
    "public/store/21.zarr",
    "private/people.txt",
    "private/trial1/statistics.npz",
    "public/sites.tsv",
]


def record(path, kind="metadata", cut=20):
    """Write an empty record as Snakemake names it, which cuts long names into folders."""
    text = urlsafe_b64encode(path.encode()).decode()
    *folders, name = [text[start : start + cut] for start in range(0, len(text), cut)]
    place = Path(".snakemake", kind, *(f"@{part}" for part in folders), name)
    place.parent.mkdir(parents=True, exist_ok=True)
    stamp = Path(path, ".snakemake_timestamp")
    place.write_text(json.dumps({"endtime": (stamp if stamp.exists() else Path(path)).stat().st_mtime}))
    return place


def check():
    require_records(["private", "public", "not there"], records=".snakemake")


def test_require_records__all_are_there():
    check()


@pytest.mark.parametrize("path", MADE)
def test_require_records__raise_on_what_nobody_knows(path):
    place = record(path)
    place.unlink()
    with pytest.raises(UsageError, match=f"a record of `{path}` as it is in a release, got none"):
        check()
    # Of a job that was killed.
    record(path, kind="incomplete")
    check()


@pytest.mark.parametrize("path", ["private/people.txt", "private/panel.zarr"])
def test_require_records__raise_on_what_was_changed_since(path):
    changed = Path(path) if Path(path).is_file() else Path(path, ".snakemake_timestamp")
    when = changed.stat().st_mtime
    os.utime(changed, (when, when + 0.5))
    check()
    os.utime(changed, (when, when - 100))
    with pytest.raises(UsageError, match=f"a record of `{path}` as it is"):
        check()


def test_require_records__half_a_record_is_none():
    record("public/sites.tsv").write_text('{"endtime": ')
    with pytest.raises(UsageError, match=r"a record of `public/sites\.tsv` as it is"):
        check()
