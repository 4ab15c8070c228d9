"""Audit cases of DP-SIS, and with it of the canonical Lipschitz mechanism, at neighbours that show all of it.

One of two features is chosen. Then the loss is gamma epsilon, and an attacker who sees the second chosen can
make the most of it (docs/proofs/canonical_lipschitz.md).
"""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dpgrs.genotypes.bits import pack
from dpgrs.privacy.audit.audit import AuditCase, PureLoss
from dpgrs.types import Neighbours, Rows, Unit
from dpgrs_papers.methods.audits.chosen import chosen_cases
from dpgrs_papers.selection.dp_sis import SisRequest, genotype_sis_scores, private_sis, table_sis_scores

if TYPE_CHECKING:
    from dpgrs.privacy.noise.base import NoiseSource

LOSS = 2.0
N_PEOPLE = 10
BOUND = 3.0


@dataclass(frozen=True)
class ExactRows:
    """The input of a case."""

    n_rows: int
    X: np.ndarray  # (n_rows, 2) int64, alleles, dosages, or -1 and 1 in a table
    y: np.ndarray  # (n_rows,) float64, beyond the bound, so that clipping is audited, too


def sis_cases() -> list[AuditCase]:
    """Return cases of haplotypes, of people and of a table, and of sets in a study."""
    added, replaced = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
    return [
        _case(added, Rows.HAPLOTYPES, Unit.PERSON, gamma=0.5),
        _case(replaced, Rows.PEOPLE, Unit.PERSON, gamma=0.8),
        _case(added, Rows.PEOPLE, Unit.PERSON, gamma=0.8, is_table=True),
        *chosen_cases(),
    ]


def _case(
    neighbours: Neighbours, rows: Rows, unit: Unit, *, gamma: float, is_table: bool = False
) -> AuditCase:
    high = 1 if Rows(rows) == Rows.HAPLOTYPES or is_table else 2
    low = -1 if is_table else 0
    unit_rows = 2 if (rows, unit) == (Rows.HAPLOTYPES, Unit.PERSON) else 1
    # Without the unit both features have the same score; the unit raises the first as far as it can and
    # lowers the second. Under replace-one the other unit does it the other way round, and
    # there is so much between the features that they are equal after it.
    other_rows = np.full((N_PEOPLE * unit_rows, 2), high)
    member_rows, replacing_rows = np.tile([high, low], (unit_rows, 1)), np.tile([low, high], (unit_rows, 1))
    if neighbours == Neighbours.ADD_REMOVE:
        pair = np.vstack([member_rows, other_rows]), other_rows
    else:
        pair = (
            np.vstack([member_rows, member_rows, other_rows]),
            np.vstack([replacing_rows, member_rows, other_rows]),
        )
    request = SisRequest(epsilon=LOSS / gamma, n_choices=1, unit=unit, neighbours=neighbours, gamma=gamma)
    case_terms = {"neighbours": str(neighbours), "unit": str(unit), "rows": str(rows)}
    return AuditCase(
        mechanism=private_sis.__name__,
        terms=case_terms | {"budget": f"{'table' if is_table else 'genotypes'}, gamma {gamma}"},
        pair=tuple(ExactRows(len(X), X, np.full(len(X), 2 * BOUND)) for X in pair),
        claim=PureLoss(request.gamma * request.epsilon),
        run=partial(_run, rows=None if is_table else rows, request=request),
        score=lambda chosen: chosen - 0.5,
    )


def _run(exact: ExactRows, noise: "NoiseSource", *, rows: Rows | None, request: SisRequest) -> int:
    if rows is None:
        scores = table_sis_scores(exact.X, exact.y[np.newaxis], column_bounds=1.0, outcome_bound=BOUND)
    else:
        alleles = exact.X.T if rows == Rows.HAPLOTYPES else _alleles(exact.X.T)
        scores = genotype_sis_scores(
            pack(alleles), exact.y[np.newaxis], n_haplotypes=alleles.shape[1], rows=rows, outcome_bound=BOUND
        )
    chosen, _ = private_sis(scores.of_outcome(0), request=request, noise=noise)
    return int(chosen[0])


def _alleles(dosages: np.ndarray) -> np.ndarray:
    """Return (n_variants, 2 n_people) alleles of dosages 0 and 2."""
    return np.repeat(dosages // 2, 2, axis=1)
