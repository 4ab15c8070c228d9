import subprocess
import sys

import pytest
from click.testing import CliRunner

from dpgrs.cli.main import main
from dpgrs.cli.run import require_files
from dpgrs.errors import UsageError
from refused import refused


def test_init__never_writes_over_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "release.yaml").write_text("mine")
    found = CliRunner().invoke(main, ["init"])
    assert (found.exit_code, found.stderr) == (
        2,
        "dpgrs: `config/release.yaml` is there already. Run `dpgrs init` in a new folder.\n",
    )
    assert [path.name for path in tmp_path.rglob("*.yaml")] == ["release.yaml"]


@pytest.mark.parametrize("options", [("--configfile", "a.yaml", "b.yaml"), ("--configfiles=b.yaml",)])
def test_run__a_configuration_that_is_not_there(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text("study: a\n")
    with refused("settings-unreadable", "`b.yaml`", error=UsageError):
        require_files(("--cores", "2", *options, "-n"))


@pytest.mark.parametrize("options", [("--workflow-profile", "slurm"), ("--workflow-profile=slurm",)])
def test_run__a_profile_that_is_not_there(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refused("profile-missing", "`slurm`", "`dpgrs init`", error=UsageError):
        require_files(options)
    (tmp_path / "slurm").mkdir()
    require_files((*options, "--cores", "1"))
    require_files(("--workflow-profile", "none"))


def test_run__leaves_a_pipe_to_snakemake(tmp_path):
    with subprocess.Popen([sys.executable, "-c", "print('study: a')"], stdout=subprocess.PIPE) as process:
        require_files(("--configfile", f"/dev/fd/{process.stdout.fileno()}"))
        assert process.stdout.read() == b"study: a\n"
