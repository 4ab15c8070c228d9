"""The selector's row."""

from dpgrs.selection.registry import Selector

SELECTOR = Selector(
    description="by products that somebody made up",
    code="made_up:ByProducts",
    audited=("private_made_up_scores",),
)
