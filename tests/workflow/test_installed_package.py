"""What needs no Snakefile works from the wheel alone, without the repository and the libraries of jobs."""

import os
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from dpgrs.cli.main import EXTRAS
from release_data import make_bundle
from score_targets import HEADER, letters, make_score, make_target, write_target
from study_runs import REPOSITORY

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with nothing but the unpacked wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    # A build leaves files beside its sources.
    source = folder / "source"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(REPOSITORY / "workflow" / "dpgrs", source / "workflow" / "dpgrs", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, source)
    build = ["wheel", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--wheel-dir"]
    subprocess.run([sys.executable, "-m", "pip", *build, folder, source], check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    shutil.rmtree(source)
    # Read by Python at its start: the libraries of the extra are as if they were not installed.
    (folder / "site" / "sitecustomize.py").write_text(
        f"import sys\nsys.modules.update(dict.fromkeys({EXTRAS['workflow']!r}))\n"
    )
    return folder / "site"


def dpgrs(installed, folder, *arguments, status=0):
    """Run a command on the wheel's modules; libraries come from this environment."""
    process = subprocess.run(
        [sys.executable, "-m", "dpgrs", *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == status, process.stderr
    return process.stderr if status else process.stdout


def test_light__scores_and_names_what_only_the_workflow_has(installed, tmp_path):
    rng = np.random.default_rng(1)
    records = make_target(rng, n_people=6, n_records=8)
    lines = [
        "\t".join([contig, str(position), *letters(alleles, pair), str(weight)]) + "\n"
        for place, *pair, weight in make_score(rng, records)
        for contig, position, alleles, _ in [records[place]]
    ]
    (tmp_path / "score.txt").write_text(HEADER + "".join(lines))
    target = write_target(tmp_path / "target.vcf.gz", records)
    options = ["--genome-build", "GRCh38", "--output", "scored"]
    dpgrs(installed, tmp_path, "score", target, "--score", "score.txt", *options)
    assert (tmp_path / "scored" / "report" / "index.html").is_file()
    said = dpgrs(installed, tmp_path, "simulate-cohort", "--chromosome", "1", "made", status=2)
    line = "dpgrs: `dpgrs simulate-cohort` needs the library stdpopsim: pip install 'dpgrs[workflow]'"
    assert said == f"{line}\n"


def test_installed__plans_and_verifies_without_the_repository(installed, tmp_path):
    found = subprocess.run(
        [sys.executable, "-c", "import dpgrs; print(dpgrs.__file__)"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
    )
    assert found.stdout.startswith(str(installed))
    assert "Usage:" in dpgrs(installed, tmp_path, "release", "verify", "--help")
    (tmp_path / "study.yaml").write_text("study: small\npanel: {size: 20}\n")
    assert "Nothing was drawn, charged or written." in dpgrs(installed, tmp_path, "plan", "study.yaml")
    bundle = make_bundle(tmp_path)
    assert "The bundle is whole" in dpgrs(installed, tmp_path, "release", "verify", bundle)


def test_installed__holds_all_files_of_the_package(installed):
    own = {
        path.relative_to(REPOSITORY / "workflow").as_posix()
        for path in (REPOSITORY / "workflow" / "dpgrs").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    there = {path.relative_to(installed).as_posix() for path in installed.rglob("*") if path.is_file()}
    assert own <= there
