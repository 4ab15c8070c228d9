"""The workflow imported as a module from a git address, with the package of the environment."""

import re
import shutil
import subprocess

import pytest

from release_studies import RELEASE, bundle, copied_site, shared_site
from study_runs import REPOSITORY, SMALL, figures_reported, results, run

STUDY = SMALL | {
    "cohort": SMALL["cohort"] | {"chromosomes": ["21"]},
    "variants": {"size": 10},
    "replicates": 1,
}
RULES = ("workflow/Snakefile", "workflow/rules", "workflow/report", "config/config.yaml", "envs")
IMPORTER = """
module dpgrs:
    snakefile: gitfile({repository!r}, path="workflow/Snakefile", ref="main")
    config: config

use rule * from dpgrs
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A repository in which the rules are committed as they are, without the package."""
    repository = tmp_path_factory.mktemp("rules")
    for name in RULES:
        source, target = REPOSITORY / name, repository / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    own = ("-c", "user.name=tests", "-c", "user.email=tests@example.org")
    for command in (("init", "-q", "-b", "main"), ("add", "."), (*own, "commit", "-q", "-m", "rules")):
        subprocess.run(["git", "-C", repository, *command], check=True)
    return repository


@pytest.fixture(scope="module")
def importer(repository, tmp_path_factory):
    """A Snakefile that imports these rules by git."""
    path = tmp_path_factory.mktemp("importer") / "Snakefile"
    path.write_text(IMPORTER.format(repository=str(repository)))
    return path


@pytest.mark.workflow
def test_module__of_a_git_address_gives_the_results_of_a_clone(importer, tmp_path):
    run(tmp_path / "clone", STUDY)
    run(tmp_path / "module", STUDY, "--snakefile", importer)
    assert results(tmp_path / "module", "small") == results(tmp_path / "clone", "small")


@pytest.mark.workflow
def test_module__of_another_version_than_the_package_is_refused(repository, tmp_path):
    other = tmp_path / "rules"
    shutil.copytree(repository, other)
    rules = other / "workflow" / "rules" / "common.smk"
    rules.write_text(re.sub(r'VERSION, HOW = "[\d.]+"', 'VERSION, HOW = "9.9"', rules.read_text()))
    snakefile = other / "workflow" / "Snakefile"
    end = run(tmp_path, STUDY, "--snakefile", snakefile, "--quiet", check=False)
    assert end.returncode == 2
    assert "These rules are of dpgrs 9.9, the package is " in end.stdout


@pytest.mark.workflow
def test_module__without_the_package_says_in_one_line_where_it_must_be(importer, tmp_path):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text('import sys\nsys.modules["dpgrs"] = None\n')
    variables = {"PYTHONPATH": str(hidden)}
    end = run(tmp_path, STUDY, "--snakefile", importer, "--quiet", check=False, variables=variables)
    assert end.returncode == 2
    assert re.search(
        r"(?m)^dpgrs [\d.]+ must lie beside its rules or be installed\. Run `pip install", end.stdout
    )
    assert "Traceback" not in end.stdout


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    # Made once, and shared with the tests of releases.
    with shared_site(tmp_path_factory, RELEASE, people=200, is_measured=True) as folder:
        yield folder


@pytest.mark.release
def test_module__of_a_git_address_replays_a_release_and_reports_it(importer, site, tmp_path):
    copy = copied_site(site, tmp_path / "copy")
    before = (copy / "ledger.jsonl").read_bytes()
    arguments = ("--snakefile", importer, "--max-checksum-file-size", "0")
    end = run(copy, RELEASE, *arguments).stdout
    assert "Replayed: nothing was charged" in end
    assert bundle(copy, "release") == bundle(site, "release")
    assert (copy / "ledger.jsonl").read_bytes() == before
    found = figures_reported(copy, RELEASE, tmp_path / "report.html", *arguments)
    assert sorted(found["release"]) == ["metrics.tsv"]
    assert "The privacy statement of the release" in found["Privacy"]["statement.txt"]
    assert "sim00" not in (tmp_path / "report.html").read_text()
