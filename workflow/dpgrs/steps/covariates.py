"""Covariates of a study's people: from a table, and principal components from public loadings."""

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.evaluation.split import per_row
from dpgrs.io.covariates import Covariates
from dpgrs.io.loadings import read_loadings
from dpgrs.io.panel import Panel
from dpgrs.io.phenotypes import constants_of, match_outcomes, read_outcomes, read_scales, standardise
from dpgrs.regression.clipped_statistics import GENOTYPE_STEP
from dpgrs.regression.covariates import covariate_units
from dpgrs.regression.principal_components import project
from dpgrs.regression.statistics import coded_rows, column_moments
from dpgrs.steps.people import TELL_NOBODY, count_people


def make_covariates(
    panel,
    *,
    output,
    rows,
    bound,
    names=(),
    table=None,
    scales=None,
    loadings=None,
    is_release=False,
    least_share=0.5,
    people_counts=None,
):
    """Standardise, clip and round the covariates of every row, each row by itself.

    Parameters
    ----------
    panel : path of the panel, for its people and, with loadings, their genotypes.
    output : path of the covariates file.
    rows : Rows; a person's covariates are those of each of their rows, but components are of the row itself.
    bound : float > 0, public clip, in standard deviations.
    names : sequence of str, columns of the table, in order.
    table, scales : paths of the table, and of the public constants of its columns; None without a table.
    loadings : path of the loadings of principal components; None without them.
    is_release : bool, whether a failure that depends on private data says that it does.
    least_share, people_counts : as in `dpgrs.steps.outcomes.make_outcomes`.

    Raises
    ------
    DpgrsError
        If a column or its constants are missing, or too few people of the genotypes are in the table.
    """
    panel, parts = Panel.open(panel), []
    if table is not None:
        counting = {"least_share": least_share, "output": people_counts, "is_release": is_release}
        parts.append(_of_table(panel.sample_id, table, names, scales, rows=rows, **counting))
    if loadings is not None:
        parts.append(_of_genotypes(panel, read_loadings(loadings), rows=rows))
    found, Z, centre, scale = zip(*parts, strict=True)
    Covariates(
        tuple(name for part in found for name in part),
        covariate_units(np.vstack(Z), bound=bound, rows=rows),
        np.concatenate(centre),
        np.concatenate(scale),
        bound,
        rows,
    ).save(output)


def joined_rows(panel, size, *, rows, covariates=None, is_selected=None):
    """Return X as fits predict from: genotypes in `half` coding, then covariates, without a clip of rows.

    Parameters
    ----------
    panel : Panel
    size : int, of the panel.
    rows : Rows
    covariates : Covariates or None.
    is_selected : (n_rows,) bool, the rows to return; None returns all.

    Returns
    -------
    (n_selected, size + n_covariates) float64.
    """
    X = coded_rows(
        panel.genotypes(panel.of_size(size)),
        n_haplotypes=panel.n_haplotypes,
        rows=rows,
        is_selected=is_selected,
    )
    if covariates is None:
        return X
    return np.hstack([X, selected_units(covariates, is_selected).T * GENOTYPE_STEP])


def selected_units(covariates, is_selected):
    """Return the (n_covariates, n_selected) int16 units of selected rows, all if None; None without any."""
    if covariates is None:
        return None
    return covariates.units if is_selected is None else covariates.units[:, is_selected]


def _of_table(sample_id, path, names, scales, *, rows, is_release, **counting):
    """Return names, standardised values (n_covariates, n_rows) and constants of the columns of a table."""
    constants = constants_of(names, read_scales(scales, kind="covariate"), path=scales, kind="covariate")
    table = read_outcomes(path, columns=names)
    count_people(table, sample_id, path=path, kind="covariate", is_release=is_release, **counting)
    try:
        standard = standardise(table, constants)
    except DpgrsError as error:
        raise DpgrsError(f"{error} {TELL_NOBODY}" if is_release else str(error)) from None
    values = per_row(match_outcomes(standard, sample_id)[0], rows=rows)
    return names, values, constants["centre"].to_numpy(), constants["scale"].to_numpy()


def _of_genotypes(panel, loadings, *, rows):
    """Return the same of principal components; they are scaled by the reference already."""
    columns = loadings.places(panel.variants)
    means = column_moments(loadings.frequency, rows=rows)[0]
    Z = project(
        panel.genotypes(columns), loadings.values, means=means, n_haplotypes=panel.n_haplotypes, rows=rows
    )
    n = len(loadings.names)
    return loadings.names, Z, np.zeros(n), np.ones(n)
