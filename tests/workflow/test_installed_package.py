"""What needs no Snakefile works from the wheel alone, without the repository and the libraries of jobs."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import packages_distributions

import numpy as np
import pytest
import yaml
from packaging.utils import canonicalize_name

from dpgrs import __version__ as dpgrs_version
from dpgrs.cli.main import EXTRAS
from release_data import make_bundle
from score_targets import HEADER, letters, make_score, make_target, write_target
from study_runs import REPOSITORY, SMALL

pytestmark = pytest.mark.workflow
MODULE_OF_PACKAGE = (REPOSITORY / "docs" / "how-to" / "module.md").read_text().split("```")[3]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Folders of the unpacked wheels of dpgrs and of the papers, and some that hide libraries."""
    folder = tmp_path_factory.mktemp("wheel")
    # A build leaves files beside its sources.
    source = folder / "source"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("workflow", "config", "envs"):
        shutil.copytree(REPOSITORY / name, source / name, ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, source)
    build = ["wheel", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--wheel-dir"]
    projects = (source, source / "workflow")
    subprocess.run([sys.executable, "-m", "pip", *build, folder, *projects], check=True, capture_output=True)
    for name, start in (("site", "dpgrs-"), ("papers", "dpgrs_papers-")):
        [wheel] = folder.glob(f"{start}*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / name)
    shutil.rmtree(source)
    # Read by Python at its start: the libraries of extras are as if they were not installed.
    hide_modules(folder / "base", EXTRAS["score"] + EXTRAS["workflow"])
    hide_modules(folder / "score", EXTRAS["workflow"])
    hide_modules(folder / "locked", unlocked_modules())
    return folder / "site"


def hide_modules(folder, names):
    """Write a folder that hides modules from a Python with it on its path, as if they were not installed."""
    folder.mkdir()
    # An installation that is editable puts the clone on the path.
    lines = ["import sys", f"sys.modules.update(dict.fromkeys({names!r}))"]
    lines += [f"sys.path[:] = [path for path in sys.path if path != {str(REPOSITORY / 'workflow')!r}]"]
    (folder / "sitecustomize.py").write_text("\n".join(lines))


def unlocked_modules():
    """Return the importable names of this environment that requirements.lock does not install."""
    locked = re.findall(r"(?m)^([\w.-]+)==", (REPOSITORY / "requirements.lock").read_text())
    installed_by_lock = {*locked, "dpgrs", "pip"}
    return [
        module
        for module, packages in packages_distributions().items()
        if not {canonicalize_name(package) for package in packages} & installed_by_lock
    ]


def dpgrs(installed, folder, *arguments, status=0, libraries="base", with_papers=False):
    """Run a command on the wheel's modules; libraries are of the base, of `score` or of the lock."""
    paths = [
        installed.with_name(libraries),
        installed,
        *([installed.with_name("papers")] if with_papers else []),
    ]
    process = subprocess.run(
        [sys.executable, "-m", "dpgrs", *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
    )
    assert process.returncode == status, process.stderr
    return process.stderr if status else process.stdout


def test_score__takes_the_base_and_names_what_only_extras_have(installed, tmp_path):
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
    scoring = ("score", target, "--score", "score.txt", *options)
    dpgrs(installed, tmp_path, *scoring)
    assert (tmp_path / "scored" / "report" / "index.html").is_file()
    simulation = ("simulate-cohort", "--populations", "made/1.tsv", "--output", "made/1.vcf.gz")
    for libraries in ("base", "score"):
        said = dpgrs(installed, tmp_path, *simulation, status=2, libraries=libraries)
        line = "dpgrs: `dpgrs simulate-cohort` needs the library stdpopsim: pip install 'dpgrs[workflow]'"
        assert said == f"{line}\n"
    said = dpgrs(installed, tmp_path, "demo", status=2)
    assert said == "dpgrs: `dpgrs demo` needs the library snakemake: pip install 'dpgrs[workflow]'\n"


def test_installed__runs_a_study_by_the_rules_of_the_wheel(installed, tmp_path):
    settings = SMALL | {
        "cohort": SMALL["cohort"] | {"chromosomes": ["21"]},
        "variants": {"size": 10},
        "replicates": 1,
    }
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(settings))
    options = ("--configfile", "study.yaml", "--quiet")
    dpgrs(installed, tmp_path, "run", "--cores", "2", *options, libraries="locked")
    provenance = json.loads((tmp_path / "results" / "small" / "provenance.json").read_text())
    assert (provenance["dpgrs"], provenance["commit"]) == (dpgrs_version, None)
    assert (tmp_path / "results" / "small" / "report" / "index.html").is_file()
    dpgrs(installed, tmp_path, "run", *options, "--report", "small.html", libraries="locked")
    assert "by_epsilon.svg" in (tmp_path / "small.html").read_text()
    # The demo is the same with all cores.
    plan = dpgrs(installed, tmp_path, "demo", "--dry-run", libraries="locked")
    assert "results/demo/metrics.tsv" in plan


def test_installed__papers_are_in_a_wheel_of_their_own(installed, tmp_path):
    assert "Figures and tables of the papers" not in dpgrs(installed, tmp_path, "--help")
    said = dpgrs(installed, tmp_path, "experiment", "--help", status=2)
    assert "No such command 'experiment'" in said
    assert "Figures and tables of the papers" in dpgrs(installed, tmp_path, "--help", with_papers=True)
    assert "[default: 2000" in dpgrs(installed, tmp_path, "store", "imitate", "--help", with_papers=True)
    (tmp_path / "study.yaml").write_text("study: small\nvariants: {size: 20}\nmethods: [ridge, naive]\n")
    assert "auto, got naive" in dpgrs(installed, tmp_path, "plan", "study.yaml", status=2, libraries="locked")
    planned = dpgrs(installed, tmp_path, "plan", "study.yaml", libraries="locked", with_papers=True)
    assert "naive" in planned


def test_installed__puts_configurations_and_profiles_into_a_folder(installed, tmp_path):
    shipped = [*REPOSITORY.glob("config/*.yaml"), *REPOSITORY.glob("workflow/profiles/*/config.yaml")]
    said = dpgrs(installed, tmp_path, "init")
    assert sorted(said.split()) == sorted(str(path.relative_to(REPOSITORY)) for path in shipped)
    assert all(
        (tmp_path / path.relative_to(REPOSITORY)).read_bytes() == path.read_bytes() for path in shipped
    )
    assert "`dpgrs key create` makes the key" in dpgrs(
        installed, tmp_path, "plan", "config/release.yaml", libraries="locked"
    )


def test_installed__is_imported_as_a_module(installed, tmp_path):
    snakefile = tmp_path / "Snakefile"
    snakefile.write_text(MODULE_OF_PACKAGE)
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(SMALL))
    options = ("--snakefile", snakefile, "--configfile", "study.yaml", "--dry-run", "mine")
    plan = dpgrs(installed, tmp_path, "run", "--cores", "1", *options, libraries="locked")
    assert "results/small/metrics.tsv" in plan


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
    (tmp_path / "study.yaml").write_text("study: small\nvariants: {size: 20}\n")
    assert "Nothing was drawn, charged or written." in dpgrs(
        installed, tmp_path, "plan", "study.yaml", libraries="locked"
    )
    bundle = make_bundle(tmp_path)
    assert "The bundle is whole" in dpgrs(installed, tmp_path, "release", "verify", bundle)


def test_installed__holds_all_files_of_the_package(installed):
    for name, site in (("dpgrs", installed), ("dpgrs_papers", installed.with_name("papers"))):
        own = {
            path.relative_to(REPOSITORY / "workflow").as_posix()
            for path in (REPOSITORY / "workflow" / name).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }
        assert own <= {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
    assert not (installed / "dpgrs_papers").exists()
