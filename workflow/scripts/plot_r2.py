"""Draw the overview of R^2 for Snakemake's report."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(snakemake.scriptdir).parent))

from dpgrs.io.files import read_table
from dpgrs.reporting.figures import write_r2_figure

write_r2_figure(read_table(snakemake.input.metrics), snakemake.output.figure, stamp=snakemake.params.stamp)
