"""People scored, and a page about them: for the command and for the rule."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpgrs.io.files import require_new
from dpgrs.io.tables.tables import populations_of
from dpgrs.reporting.scores import ScoreData, write_score_page
from dpgrs.scoring.apply import apply_scores
from dpgrs.scoring.writing import FIGURES, REPORT, caveats, write_applied


def score_people(
    target: Sequence[Path | str],  # as of `apply_scores`, like `scores`
    scores: Sequence[Path | str],
    *,
    output: Path | str,  # folder, new or empty; as private as the target
    field: str = "GT",  # GT, calls, or DS, dosages
    populations: Path | str | None = None,  # table of sample and population, for the page
    **options: Any,  # as of `apply_scores`
) -> dict[str, Any]:
    """Apply scores to people, write the folder of docs/how-to/score.md, and return the summary.

    The folder is whole or absent. A folder with files in it is a DpgrsError, as are the errors of
    `apply_scores`.
    """
    require_new(output)
    applied = apply_scores(target, scores, field=field, **options)
    groups = populations_of(populations, applied.samples) if populations else None

    def draw(folder: Path, summary: dict[str, Any]) -> None:
        shown_scores, units, limits, spreads = applied.shown()
        names = [outcome.name for outcome in applied.outcomes]
        page = ScoreData(
            summary["variants"], names, units, shown_scores, groups, list(caveats(summary)), limits, spreads
        )
        write_score_page(folder / REPORT, page, figures=folder / FIGURES)

    return write_applied(output, applied, target=target, field=field, draw=draw)
