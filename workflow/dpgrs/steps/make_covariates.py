"""Covariates of a study's people: from a table, and principal components from public loadings."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.evaluation.split import per_row
from dpgrs.io.covariates import Covariates
from dpgrs.io.loadings import Loadings, read_loadings
from dpgrs.io.tables.outcome_scales import constants_of, read_scales
from dpgrs.io.tables.people_counts import PeopleCount
from dpgrs.io.tables.phenotypes import match_outcomes, read_outcomes, standardise
from dpgrs.io.variant_set import VariantSet
from dpgrs.linalg.coding import column_moments
from dpgrs.linalg.covariates import covariate_units
from dpgrs.linalg.principal_components import project
from dpgrs.study.counted_people import TELL_NOBODY, require_enough
from dpgrs.study.table_settings import table_columns
from dpgrs.study.table_values import ClippedValues
from dpgrs.types import Rows, TableCheck

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

READS = ("mode", "cohort.rows", "covariates", "outcomes.least_share", "outcomes.checks")


def make_covariates(
    settings: "StudyConfig",
    variant_set: Path,
    *,
    table: Path | None = None,
    scales: Path | None = None,
    loadings: Path | None = None,
    people_counts: Path | None = None,
    is_reference: bool = False,
    output: Path,
) -> None:
    """Standardise, clip and round covariates, and project genotypes on principal components.

    A person's covariates are those of each of their rows, but components are of the row itself.

    Raises DpgrsError if a column or its constants are missing, or too few people of the genotypes are in the
    table; in a benchmark, if most values of a column would be clipped. Raises UsageError if a release would
    lack the table or the components that its settings name.

    Parameters
    ----------
    variant_set : the variant set, for its people and, with loadings, their genotypes.
    table : table of covariates.
    scales : public constants of its columns.
    loadings : loadings of principal components, from make-loadings.
    people_counts : file for the number of people with each covariate, shown to the operator only.
    is_reference : the people are the public reference; the table may have any number of others.
    output : the covariates to write.
    """
    paths, named_paths = (table, loadings), (settings.covariates.file, settings.covariates.pcs)
    if settings.mode == "release" and [*map(bool, paths)] != [*map(bool, named_paths)]:
        raise UsageError(
            "covariates-differ-from-statement",
            "`--table` and `--loadings` must be given if and only if `covariates.file` and `covariates.pcs` "
            "of a release are, got others: its draws would be of other covariates than its statement says. "
            "Nothing was charged. Give what the settings name.",
        )
    variant_set, rows, column_groups = VariantSet.open(variant_set), settings.cohort.rows, []
    is_release, bound = settings.mode == "release", settings.covariates.bound
    if table is not None:
        names = table_columns(settings.covariates)
        counting = {
            "least_share": settings.outcomes.least_share,
            "checks": settings.outcomes.checks,
            "output": people_counts,
            "is_release": is_release,
            "is_reference": is_reference,
        }
        column_groups.append(
            _of_table(variant_set.sample_id, table, names, scales, rows=rows, bound=bound, **counting)
        )
    if loadings is not None:
        column_groups.append(_of_genotypes(variant_set, read_loadings(loadings), rows=rows))
    group_names, Z, centre, scale = zip(*column_groups, strict=True)
    Covariates(
        tuple(name for names_of_group in group_names for name in names_of_group),
        covariate_units(np.vstack(Z), bound=bound, rows=rows),
        np.concatenate(centre),
        np.concatenate(scale),
        bound,
        rows,
    ).save(output)


class StoredGenotypes:
    """Genotypes of some variants of a variant set, read when they are asked for."""

    def __init__(self, variant_set: VariantSet, columns: np.ndarray) -> None:
        self._variant_set, self._columns = variant_set, columns

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, variants: slice) -> np.ndarray:
        return self._variant_set.genotypes(self._columns[variants])


def _of_table(
    sample_id: np.ndarray,  # (n_people,) str
    path: Path,
    names: Sequence[str],
    scales: Path | None,
    *,
    rows: Rows,
    bound: float,
    is_release: bool,
    **counting: Any,  # as of `require_enough`
) -> tuple[Sequence[str], np.ndarray, np.ndarray, np.ndarray]:
    """Return names, standardised values (n_covariates, n_rows) and constants of the columns of a table."""
    constants = constants_of(names, read_scales(scales, kind="covariate"), path=scales, kind="covariate")
    table = read_outcomes(path, columns=names)
    counts = PeopleCount("covariate", sample_id)
    counts.add(table)
    require_enough(counts, path=path, is_release=is_release, **counting)
    try:
        requires_binary = TableCheck.BINARY in counting["checks"]
        standard = standardise(table, constants, requires_binary=requires_binary)
    except DpgrsError as error:
        is_private = is_release and not counting["is_reference"]
        raise DpgrsError(error.code, f"{error} {TELL_NOBODY}" if is_private else str(error)) from None
    if not is_release:  # which does not judge values, as they are private
        clipped = ClippedValues(constants, bound=bound)
        clipped.add(table.loc[table.index.isin(sample_id)])
        if lines := clipped.problems():
            raise DpgrsError("values-off-scale", "\n".join(lines))
    standard_values = per_row(match_outcomes(standard, sample_id)[0], rows=rows)
    return names, standard_values, constants["centre"].to_numpy(), constants["scale"].to_numpy()


def _of_genotypes(
    variant_set: VariantSet, loadings: Loadings, *, rows: Rows
) -> tuple[Sequence[str], np.ndarray, np.ndarray, np.ndarray]:
    """Return the same of principal components, which the reference has scaled already."""
    columns = loadings.rows_in(variant_set.variants)
    means = column_moments(loadings.frequency, rows=rows)[0]
    Z = project(
        StoredGenotypes(variant_set, columns),
        loadings.values,
        means=means,
        n_haplotypes=variant_set.n_haplotypes,
        rows=rows,
    )
    n = len(loadings.names)
    return loadings.names, Z, np.zeros(n), np.ones(n)
