"""Draw the overview of R^2 for Snakemake's report."""

import sys
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(snakemake.scriptdir).parent))

from dpgrs.reporting.figures import write_r2_figure

write_r2_figure(
    pd.read_csv(snakemake.input.metrics, sep="\t"), snakemake.output.figure, stamp=snakemake.params.stamp
)
