import hashlib
import json
import os
import re
import subprocess

import pytest

from dpgrs.config.study import StudyConfig
from dpgrs.study import provenance


def test_provenance__is_json_and_names_versions_and_digests(tmp_path):
    output = tmp_path / "metrics.tsv"
    output.write_text("x")
    assert provenance.stamp(StudyConfig.of({"mode": "release"})) == ""
    values = {"study": "s", "mode": "benchmark", "cohort": {"copies": {"people": None}}}
    settings, reordered = StudyConfig.of(values), StudyConfig.of(dict(reversed(values.items())))
    record = json.loads(json.dumps(provenance.provenance(settings, [output])))
    assert record["outputs"] == {"metrics.tsv": hashlib.sha256(b"x").hexdigest()}
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", record["libraries"]["numpy"])
    assert record["settings_digest"] == provenance.settings_digest(reordered)


def test_stamp__names_copies():
    settings = StudyConfig.of({"mode": "benchmark", "cohort": {"copies": {"people": 500}}})
    assert provenance.stamp(settings) == "benchmark: not private, of copies of people"


@pytest.fixture
def no_hook(monkeypatch):
    """Tests may run in a hook, whose variables name its repository."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)


def made_commit(folder):
    """Make a repository with a package in it, commit all but the package, and return the commit."""
    (folder / "installed").mkdir(parents=True)
    (folder / "installed" / "__init__.py").write_text("")
    (folder / ".gitignore").write_text("installed\n")
    git = ["git", "-C", folder, "-c", "user.name=name", "-c", "user.email=name@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "a commit"]):
        subprocess.run([*git, *arguments], check=True)
    return subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()


def test_commit__is_of_the_repository_that_has_the_package(tmp_path, monkeypatch, no_hook):
    """Not of one in whose folder the package is installed, nor of one whose hook runs a study."""
    commit, package = made_commit(tmp_path / "clone"), tmp_path / "clone" / "installed"
    monkeypatch.setattr(provenance, "PACKAGE", package)
    assert provenance._commit() is None
    subprocess.run(["git", "-C", package, "add", "--force", "__init__.py"], check=True)
    assert provenance._commit() == f"{commit}-dirty"
    made_commit(tmp_path / "other")
    # From here on this is the repository of every other call of Git.
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    assert provenance._commit() == f"{commit}-dirty"
