"""How the pages of any study are written."""

from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from multiprocessing import get_context

from dpgrs.io.files import remove_own, replacing
from dpgrs.reporting.rendering import chunks

# Snakemake's file is of versions whose rules had the folder as output.
PAGES = {"index.html", "genotypes.html", "assets", "outcomes", ".snakemake_timestamp"}


def write_report(writers, data, output, *, processes, figures=None):
    """Write the pages of a study, in place of earlier ones; the folder is whole or absent.

    Parameters
    ----------
    writers : module with `write_overview` and `outcome_writer`.
    data : what these take, with `outcomes`.
    output : folder to write.
    processes : int, how many processes write outcome pages; the pages do not depend on it.
    figures : folder to make of files of the figures; None: keep none.

    Raises
    ------
    UsageError
        If the folder holds anything but a report, or that of the figures holds anything.
    """
    remove_own(output, names=PAGES, kind="a report")
    with replacing(output) as temporary, replacing(figures) if figures else nullcontext() as kept:
        temporary.mkdir()
        if kept:
            kept.mkdir()
        writers.write_overview(data, temporary, figures=kept)
        found = chunks(len(data.outcomes))
        # The data go to every process once, with all that it is to write: a large study's take seconds.
        shares = [found[start::processes] for start in range(min(processes, len(found)))]
        write = partial(_write_chunks, writers.outcome_writer, data, temporary, kept)
        if len(shares) == 1:
            write(shares[0])
        else:  # a process needs a second or two to start
            with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
                list(pool.map(write, shares))


def _write_chunks(outcome_writer, data, directory, figures, share):
    write = outcome_writer(data, figures=figures)
    for chunk in share:
        write(chunk.first, chunk.last, directory / "outcomes" / chunk.name)
