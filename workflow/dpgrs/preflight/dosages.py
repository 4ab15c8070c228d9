"""What can be seen to be wrong with a study on dosages before any job runs."""

from dpgrs.errors import DpgrsError, must
from dpgrs.io.plink.plink import is_autosome
from dpgrs.methods.registry import methods_that
from dpgrs.study.cohort_files import cohort_files
from dpgrs.types import Bounds, Rows


def dosage_problems(inspection):
    """List the problems of `cohort.field: DS`."""
    config = inspection.config
    cohort, lines = config["cohort"], []
    if cohort["field"] != "DS":
        return lines
    if cohort["source"] == "simulate":
        fix = "Say `field: GT`, or give imputed genotypes."
        lines.append(must("cohort.field", "be GT for a simulated cohort, which has calls", "DS", fix))
    if cohort["rows"] != Rows.PEOPLE:
        fix = "Say `rows: people`."
        lines.append(must("cohort.rows", "be people with `cohort.field: DS`", cohort["rows"], fix))
    if (bounds := config["privacy"]["bounds"]) != Bounds.TIGHT:
        fix = "Say `privacy: {bounds: tight}`."
        lines.append(must("privacy.bounds", "be tight with `cohort.field: DS`", bounds, fix))
    taking = methods_that("takes_covariates")
    others = [name for name in config["methods"] if name not in taking]
    if others:
        wanted = f"be among {', '.join(taking)} with `cohort.field: DS`"
        fix = "Leave them out, or say `field: GT`."
        lines.append(must("methods", wanted, ", ".join(others), fix))
    if others := [name for name in cohort["chromosomes"] if not is_autosome(name)]:
        wanted = "be 1 to 22 with `cohort.field: DS`, as nothing says how far the dosages of men go elsewhere"
        fix = "Leave them out, or say `field: GT`."
        lines.append(must("cohort.chromosomes", wanted, ", ".join(others), fix))
    return lines + _bed_problems(cohort)


def _bed_problems(cohort):
    if cohort["source"] != "plink" or not cohort["plink"]:
        return []
    for chromosome in cohort["chromosomes"]:
        try:
            found = next((file for file in cohort_files(cohort, chromosome) if file.suffix == ".bed"), None)
        except DpgrsError:
            return []  # said by other checks
        if found:
            fix = "Say `field: GT`, or give a .pgen, VCF or BCF."
            return [must("cohort.plink", "have dosages for `cohort.field: DS`", f"{found}, a .bed", fix)]
    return []
