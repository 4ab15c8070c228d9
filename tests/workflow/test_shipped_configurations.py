"""Every configuration that is shipped gives a valid plan of jobs."""

import pytest
import yaml

from dpgrs.config import resolve
from dpgrs.privacy.study_key import VARIABLE
from release_studies import make_key, make_ledger
from study_runs import REPOSITORY, run

SHIPPED = sorted((REPOSITORY / "config").glob("**/*.yaml"))


@pytest.mark.parametrize("config", SHIPPED, ids=lambda path: path.name)
def test_shipped_configuration__dry_run(config, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = resolve(yaml.safe_load(config.read_text()))
    arguments = ["--configfile", config, "--dry-run", "--printshellcmds"]
    if settings["mode"] == "release":
        monkeypatch.setenv(VARIABLE, str(tmp_path / "key" / "study.key"))
        make_key(tmp_path)
        make_ledger(settings["privacy"]["ledger"])
    plan = run(tmp_path, {}, *arguments).stdout
    assert f"results/{settings['study']}/metrics.tsv" in plan
    assert "compute-statistics" in plan
    # Without a network: what would be fetched is named, and nothing else is asked for.
    for chromosome in settings["cohort"]["chromosomes"] if settings["cohort"]["fetch"]["vcf"] else []:
        url, path = (
            text.replace("{chrom}", chromosome)
            for text in (settings["cohort"]["fetch"]["vcf"], settings["cohort"]["vcf"])
        )
        assert f"Fetching {path} from {url}" in plan
    # Exact numbers about people.
    assert ("--count-clips" in plan) == (settings["mode"] == "benchmark")


def test_demo_configuration__holds_a_name_alone():
    # Snakemake lays this file under every other one: whatever stood here would leak into all studies.
    assert yaml.safe_load((REPOSITORY / "config" / "config.yaml").read_text()) == {"study": "demo"}
