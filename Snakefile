# So that `snakemake --cores 2` works here.
include: "workflow/Snakefile"
