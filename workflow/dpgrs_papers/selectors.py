"""The selectors of this package, a row each, as `entry_points.txt` names them: only for benchmarks."""

from dpgrs.selection.registry import Selector

SIS = Selector(
    way="by the products of variant and outcome (DP-SIS)",
    private="dpgrs_papers.selection.dp_sis:choose_privately",
    exact="dpgrs_papers.selection.dp_sis:choose_exactly",
    asked="dpgrs_papers.selection.dp_sis:make_request",
    audits="dpgrs_papers.selection.audits.sis:sis_cases",
    paper="dpgrs_papers.selection.dp_sis:choose_as_paper",
    paper_key="screening.scaling",
    streams=("private", "exact"),
    audited=("private_sis", "private_choices"),
)
TWO_STAGE = Selector(
    way="by the votes of groups, each with a Lasso of its own (two-stage)",
    private="dpgrs_papers.selection.votes:choose_privately",
    exact="dpgrs_papers.selection.votes:two_stage_exactly",
    asked="dpgrs_papers.selection.votes:asked_of_two_stage",
    fits_groups=True,
    audits="dpgrs_papers.selection.audits.votes:votes_cases",
    counts_units=True,
)
SUBLASSO = Selector(
    way="by the votes of small groups, each with a Lasso of its own (SubLasso)",
    private="dpgrs_papers.selection.votes:choose_privately",
    exact="dpgrs_papers.selection.votes:sublasso_exactly",
    asked="dpgrs_papers.selection.votes:asked_of_sublasso",
    fits_groups=True,
    of_table="dpgrs_papers.selection.votes:sublasso_of_table",
    audits="dpgrs_papers.selection.audits.votes:votes_cases",
    counts_units=True,
)
LASSO = Selector(
    way="by one Lasso on all people, without privacy",
    exact="dpgrs_papers.selection.lasso:choose_exactly",
    fits_rows=True,
)
