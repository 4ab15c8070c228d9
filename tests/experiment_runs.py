"""Running experiments of the papers in a scratch folder."""

import pandas as pd

from study_runs import REPOSITORY, SNAKEMAKE, on_console

SNAKEFILE = REPOSITORY / "config" / "experiments" / "Snakefile"


def run_experiment(names, folder, *arguments, data=None, form="quick", cores=2, is_warm=True):
    """Run experiments from the command line.

    Parameters
    ----------
    names : str, of one, or of several with spaces between.
    folder : Path, the working folder.
    *arguments : str, for Snakemake.
    data : Path of public data, or None.
    form : str, the key of the form, or None.
    is_warm : as of `study_runs.run`.

    Returns
    -------
    str, what it printed.
    """
    keys = [f"data={data}"] * (data is not None) + [f"{form}=true"] * (form is not None)
    fixed = ["--snakefile", SNAKEFILE, "--directory", folder, "--cores", str(cores)]
    config = ["--config", *keys] if keys else []
    command = [SNAKEMAKE, *fixed, *config, *arguments, "--", *names.split()]
    process = on_console(command, is_warm=is_warm)
    assert process.returncode == 0, process.stdout
    return process.stdout


def rows_of_replicate(experiment, part, settings, *, files=(), replicate=1):
    """Return what a replicate of a part gives in this process, a data frame as `summarise` takes it."""
    return pd.DataFrame(experiment.run_replicate(part, replicate, settings, [*files])).assign(
        part=part, replicate=replicate
    )


def numbers_of(name, folder, form="quick"):
    """Return an experiment's numbers beside the paper's, a data frame."""
    path = folder / "results" / "experiments" / (form or "") / name / "numbers.tsv"
    return pd.read_csv(path, sep="\t", keep_default_na=False)


def table_of(name, folder):
    """Return the table of an experiment in quick form, a data frame."""
    path = folder / "results" / "experiments" / "quick" / name / "table.tsv"
    return pd.read_csv(path, sep="\t")
