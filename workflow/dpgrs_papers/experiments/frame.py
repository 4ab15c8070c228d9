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
    the last two. The functions are those of these names in the module that declares it, unless it names
    others.
    """

    paper: str  # its name and where it is
    shows: str  # the figures or tables, such as "Figures 2 to 8"
    choices: tuple[str, ...] = ()  # where the paper is open or differs, a sentence each, for Markdown
    # Takes a part, the number of a replicate from 1, settings and the paths of the part's files; returns
    # rows, a list of dicts. It depends on nothing else.
    run_replicate: Callable | None = None
    # Takes the rows of all replicates, with `part` and `replicate` before their own columns, and settings;
    # returns the table. The three after it take table and settings.
    summarise: Callable | None = None
    draw: Callable | None = None  # dict of file name to Drawing, within `styled`; axes are the paper's
    compare: Callable | None = None  # a data frame of the paper's numbers beside ours
    judge: Callable | None = None  # a Verdict and its reason, a sentence


def find(name: str) -> Experiment:
    """Return the experiment that a module of this folder declares as `EXPERIMENT`, with its functions."""
    try:
        module = importlib.import_module(f"dpgrs_papers.experiments.{name}")
        missing_names = [
            function_name for function_name in FUNCTIONS if getattr(module.EXPERIMENT, function_name) is None
        ]
        return replace(
            module.EXPERIMENT,
            **{function_name: getattr(module, function_name) for function_name in missing_names},
        )
    except (ModuleNotFoundError, AttributeError) as error:
        raise UsageError(
            "experiment-unknown",
            f"`{name}` must be a module of dpgrs_papers.experiments with an EXPERIMENT and the functions "
            f"{', '.join(FUNCTIONS)}. Correct the name.",
        ) from error
