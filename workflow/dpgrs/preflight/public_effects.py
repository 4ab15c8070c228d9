"""What keeps a fit from starting from public effects."""

from dpgrs.errors import DpgrsError, must
from dpgrs.io.scoring_files import open_effects
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.study.variant_terms import takes_map
from dpgrs.types import Protection

KEY = "public.effects"


def unused_problems(inspection):
    """Refuse effects that no fit would take, or not under one of the protections."""
    taking, paths = ", ".join(methods_that("takes_effects")), inspection[KEY]
    if not paths:
        return []
    if not any(METHODS[name].takes_effects for name in inspection["methods"]):
        got = ", ".join(inspection["methods"])
        fix = f"Leave out `{KEY}`, or add one of them."
        return [must("methods", f"name one of {taking} with `{KEY}`", got, fix)]
    if Protection.FEATURE in inspection["privacy.protection"]:
        wanted = f"be full or label with `{KEY}`"
        return [must("privacy.protection", wanted, "feature", f"Leave out `{KEY}`.")]
    loadings = inspection["outcomes.loadings"]
    if loadings is not None:
        # They are of outcomes, and components are drawn.
        return [must("outcomes.loadings", f"be null with `{KEY}`", loadings, f"Leave out `{KEY}`.")]
    return []


def file_problems(inspection):
    """List what is wrong with the heads of files, and effects that a method cannot use."""
    lines, build = [], inspection["release.genome_build"]
    alone = [name for name in inspection["methods"] if METHODS[name].takes_effects]
    alone = [name for name in alone if not METHODS[name].takes_ld]
    for path in inspection[KEY]:
        try:
            file = open_effects(path, build=build)
        except DpgrsError as error:
            lines.append(f"`{KEY}`: {error}")
            continue
        if file.is_marginal and alone:
            wanted = f"hold effect_weight, effects that go together, for `methods: {', '.join(alone)}`"
            got = f"effects of one variant at a time in {path}"
            lines.append(must(KEY, wanted, got, "Use `methods: blup-ld`, or take a scoring file."))
        if not file.is_marginal and takes_map(inspection["methods"]):
            wanted = "hold beta, effects of one variant at a time, for `methods: blup-genome`"
            got = f"effects that go together in {path}"
            lines.append(must(KEY, wanted, got, "Take summary statistics, or `methods: blup-ld`."))
    return lines
