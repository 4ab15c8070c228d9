"""Every configuration that is shipped gives a valid plan of jobs."""

import pytest
import yaml

from dpgrs.config import resolve
from dpgrs.privacy.study_key import VARIABLE
from release_studies import make_key, make_ledger
from study_runs import REPOSITORY, run
from vcf_files import record, vcf_text, write_gzip

SHIPPED = sorted((REPOSITORY / "config").glob("**/*.yaml"))


@pytest.mark.parametrize("config", SHIPPED, ids=lambda path: path.name)
def test_shipped_configuration__dry_run(config, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    settings = resolve(yaml.safe_load(config.read_text()))
    arguments = ["--configfile", config, "--dry-run", "--printshellcmds"]
    if settings["cohort"]["source"] == "vcf":
        write_gzip(tmp_path / "cohort.vcf.gz", vcf_text(record(1, "0|0 0|1 1|1"), contigs=("21", "22")))
        arguments += ["--config", "cohort={vcf: cohort.vcf.gz}"]
    if settings["mode"] == "release":
        monkeypatch.setenv(VARIABLE, str(tmp_path / "key" / "study.key"))
        make_key(tmp_path)
        make_ledger(settings["privacy"]["ledger"])
    plan = run(tmp_path, {}, *arguments).stdout
    assert f"results/{settings['study']}/metrics.tsv" in plan
    assert "compute-statistics" in plan
    # Exact numbers about people.
    assert ("--count-clips" in plan) == (settings["mode"] == "benchmark")


def test_demo_configuration__holds_a_name_alone():
    # Snakemake lays this file under every other one: whatever stood here would leak into all studies.
    assert yaml.safe_load((REPOSITORY / "config" / "config.yaml").read_text()) == {"study": "demo"}
