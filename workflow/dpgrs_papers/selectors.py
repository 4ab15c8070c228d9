"""The selectors of this package, a row each, as `entry_points.txt` names them: only for benchmarks."""

from dpgrs.selection.registry import Selector

SIS = Selector(
    description="by the products of variant and outcome (DP-SIS)",
    code="dpgrs_papers.selection.dp_sis:Sis",
    paper_key="screening.scaling",
    streams=("private", "exact"),
    audited=("private_sis", "private_choices"),
)
TWO_STAGE = Selector(
    description="by the votes of groups, each with a Lasso of its own (two-stage)",
    code="dpgrs_papers.selection.votes:TwoStage",
    fits_groups=True,
    counts_units=True,
)
SUBLASSO = Selector(
    description="by the votes of small groups, each with a Lasso of its own (SubLasso)",
    code="dpgrs_papers.selection.votes:SubLasso",
    takes_tables=True,
    fits_groups=True,
    counts_units=True,
)
LASSO = Selector(
    description="by one Lasso on all people, without privacy",
    code="dpgrs_papers.selection.lasso:LassoOfAll",
    is_private=False,
    fits_rows=True,
)
