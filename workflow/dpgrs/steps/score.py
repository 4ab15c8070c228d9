"""People scored, and a page about them: for the command and for the rule."""

from dpgrs.io.files import require_new
from dpgrs.io.tables.populations import populations_of
from dpgrs.reporting.scores import ScoreData, write_score_page
from dpgrs.scoring.apply import apply_scores
from dpgrs.scoring.writing import FIGURES, REPORT, caveats, write_applied


def score_people(target, scores, *, output, field="GT", populations=None, **options):
    """Apply scores to people, and write the folder that docs/how-to/score.md describes; it is whole or
    absent.

    Parameters
    ----------
    target, scores : lists of paths, see `dpgrs.scoring.apply.apply_scores`.
    output : the folder, new or empty. It is as private as the target.
    field : ``GT``, calls, or ``DS``, dosages.
    populations : path of a table of `sample` and `population`, for the page, or None.
    **options : as of `apply_scores`.

    Returns
    -------
    dict, the summary.

    Raises
    ------
    DpgrsError
        What `apply_scores` raises; a folder with files in it.
    """
    require_new(output)
    applied = apply_scores(target, scores, field=field, **options)
    groups = populations_of(populations, applied.samples) if populations else None

    def draw(folder, summary):
        values, units, limits, spreads = applied.shown()
        names = [outcome.name for outcome in applied.outcomes]
        page = ScoreData(
            summary["variants"], names, units, values, groups, list(caveats(summary)), limits, spreads
        )
        write_score_page(folder / REPORT, page, figures=folder / FIGURES)

    return write_applied(output, applied, target=target, field=field, draw=draw)
