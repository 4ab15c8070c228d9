"""How the pages of any study are written."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

from dpgrs.io.files import remove_own, replacing
from dpgrs.reporting.rendering import Chunk, chunks

# Snakemake's file is of versions whose rules had the folder as output.
PAGES = {"index.html", "genotypes.html", "assets", "outcomes", ".snakemake_timestamp"}


def write_report(
    writers: ModuleType, data: Any, output: Path, *, processes: int, figures: Path | None = None
) -> None:
    """Write the pages of a study and replace earlier ones; the folder is complete or absent.

    `writers` is a module with `write_overview` and `outcome_writer`; `data` is what these take. Some
    processes write outcome pages, and the pages do not depend on how many. `figures` is a folder to make for
    files of the figures, or None. A folder of figures that is not empty is refused, as is an output that
    holds anything but a report.
    """
    remove_own(output, names=PAGES, kind="a report")
    with replacing(output) as temporary, replacing(figures) if figures else nullcontext() as figure_folder:
        temporary.mkdir()
        if figure_folder:
            figure_folder.mkdir()
        writers.write_overview(data, temporary, figures=figure_folder)
        page_chunks = chunks(len(data.outcomes))
        # The data go to every process once, with all that it is to write: a large study's take seconds.
        shares = [page_chunks[start::processes] for start in range(min(processes, len(page_chunks)))]
        write = partial(_write_chunks, writers.outcome_writer, data, temporary, figure_folder)
        if len(shares) == 1:
            write(shares[0])
        else:  # a process needs a second or two to start
            with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
                list(pool.map(write, shares))


def _write_chunks(
    outcome_writer: Callable[..., Any],
    data: Any,
    directory: Path,
    figures: Path | None,
    share: Sequence[Chunk],
) -> None:
    write = outcome_writer(data, figures=figures)
    for chunk in share:
        write(chunk.first, chunk.last, directory / "outcomes" / chunk.name)
