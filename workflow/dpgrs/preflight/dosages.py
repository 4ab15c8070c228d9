"""What can be seen to be wrong with a study whose X holds fractions before any job: dosages, or a table."""

from dpgrs.errors import DpgrsError, must
from dpgrs.io.chromosomes import everybody_has_two
from dpgrs.io.genotype_forms import form_named
from dpgrs.methods.registry import METHODS
from dpgrs.study.cohort_files import cohort_files, cohort_pattern, has_genotype_files
from dpgrs.study.table_cohort import is_fractional, is_table, ranged_methods
from dpgrs.types import Bounds, Rows

DOSAGE_KEYS = ("mode", "methods", "privacy.bounds", "cohort.field", "cohort.rows")


def dosage_problems(inspection):
    """List the problems of what only calls of genotypes could have."""
    config = inspection.config
    if not is_fractional(config):
        return []
    cohort, lines, instead = config.cohort, [], ", or say `field: GT`"
    given = "`cohort.field: DS`"
    if is_table(config):
        given, instead = "`cohort.source: table`", ""
    elif cohort.source == "simulate":
        fix = "Say `field: GT`, or give imputed genotypes."
        lines.append(must("cohort.field", "be GT for a simulated cohort, which has calls", "DS", fix))
    if cohort.rows != Rows.PEOPLE:
        lines.append(must("cohort.rows", f"be people with {given}", cohort.rows, "Say `rows: people`."))
    if (bounds := config.privacy.bounds) != Bounds.TIGHT:
        fix = "Say `privacy: {bounds: tight}`."
        lines.append(must("privacy.bounds", f"be tight with {given}", bounds, fix))
    taking = [name for name, row in METHODS.items() if row.takes_fractions(config.mode)]
    taking = [name for name in taking if not is_table(config) or name in ranged_methods()]
    others = [name for name in config.methods if name not in taking]
    if others:
        wanted = f"be among {', '.join(taking)} with {given}"
        lines.append(must("methods", wanted, ", ".join(others), f"Leave them out{instead}."))
    return lines if is_table(config) else lines + _chromosome_problems(cohort) + _form_problems(cohort)


def _chromosome_problems(cohort):
    others = [name for name in cohort.chromosomes if not everybody_has_two(name)]
    if not others:
        return []
    wanted = "be 1 to 22 with `cohort.field: DS`, as nothing says how far the dosages of men go elsewhere"
    fix = "Leave them out, or say `field: GT`."
    return [must("cohort.chromosomes", wanted, ", ".join(others), fix)]


def _form_problems(cohort):
    if not (has_genotype_files(cohort) and cohort_pattern(cohort)[1]):
        return []
    for chromosome in cohort.chromosomes:
        try:
            files = cohort_files(cohort, chromosome)
            found = next((file for file in files if not form_named(file).may_have_dosages(file)), None)
        except DpgrsError:
            return []  # said by other checks
        if found:
            fix = "Say `field: GT`, or give a .pgen, VCF or BCF."
            return [
                must(
                    cohort_pattern(cohort)[0], "have dosages for `cohort.field: DS`", f"{found}, a .bed", fix
                )
            ]
    return []
