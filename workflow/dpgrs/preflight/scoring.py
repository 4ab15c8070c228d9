"""Problems of scores applied to people: files that are missing or do not fit each other."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError, must
from dpgrs.io.genome_builds import KEY, LENGTHS
from dpgrs.io.tables.tables import read_populations
from dpgrs.preflight.controlled import HEALTH_ALONE, IN_PATH, SCORED_PATHS
from dpgrs.preflight.rules import GIVEN, is_given, rules
from dpgrs.scoring.score_files import list_scores, require_readable, score_builds
from dpgrs.study.score_terms import TARGET, genotypes_to_score, scored_folder
from dpgrs.study.table_cohort import TABLE

if TYPE_CHECKING:
    from dpgrs.config.release import Score
    from dpgrs.preflight.inspection import Inspection

RELEASE, METHOD = "score.release", "score.weights_of"
POPULATIONS, FREQUENCIES = "score.populations", "score.frequencies"
# Keys that have no use without a target.
OTHERS = tuple(key for key in SCORED_PATHS if key != TARGET)
UNUSED = rules(
    {
        **{
            f"`{TARGET}` must name genotype files where `{key}` is given, got none. Say who is scored.": (
                GIVEN,
                is_given(key),
            )
            for key in OTHERS
        },
    }
)
OWN = (TARGET, RELEASE, METHOD, "mode", "methods", "cohort.source", KEY)
KEYS = (
    *SCORED_PATHS,
    "score.genome_build",
    "score.field",
    "cohort.chromosomes",
    KEY,
)


def method_problems(inspection: "Inspection") -> list[str]:
    """Ask a benchmark for the method whose scores are applied; a release or scoring files need none."""
    method, methods = inspection[METHOD], inspection["methods"]
    if inspection[RELEASE] or inspection.mode == "release" or not inspection[TARGET]:
        domain = "be null but for a benchmark with a target and without `score.release`"
        return [must(METHOD, domain, method, "Leave it out.")] if method else []
    if method not in methods:
        fix = "Say it, or name a release or scoring files as `score.release`."
        return [must(METHOD, f"be one of {', '.join(methods)}", method or "null", fix)]
    if inspection["cohort.source"] == TABLE:
        domain, fix = "be genotypes for `score.weights_of`", "Name scoring files as `score.release`."
        return [must("cohort.source", domain, TABLE, fix)]
    if inspection[KEY] is None:
        domain = f"be {' or '.join(LENGTHS)} for `score.weights_of`"
        return [must(KEY, domain, "null", "Say of which build the cohort is.")]
    return []


def place_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse files that lie where the results are written."""
    output = scored_folder(f"results/{inspection['study']}")
    output_folder = Path(output).resolve()
    inside = [path for path in inspection.paths(key) if Path(path).resolve().is_relative_to(output_folder)]
    domain = f"lie outside {output}, which is written anew"
    return [must(key, domain, path, "Move it, or name another study.") for path in inside]


def ancestry_problems(inspection: "Inspection") -> list[str]:
    """Refuse distributions by population of people whose consent is to health research only."""
    paths = [path for key in SCORED_PATHS for path in inspection.paths(key)]
    limited = next((path for path in paths if IN_PATH.search(path) and HEALTH_ALONE.search(path)), None)
    if limited is None or inspection[POPULATIONS] is None:
        return []
    domain = "be null under consent to health research only (HMB)"
    return [must(POPULATIONS, domain, f"{inspection[POPULATIONS]} with {limited}", "Leave it out.")]


def file_problems(inspection: "Inspection") -> list[str]:
    """List the problems of the files of a target by names and heads; the job checks their variants."""
    score, lines = inspection.config.score, []
    if not score.target:
        return []
    from dpgrs.scoring.apply import open_people  # brings numba

    genotype_files = {}
    for name in ("target", "reference"):
        try:
            genotype_files[name] = genotypes_to_score(inspection.config, name)
        except DpgrsError as error:
            lines.append(f"`score.{name}`: {error}")
    release, stated = score.release, inspection[KEY]
    stated_builds = {stated} if stated else None
    samples = None
    try:
        listed = list_scores(release)
        builds = score_builds(listed) if release else stated_builds
        if len(genotype_files) == 2:
            people, _, build = open_people(
                genotype_files["target"],
                builds,
                genome_build=score.genome_build,
                field=score.field,
                reference=genotype_files["reference"] or None,
            )
            samples = people.samples
            require_readable(listed, build=build)
            if not release and stated_builds and build not in stated_builds:
                domain = f"be of the build of the study's scores, {stated}"
                lines.append(must(TARGET, domain, build or "none", "Lift one over."))
    except DpgrsError as error:
        lines.append(f"`score`: {_in_keys(error)}")
    return lines + _table_problems(score, samples)


def _table_problems(score: "Score", samples: Sequence[str] | None) -> list[str]:
    """List the problems of the tables beside the genotypes."""
    lines, path = [], score.frequencies
    if path and not Path(path).is_file():
        lines.append(must(FREQUENCIES, "be a table of sites", f"{path}, which is not there", "Correct it."))
    if not score.populations:
        return lines
    try:
        listed_ids = read_populations(score.populations).index
    except DpgrsError as error:
        return [*lines, f"`{POPULATIONS}`: {error}"]
    if samples is not None and not set(listed_ids) & set(samples):
        got = f"{score.populations}, which names none of them"
        lines.append(must(POPULATIONS, "name people of `score.target`", got, "Correct the ids."))
    return lines


def _in_keys(error: DpgrsError) -> str:
    """Name options of the command line as keys."""
    return re.sub(r"`--([a-z-]+)`", lambda option: f"`score.{option[1].replace('-', '_')}`", str(error))
