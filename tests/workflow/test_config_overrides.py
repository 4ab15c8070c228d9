"""Overrides on Snakemake's own command line mean what the same lines mean in a configuration file."""

import json
import os
import subprocess
import sys

import pytest
import yaml

from dpgrs.study.settings import resolve

# The rule runs in a process of its own, which reads the configuration from Snakemake once more.
SNAKEFILE = """
import json
from pathlib import Path
from dpgrs.study.settings import resolve

configfile: "config/config.yaml"

if workflow.is_main_process:
    Path("parsed.json").write_text(json.dumps(resolve(config).as_dict()))

rule write_settings:
    output: "in_job.json"
    run: Path(output[0]).write_text(json.dumps(resolve(config).as_dict()))
"""

FILE = """
study: real
cohort:
  source: vcf
  vcf: a/{chrom}.vcf.gz
  chromosomes: [21, 22]
privacy:
  delta: 1e-6
"""

# Arguments of --config, and the same in a file.
CASES = {
    "number_list_boolean_pattern": (
        [
            "seed=7",
            "study=2026",
            "methods=[ols, ridge]",
            'cohort={vcf: "b/chr{chrom}.vcf.gz", chromosomes: [1, X], keep_filtered: true}',
            "privacy={delta: 1e-7, gram_share: .25, epsilon: [0.5, 1e-3, 2]}",
            "outcomes={bound: 4, count: [1, 3]}",
        ],
        """
        seed: 7
        study: 2026
        methods: [ols, ridge]
        cohort: {vcf: "b/chr{chrom}.vcf.gz", chromosomes: [1, X], keep_filtered: true}
        privacy: {delta: 1e-7, gram_share: .25, epsilon: [0.5, 1e-3, 2]}
        outcomes: {bound: 4, count: [1, 3]}
        """,
    ),
    "null_single_value_nested_section": (
        [
            "methods=ols",
            "cohort={source: simulate, vcf: null, simulation: {people: 100, length: 1e5}}",
            "variants={size: 50, maf: 0}",
        ],
        """
        methods: ols
        cohort: {source: simulate, vcf: null, simulation: {people: 100, length: 1e5}}
        variants: {size: 50, maf: 0}
        """,
    ),
}


@pytest.fixture
def workflow_folder(tmp_path, repository):
    (tmp_path / "config").mkdir()
    shipped = repository / "config" / "config.yaml"
    (tmp_path / "config" / "config.yaml").write_text(shipped.read_text())
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "file.yaml").write_text(FILE)
    return tmp_path


@pytest.fixture
def snakemake(workflow_folder, repository):
    """Run Snakemake in the folder."""

    def run(*arguments):
        environment = {**os.environ, "PYTHONPATH": str(repository / "workflow")}
        command = [sys.executable, "-m", "snakemake", "--cores", "1", "--forceall", *arguments]
        return subprocess.run(command, cwd=workflow_folder, env=environment, capture_output=True, text=True)

    return run


def merged(into, changes):
    for key, value in changes.items():
        into[key] = merged(into.get(key, {}), value) if isinstance(value, dict) else value
    return into


def read(path):
    return json.loads(path.read_text())


@pytest.mark.workflow
@pytest.mark.parametrize("case", CASES)
def test_overrides__same_settings_as_the_file(case, snakemake, workflow_folder):
    overrides, lines = CASES[case]
    result = snakemake("--configfile", "file.yaml", "--config", *overrides)
    assert result.returncode == 0, result.stderr
    by_command_line = read(workflow_folder / "parsed.json")
    assert read(workflow_folder / "in_job.json") == by_command_line

    both = merged(yaml.safe_load(FILE), yaml.safe_load(lines))
    (workflow_folder / "both.yaml").write_text(yaml.safe_dump(both))
    result = snakemake("--dry-run", "--configfile", "both.yaml")
    assert result.returncode == 0, result.stderr
    assert read(workflow_folder / "parsed.json") == by_command_line
    assert by_command_line != resolve(yaml.safe_load(FILE)).as_dict()


def test_overrides__unquoted_pattern_names_the_quoted_form(snakemake, workflow_folder):
    overrides = "cohort={vcf: b/chr{chrom}.vcf.gz, chromosomes: [1]}"
    result = snakemake("--configfile", "file.yaml", "--config", overrides)
    assert result.returncode != 0
    assert """--config 'cohort={vcf: "b/chr{chrom}.vcf.gz", chromosomes: [1]}'""" in result.stderr
    assert not (workflow_folder / "parsed.json").exists()
