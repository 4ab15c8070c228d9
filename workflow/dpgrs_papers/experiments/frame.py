"""What an experiment declares of itself, once: a figure or a table of a paper, and how it is made here."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from dpgrs.errors import UsageError

FUNCTIONS = ("run_replicate", "summarise", "draw", "compare", "judge")


class Verdict(StrEnum):
    """Whether a paper's result was found here."""

    REPRODUCED = "reproduced"
    WITH_DIFFERENCE = "reproduced with a difference"
    NOT_HERE = "not reproducible here"
    BEYOND = "beyond the papers"  # which have no such figure


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A figure or a table of a paper.

    Parts, replicates, seed and grid stand in `config/experiments/experiments.yaml`; `settings` is a dict of
    the last two. The functions are those of these names in the module that declares it, unless it says so.

    Attributes
    ----------
    paper : str, its name and where it is.
    shows : str, which figures or tables, such as "Figures 2 to 8".
    choices : tuple of str, what the paper leaves open or does otherwise, a sentence each, for Markdown.
    run_replicate : function of a part, the number of a replicate from 1, `settings` and the paths of the
        part's files that returns rows, a list of dicts. It depends on nothing else.
    summarise : function of the rows of all replicates, a data frame with `part` and `replicate` before their
        own columns, and of `settings` that returns the table, a data frame.
    draw : function of the table and `settings` that returns a dict of file name to
        `dpgrs.reporting.rendering.Drawing`, within `styled`. Axes are the paper's.
    compare : function of the table and `settings` that returns the paper's numbers beside ours, a data frame.
    judge : function of the table and `settings` that returns a `Verdict` and its reason, a sentence.
    """

    paper: str
    shows: str
    choices: tuple = ()
    run_replicate: Callable | None = None
    summarise: Callable | None = None
    draw: Callable | None = None
    compare: Callable | None = None
    judge: Callable | None = None


def find(name):
    """Return the experiment that a module of this folder declares as `EXPERIMENT`, with its functions.

    Raises
    ------
    UsageError
        If there is none.
    """
    try:
        module = importlib.import_module(f"dpgrs_papers.experiments.{name}")
        own = [one for one in FUNCTIONS if getattr(module.EXPERIMENT, one) is None]
        return replace(module.EXPERIMENT, **{one: getattr(module, one) for one in own})
    except (ModuleNotFoundError, AttributeError) as error:
        raise UsageError(
            "experiment-unknown",
            f"`{name}` must be a module of dpgrs_papers.experiments with an EXPERIMENT and the functions "
            f"{', '.join(FUNCTIONS)}. Correct the name.",
        ) from error
