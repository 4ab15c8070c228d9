"""What keeps scores from being applied to people: files that are missing or do not go together."""

import re
from pathlib import Path

from dpgrs.errors import DpgrsError, must
from dpgrs.io.genome_builds import KEY, LENGTHS
from dpgrs.io.tables.tables import read_populations
from dpgrs.preflight.controlled import HEALTH_ALONE, IN_PATH, SCORED_PATHS
from dpgrs.scoring.score_files import list_scores, require_readable, score_builds
from dpgrs.study.score_terms import TARGET, genotypes_to_score, scored_folder
from dpgrs.study.table_cohort import TABLE

RELEASE, METHOD = "score.release", "score.weights_of"
POPULATIONS, FREQUENCIES = "score.populations", "score.frequencies"
# What says nothing without a target.
OTHERS = tuple(key for key in SCORED_PATHS if key != TARGET)
OWN = (TARGET, RELEASE, METHOD, "mode", "methods", "cohort.source", KEY)
KEYS = (
    *SCORED_PATHS,
    "score.genome_build",
    "score.field",
    "cohort.chromosomes",
    KEY,
)


def unused_problems(inspection, key):
    """Refuse files that go with a target where there is none."""
    paths = inspection.paths(key)
    if not paths or inspection[TARGET]:
        return []
    return [must(TARGET, f"name genotype files where `{key}` is given", "none", "Say who is scored.")]


def method_problems(inspection):
    """Ask a benchmark whose scores are applied; of a release, and of scores of others, this is known."""
    method, known = inspection[METHOD], inspection["methods"]
    if inspection[RELEASE] or inspection.mode == "release" or not inspection[TARGET]:
        wanted = "be null but for a benchmark with a target and without `score.release`"
        return [must(METHOD, wanted, method, "Leave it out.")] if method else []
    if method not in known:
        fix = "Say it, or name a release or scoring files as `score.release`."
        return [must(METHOD, f"be one of {', '.join(known)}", method or "null", fix)]
    if inspection["cohort.source"] == TABLE:
        wanted, fix = "be genotypes for `score.weights_of`", "Name scoring files as `score.release`."
        return [must("cohort.source", wanted, TABLE, fix)]
    if inspection[KEY] is None:
        wanted = f"be {' or '.join(LENGTHS)} for `score.weights_of`"
        return [must(KEY, wanted, "null", "Say of which build the cohort is.")]
    return []


def place_problems(inspection, key):
    """Refuse files that lie where the results are written."""
    output = scored_folder(f"results/{inspection['study']}")
    place = Path(output).resolve()
    inside = [path for path in inspection.paths(key) if Path(path).resolve().is_relative_to(place)]
    wanted = f"lie outside {output}, which is written anew"
    return [must(key, wanted, path, "Move it, or name another study.") for path in inside]


def ancestry_problems(inspection):
    """Refuse distributions by population of people who may serve health research alone."""
    paths = [path for key in SCORED_PATHS for path in inspection.paths(key)]
    found = next((path for path in paths if IN_PATH.search(path) and HEALTH_ALONE.search(path)), None)
    if found is None or inspection[POPULATIONS] is None:
        return []
    wanted = "be null under consent to health research alone (HMB)"
    return [must(POPULATIONS, wanted, f"{inspection[POPULATIONS]} with {found}", "Leave it out.")]


def file_problems(inspection):
    """List what is wrong with the files of a target, by their names and heads.

    Their variants are looked at as people are scored.
    """
    score, lines = inspection.config.score, []
    if not score.target:
        return []
    from dpgrs.scoring.apply import open_people  # brings numba

    found = {}
    for name in ("target", "reference"):
        try:
            found[name] = genotypes_to_score(inspection.config, name)
        except DpgrsError as error:
            lines.append(f"`score.{name}`: {error}")
    release, stated = score.release, inspection[KEY]
    own = {stated} if stated else None
    samples = None
    try:
        listed = list_scores(release)
        builds = score_builds(listed) if release else own
        if len(found) == 2:
            people, _, build = open_people(
                found["target"],
                builds,
                genome_build=score.genome_build,
                field=score.field,
                reference=found["reference"] or None,
            )
            samples = people.samples
            require_readable(listed, build=build)
            if not release and own and build not in own:
                wanted = f"be of the build of the study's scores, {stated}"
                lines.append(must(TARGET, wanted, build or "none", "Lift one over."))
    except DpgrsError as error:
        lines.append(f"`score`: {_in_keys(error)}")
    return lines + _table_problems(score, samples)


def _table_problems(score, samples):
    """List what is wrong with the tables beside the genotypes."""
    lines, path = [], score.frequencies
    if path and not Path(path).is_file():
        lines.append(must(FREQUENCIES, "be a table of sites", f"{path}, which is not there", "Correct it."))
    if not score.populations:
        return lines
    try:
        known = read_populations(score.populations).index
    except DpgrsError as error:
        return [*lines, f"`{POPULATIONS}`: {error}"]
    if samples is not None and not set(known) & set(samples):
        got = f"{score.populations} of other people alone"
        lines.append(must(POPULATIONS, "name people of `score.target`", got, "Correct the ids."))
    return lines


def _in_keys(error):
    """Name options of the command line as keys."""
    return re.sub(r"`--([a-z-]+)`", lambda found: f"`score.{found[1].replace('-', '_')}`", str(error))
