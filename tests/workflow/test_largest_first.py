"""The order of jobs that wait for cores: largest input files first."""

import re

import pytest

from study_runs import SMALL, run
from vcf_files import record, vcf_text, write_bgzf

# Lines of each chromosome.
SIZES = {"1": 30, "2": 10, "3": 50, "4": 40, "5": 20}


@pytest.mark.workflow
def test_ingest__largest_file_first(tmp_path):
    for name, n_lines in SIZES.items():
        lines = (record(100 * (place + 1), "0|0 0|1 1|1", contig=name) for place in range(n_lines))
        write_bgzf(tmp_path / f"{name}.vcf.gz", vcf_text(*lines, contigs=[name]))
    cohort = {"source": "vcf", "vcf": "{chrom}.vcf.gz", "chromosomes": [*SIZES]}
    # Each takes both cores.
    console = run(tmp_path, SMALL | {"cohort": cohort}, "--until", "ingest_chromosome").stdout
    started = re.findall(r"rule ingest_chromosome:\n(?: .*\n)*? +wildcards: chrom=(.)", console)
    assert started == sorted(SIZES, key=SIZES.get, reverse=True)
