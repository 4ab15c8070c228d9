"""A study in one process, of arrays: panel, exact sums and draws of a trial, with no files of steps between.

A run of the workflow takes the same functions, a job each. For benchmarks alone: nothing is charged.
"""

from contextlib import contextmanager
from tempfile import TemporaryDirectory

from dpgrs.io.panel import Panel
from dpgrs.io.table_panel import write_table_panel
from dpgrs.methods.mechanisms import mechanisms_of, takes_sums
from dpgrs.study.draws import draws_of
from dpgrs.study.exact_statistics import exact_statistics
from dpgrs.study.training_data import TrainingData


@contextmanager
def panel_of_table(table, ranges, *, size, seed):
    """Hold columns of a table as a panel, in a folder that is there for a while.

    Parameters
    ----------
    table, ranges, size, seed : as in `dpgrs.io.table_panel.write_table_panel`.

    Yields
    ------
    Panel
    """
    with TemporaryDirectory() as folder:
        path = f"{folder}/panel.zarr"
        write_table_panel(path, table, ranges, size=size, seed=seed)
        yield Panel.open(path)


def training_data(settings, panel, outcomes, *, ld=None):
    """Sum the training rows of a trial, if a method of the study takes sums.

    Parameters
    ----------
    settings : Settings of a whole study.
    panel : Panel
    outcomes : Outcomes
    ld : path of public linkage disequilibrium, where a method takes it.

    Returns
    -------
    TrainingData
    """
    sums = exact_statistics(settings, panel, outcomes) if takes_sums(settings.methods) else None
    return TrainingData(outcomes, statistics=sums, panel=panel, ld=ld)


def draws_of_study(settings, data):
    """Yield the Draws of a benchmark from which its methods are fitted; each makes its own choices.

    Parameters
    ----------
    settings : Settings of a whole study.
    data : TrainingData
    """
    for mechanism in mechanisms_of(settings.methods, is_release=False):
        for draw in draws_of(settings, mechanism, mechanism.drawn_for(settings.methods), data):
            if draw.fitted:
                yield draw
