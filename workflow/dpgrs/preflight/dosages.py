"""Problems of a study whose X holds fractions, from dosages or a table, before any job."""

from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError, must
from dpgrs.io.chromosomes import everybody_has_two
from dpgrs.io.genotype_forms import form_named
from dpgrs.methods.registry import METHODS
from dpgrs.study.cohort_files import cohort_files, cohort_pattern, has_genotype_files
from dpgrs.study.table_cohort import is_fractional, is_table, ranged_methods
from dpgrs.types import Bounds, Rows

if TYPE_CHECKING:
    from dpgrs.config.cohort import Cohort
    from dpgrs.preflight.inspection import Inspection

DOSAGE_KEYS = ("mode", "methods", "privacy.bounds", "cohort.field", "cohort.rows")


def dosage_problems(inspection: "Inspection") -> list[str]:
    """List settings that need calls of genotypes."""
    config = inspection.config
    if not is_fractional(config):
        return []
    cohort, lines, instead = config.cohort, [], ", or say `field: GT`"
    setting = "`cohort.field: DS`"
    if is_table(config):
        setting, instead = "`cohort.source: table`", ""
    elif cohort.source == "simulate":
        fix = "Say `field: GT`, or give imputed genotypes."
        lines.append(must("cohort.field", "be GT for a simulated cohort, which has calls", "DS", fix))
    if cohort.rows != Rows.PEOPLE:
        lines.append(must("cohort.rows", f"be people with {setting}", cohort.rows, "Say `rows: people`."))
    if (bounds := config.privacy.bounds) != Bounds.TIGHT:
        fix = "Say `privacy: {bounds: tight}`."
        lines.append(must("privacy.bounds", f"be tight with {setting}", bounds, fix))
    taking = [name for name, row in METHODS.items() if config.mode == "benchmark" or not row.draws_from_rows]
    taking = [name for name in taking if not is_table(config) or name in ranged_methods()]
    refused = [name for name in config.methods if name not in taking]
    if refused:
        domain = f"be among {', '.join(taking)} with {setting}"
        lines.append(must("methods", domain, ", ".join(refused), f"Leave them out{instead}."))
    return lines if is_table(config) else lines + _chromosome_problems(cohort) + _form_problems(cohort)


def _chromosome_problems(cohort: "Cohort") -> list[str]:
    refused = [name for name in cohort.chromosomes if not everybody_has_two(name)]
    if not refused:
        return []
    domain = "be 1 to 22 with `cohort.field: DS`, as nothing says how far the dosages of men go elsewhere"
    fix = "Leave them out, or say `field: GT`."
    return [must("cohort.chromosomes", domain, ", ".join(refused), fix)]


def _form_problems(cohort: "Cohort") -> list[str]:
    if not (has_genotype_files(cohort) and cohort_pattern(cohort)[1]):
        return []
    for chromosome in cohort.chromosomes:
        try:
            files = cohort_files(cohort, chromosome)
            undosed = next((file for file in files if not form_named(file).may_have_dosages(file)), None)
        except DpgrsError:
            return []  # other checks report it
        if undosed:
            fix = "Say `field: GT`, or give a .pgen, VCF or BCF."
            return [
                must(
                    cohort_pattern(cohort)[0],
                    "have dosages for `cohort.field: DS`",
                    f"{undosed}, a .bed",
                    fix,
                )
            ]
    return []
