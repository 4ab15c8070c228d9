"""Audit cases of Peel and SubLasso: two features, one choice, and a unit that moves the gap as far as it can.

Four groups have the fixed votes (2, 2). The unit turns one of them, or two where it may, so that the second
feature comes from a gap of twice the sensitivity to a tie: then permute-and-flip loses all of epsilon.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.privacy.audit.audit import AuditCase, PureLoss, RangeLoss
from dpgrs.types import Neighbours, Selection, Unit
from dpgrs_papers.selection.peel import private_peel
from dpgrs_papers.selection.sensitivity import votes_sensitivity
from dpgrs_papers.selection.sublasso import GroupRule, assign_groups, private_sublasso

if TYPE_CHECKING:
    from dpgrs.privacy.noise.base import NoiseSource

EPSILON, RANGE = 2.0, 4.0
N_GROUPS = 4
FIRST, SECOND, NEITHER = (1, 0, 1), (0, 1, 9), (0, 0, 0)  # a row of two features and an outcome


@dataclass(frozen=True)
class ExactVotes:
    """The input of Peel."""

    n_rows: int  # from which the votes come
    votes: np.ndarray  # (d,) int64


@dataclass(frozen=True)
class ExactRows:
    """The input of SubLasso."""

    n_rows: int
    table: np.ndarray  # (n_rows, 3) float64, two features and an outcome
    keys: tuple[str, ...] | None


def votes_cases() -> list[AuditCase]:
    """Return the cases of Peel by both laws, and of SubLasso under both relations, by names and by places."""
    return [*_peel_cases(), _added(), _replaced_by_name(), _replaced_by_place()]


def _peel_cases() -> list[AuditCase]:
    flip, gumbel = Selection.PERMUTE_AND_FLIP, Selection.GUMBEL
    added = _case_terms(Neighbours.ADD_REMOVE, Unit.PERSON, rows="people", step=flip)
    replaced = _case_terms(Neighbours.REPLACE_ONE, Unit.PERSON, rows="people", step=gumbel)
    case = partial(AuditCase, mechanism=private_peel.__name__, score=_score)
    return [
        case(
            terms=added,
            pair=(ExactVotes(5, np.array([3, 1])), ExactVotes(4, np.array([2, 2]))),
            claim=PureLoss(EPSILON),
            run=partial(_run_peel, case_terms=added, law=flip, epsilon=EPSILON),
        ),
        case(
            terms=replaced,
            pair=(ExactVotes(3, np.array([2, 1])), ExactVotes(3, np.array([1, 2]))),
            claim=RangeLoss(RANGE),
            run=partial(_run_peel, case_terms=replaced, law=gumbel, epsilon=RANGE, is_by_place=True),
            is_for_releases=False,
        ),
    ]


def _added() -> AuditCase:
    """One unit in each group, where no Lasso can be fitted, or one more in the third."""
    names = _names_in([0, 1, 2, 3, 2])
    return _sublasso(
        _rows([NEITHER] * 4 + [FIRST], names),
        _rows([NEITHER] * 4, names[:4]),
        case_terms=_case_terms(Neighbours.ADD_REMOVE, Unit.PERSON, rows="people", step=GroupRule.SUBLASSO),
        rule=GroupRule.SUBLASSO,
        n_low=4,
    )


def _replaced_by_name() -> AuditCase:
    """Who leaves the third group and who joins the fourth turn one each."""
    *names, leaving, joining = _names_in([0, 0, 0, 1, 2, 3, 3, 2, 3])
    staying = [NEITHER] * 6 + [FIRST]
    return _sublasso(
        _rows([*staying, FIRST], (*names, leaving), n_each=2),
        _rows([*staying, SECOND], (*names, joining), n_each=2),
        case_terms=_case_terms(
            Neighbours.REPLACE_ONE, Unit.PERSON, rows="haplotypes", step=GroupRule.TWO_STAGE
        ),
        rule=GroupRule.TWO_STAGE,
        n_low=8,
        rows_per_unit=2,
    )


def _replaced_by_place() -> AuditCase:
    """The first two are together in the last group, where none of the others is."""
    names, last = list("0123"), N_GROUPS - 1
    in_last = [True, True, False, False]
    seed = next(seed for seed in count() if ((_groups(names, seed) == last) == in_last).all())
    return _sublasso(
        _rows([FIRST, NEITHER, NEITHER, NEITHER], None),
        _rows([NEITHER] * 4, None),
        case_terms=_case_terms(Neighbours.REPLACE_ONE, Unit.HAPLOTYPE, rows="haplotypes", step="by place"),
        rule=GroupRule.SUBLASSO,
        n_low=4,
        seed=seed,
    )


def _sublasso(*pair: ExactRows, case_terms: dict[str, str], **options: Any) -> AuditCase:
    return AuditCase(
        mechanism=private_sublasso.__name__,
        terms=case_terms,
        pair=pair,
        claim=PureLoss(EPSILON),
        run=partial(_run_sublasso, options={"seed": 0, **_relation(case_terms), **options}),
        score=_score,
    )


def _run_peel(
    exact: ExactVotes,
    noise: "NoiseSource",
    *,
    case_terms: dict[str, str],
    law: Selection,
    epsilon: float,
    is_by_place: bool = False,
) -> np.ndarray:
    sensitivity = votes_sensitivity(**_relation(case_terms), is_by_place=is_by_place)
    options = {"sensitivity": sensitivity, "epsilon": epsilon, "law": law}
    return private_peel(exact.votes, k=1, noise=noise, **options)[0]


def _run_sublasso(exact: ExactRows, noise: "NoiseSource", *, options: dict) -> np.ndarray:
    X, y = exact.table[:, :2], exact.table[:, 2]
    return private_sublasso(X, y, k=1, epsilon=EPSILON, unit_keys=exact.keys, noise=noise, **options)[0]


def _score(chosen: np.ndarray) -> float:
    """Guess the second input if the second feature was chosen."""
    return chosen[0] - 0.5


def _groups(keys: Sequence[str], seed: int) -> np.ndarray:
    return assign_groups(keys, n_groups=N_GROUPS, seed=seed)


def _names_in(groups: list[int]) -> tuple[str, ...]:
    """Return different names, one in each of the groups under the seed 0."""
    names = map(str, count())
    return tuple(next(name for name in names if _groups([name], 0)[0] == group) for group in groups)


def _rows(units: list[tuple], keys: tuple[str, ...] | None, *, n_each: int = 1) -> ExactRows:
    table = np.repeat(np.array(units, dtype=np.float64), n_each, axis=0)
    return ExactRows(len(table), table, keys)


def _relation(case_terms: dict[str, str]) -> dict[str, str]:
    return {"neighbours": case_terms["neighbours"], "unit": case_terms["unit"]}


def _case_terms(neighbours: Neighbours, unit: Unit, *, rows: str, step: str) -> dict[str, str]:
    labels = {"neighbours": neighbours, "unit": unit, "rows": rows, "budget": step}
    return {name: str(label) for name, label in labels.items()}
