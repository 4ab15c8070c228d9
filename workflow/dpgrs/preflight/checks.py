"""What can be seen to go wrong before any job runs: files, ids, contigs, budgets, what is not offered yet."""

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from operator import getitem
from pathlib import Path

from dpgrs import __version__
from dpgrs.errors import DpgrsError, UsageError, must
from dpgrs.io.genome_builds import LENGTHS, SIMULATED_BUILD, declared_builds
from dpgrs.io.genotype_files import genotype_header, order_parts
from dpgrs.io.plink.plink import require_phase
from dpgrs.io.plink.tables import GENOTYPES
from dpgrs.methods.registry import METHODS
from dpgrs.preflight.controlled import controlled_problems
from dpgrs.preflight.covariates import COVARIATE_KEYS, covariate_problems
from dpgrs.preflight.dosages import DOSAGE_KEYS, dosage_problems
from dpgrs.preflight.genome_builds import position_problems
from dpgrs.preflight.people import chosen_people
from dpgrs.preflight.release import benchmark_problems, release_problems
from dpgrs.preflight.selection import SCREENING_KEYS, screening_problems
from dpgrs.preflight.tables import (
    encrypted_line,
    is_encrypted,
    outcome_problems,
    population_problems,
    reference_outcome_problems,
)
from dpgrs.study.cohort_files import cohort_files, cohort_pattern, reference_files_of
from dpgrs.study.fetched_files import fetch_problems, files_to_fetch
from dpgrs.study.settings import PATHS, counts_outcomes, examine
from dpgrs.study.settings_files import is_endless
from dpgrs.types import Protection, Rows, Unit

BRACED = re.compile(r"{[^{}]*}")
# The ledger is no input of a rule; genotypes are judged where they are read.
WITH_ANY_NAME = frozenset({"privacy.ledger", "cohort.vcf", "cohort.plink"})
AUTOSOMES = frozenset(str(number) for number in range(1, 23))


@dataclass(frozen=True)
class Refusal:
    """A setting that the schema knows but this version does not offer.

    Attributes
    ----------
    key : str, dotted path.
    remedy : str, what to do instead.
    values : frozenset of the values refused; empty refuses every value but null.
    mode : str, the mode that refuses it; empty for both.
    """

    key: str
    remedy: str
    values: frozenset = frozenset()
    mode: str = ""


NOT_OFFERED = (
    Refusal("privacy.protection", "Use `protection: full`.", frozenset({"feature", "label"}), "release"),
    Refusal("public.genotypes", "Leave it out: all genotypes are protected."),
    Refusal("public.outcomes", "Leave it out: all outcomes are protected."),
)


def check(raw, *, tell=None):
    """Resolve a configuration and look for every problem that can be seen before a job runs.

    Parameters
    ----------
    raw : dict, as Snakemake merged it.
    tell : function of a line for the operator alone, who is in the tables of outcomes and covariates; None
        tells nobody.

    Returns
    -------
    dict, as from `dpgrs.study.settings.resolve`.

    Raises
    ------
    UsageError
        With all problems of the configuration and of the files that it names, one a line.
    """
    if is_endless(raw):
        raise UsageError("Settings must have an end, got aliases that repeat without one. Write them out.")
    config, found = examine(raw)
    lines = [problem.line for problem in found]
    lines += problems(config, doubtful=frozenset(problem.key for problem in found), tell=tell)
    if lines:
        raise UsageError("\n".join(lines))
    return config


def problems(config, *, doubtful=frozenset(), tell=None):
    """List everything that can be seen to go wrong.

    Parameters
    ----------
    config : dict from `dpgrs.study.settings.resolve`.
    doubtful : set of str, keys whose values are not what the user meant; what depends on them is not judged.
    tell : as in `check`.

    Returns
    -------
    list of str, one line a problem: what, where, how to mend it.
    """
    cohort, outcomes = config["cohort"], config["outcomes"]

    def is_clear(*needed):
        return not any(key == doubt or key.startswith(f"{doubt}.") for key in needed for doubt in doubtful)

    shows_ids = config["mode"] == "benchmark" and is_clear("mode")
    lines = _not_offered(config) + _mode_problems(config) + _brace_problems(config)
    if is_clear("mode"):
        gates = release_problems if config["mode"] == "release" else benchmark_problems
        lines += gates(config, is_clear=is_clear)
    if is_clear("mode", "dataset", "cohort", "people", "public"):
        lines += controlled_problems(config)
    if is_clear("mode", "cohort.source", "cohort.chromosomes", "cohort.fetch"):
        lines += fetch_problems(config)
    headers, absent = {}, files_to_fetch(config)
    if is_clear("cohort.source", "cohort.vcf", "cohort.plink", "cohort.chromosomes", "cohort.rows"):
        headers, found = _read_headers(cohort, absent=absent, shows_ids=shows_ids)
        lines += found
    reference = _reference_headers(config)
    if is_clear("mode", "cohort.source", "cohort.chromosomes", "release.genome_build"):
        # What a header tells, positions need not tell again.
        lines += _build_problems(config, headers, reference) or position_problems(config)
    people = _people_of(headers)
    if is_clear("mode", "cohort.source", "people"):
        people, found = chosen_people(config, people, shows_ids=shows_ids, tell=tell)
        lines += found
    if is_clear("cohort.source", "cohort.populations") and cohort["populations"] not in absent:
        lines += population_problems(cohort, people, shows_ids=shows_ids)
    if is_clear("outcomes.source", "outcomes.file", "outcomes.count", "outcomes.least_share"):
        lines += outcome_problems(outcomes, people, shows_ids=shows_ids, tell=tell)
    others = _people_of(reference)
    if is_clear("mode", "outcomes", "evaluation"):
        lines += reference_outcome_problems(config, others, tell=tell)
    if is_clear(*COVARIATE_KEYS):
        options = {"shows_ids": shows_ids, "reference_people": others, "tell": tell}
        lines += covariate_problems(config, people, **options)
    if is_clear(*DOSAGE_KEYS):
        lines += dosage_problems(config)
    if is_clear("methods", "privacy.protection", "privacy.neighbours"):
        lines += _method_problems(config["methods"], config["privacy"])
    if is_clear("methods", *SCREENING_KEYS):
        lines += screening_problems(config)
    if is_clear("cohort.rows", "privacy.unit"):
        lines += _privacy_problems(cohort["rows"], config["privacy"]["unit"])
    if is_clear("outcomes.missing", "privacy.neighbours", "privacy.count_share"):
        lines += _count_problems(config)
    return list(dict.fromkeys(lines))


def _not_offered(config):
    """Refuse, rather than ignore, what this version does not do."""
    lines = []
    for refusal in NOT_OFFERED:
        if refusal.mode not in ("", config["mode"]):
            continue
        section, _, name = refusal.key.rpartition(".")
        value = (config[section] if section else config)[name]
        for entry in value if isinstance(value, list) else [value]:
            if entry in refusal.values or (not refusal.values and entry is not None):
                where = f" for `mode: {refusal.mode}`" if refusal.mode else ""
                lines.append(
                    f"`{refusal.key}: {entry}` is not available in dpgrs {__version__}{where}. "
                    f"{refusal.remedy}"
                )
    return lines


def _brace_problems(config):
    """Find paths that Snakemake would fill in as patterns; it has no way to escape braces."""
    lines = []
    for key in set(PATHS) - WITH_ANY_NAME:
        braced = BRACED.findall(reduce(getitem, key.split("."), config) or "")
        is_pattern = key == "public.reference"
        stray = [found for found in braced if not (is_pattern and found == "{chrom}")]
        if stray:
            wanted = "have no placeholder but {chrom}" if is_pattern else "be a path without braces"
            lines.append(must(key, wanted, stray[0], "Rename the file or folder."))
    return sorted(lines)


def _mode_problems(config):
    """Refuse to mix a benchmark and a release in one folder: its numbers could be taken for released."""
    folder = Path("results") / config["study"]
    for record in (folder / "settings.json", folder / "private" / "settings.json"):
        # Half a record, from a run that was killed, is written again by the next one.
        found = re.search(r'"mode": "(\w+)"', record.read_text()) if record.is_file() else None
        if found and found[1] != config["mode"]:
            wanted = f"be new for `mode: {config['mode']}`"
            return [must("study", wanted, f"that of a {found[1]}", "Name another.")]
    return []


def _read_headers(cohort, *, absent, shows_ids):
    """Read the header of all files that are there; return a dict of chromosome to header, and the problems.

    Those in `absent` are yet to be fetched, and checked by the jobs that read them.
    """
    if cohort["source"] == "simulate":
        return {}, _simulation_problems(cohort)
    key, path = cohort_pattern(cohort)
    lines = _pattern_problems(cohort, key, path)
    if path is None or is_encrypted(path):
        return {}, lines
    headers, known = {}, {}
    for chromosome in cohort["chromosomes"]:
        if path.replace("{chrom}", chromosome) in absent:
            continue
        try:
            files = tuple(cohort_files(cohort, chromosome))
            known[files] = headers[chromosome] = known.get(files) or genotype_header(files)
            if len(files) > 1:
                order_parts(files, chromosome)
            if cohort["rows"] == Rows.HAPLOTYPES and files[0].suffix in GENOTYPES:
                require_phase(files[0], chromosome)
        except DpgrsError as error:
            lines.append(f"`{key}`: {error}")
    return headers, lines + _contig_problems(headers) + _sample_problems(headers, key, shows_ids=shows_ids)


def _people_of(headers):
    """Return the people of the first header; None where there is none."""
    return next(iter(headers.values())).samples if headers else None


def _simulation_problems(cohort):
    lines = [
        must(
            "cohort.source",
            f"be {source} where `cohort.{key}` is given",
            "simulate",
            f"Say `source: {source}`.",
        )
        for key, source in (("vcf", "vcf"), ("plink", "plink"), ("populations", "vcf"))
        if cohort[key] is not None
    ]
    foreign = [name for name in cohort["chromosomes"] if name.removeprefix("chr") not in AUTOSOMES]
    if foreign:
        fix = "Correct them, or give VCFs with `source: vcf`."
        lines.append(must("cohort.chromosomes", "be among 1 to 22 for simulation", ", ".join(foreign), fix))
    return lines


def _pattern_problems(cohort, key, path):
    source = cohort["source"]
    other = "plink" if source == "vcf" else "vcf"
    if cohort[other] is not None:
        wanted = f"be {other} where `cohort.{other}` is given"
        return [must("cohort.source", wanted, source, "Correct it, or leave one of the two out.")]
    if path is None:
        fix = f"Give the {source.upper()} files, or simulate."
        return [must(key, f"be a path for `cohort.source: {source}`", "null", fix)]
    if is_encrypted(path):
        return [encrypted_line(key, path)]
    if source == "vcf" and path.endswith(GENOTYPES):
        return [must(key, "be a VCF or BCF", path, "Say `source: plink`, and give it as `plink`.")]
    stray = [name for name in BRACED.findall(path) if name != "{chrom}"]
    if stray:
        return [must(key, "have no placeholder but {chrom}", stray[0], "Write {chrom}.")]
    return []


def _contig_problems(headers):
    """Find chromosomes that a header does not declare; a header that declares none is not judged."""
    names = [chromosome.removeprefix("chr") for chromosome in headers]
    lines = []
    if len(set(names)) < len(names):
        fix = "Name each once, with or without `chr`."
        lines.append(must("cohort.chromosomes", "name every chromosome once", ", ".join(headers), fix))
    for chromosome, header in headers.items():
        name = chromosome.removeprefix("chr")
        if header.contigs and not {name, f"chr{name}"} & set(header.contigs):
            declared = ", ".join(list(header.contigs)[:5])
            wanted = f"be contigs of {header.path}, such as {declared}"
            lines.append(must("cohort.chromosomes", wanted, chromosome, "Correct the name or the path."))
    return lines


def _sample_problems(headers, key, *, shows_ids):
    """Find files that do not hold the same people in the same order as the first."""
    if not headers:
        return []
    first, *others = headers.values()
    lines = []
    if len(first.samples) < 2:
        lines.append(must(key, "hold at least 2 people", f"1 in {first.path}", "Add people to test on."))
    for other in others:
        if other.samples == first.samples:
            continue
        common = len(set(other.samples) & set(first.samples))
        got = f"others in {first.path} than in {other.path}"
        if shows_ids:
            sizes = (f"{len(header.samples)} in {header.path}" for header in (first, other))
            got = f"{', '.join(sizes)}, {common} in both"
        fix = "Select them with `bcftools view --samples-file`."
        if key == "cohort.plink":
            fix = "Select them with `plink2 --keep`."
        lines.append(must(key, "hold the same people in the same order in all files", got, fix))
    return lines


def _build_problems(config, headers, reference):
    """Find a genome build that is not stated, or that the chromosomes of cohort or reference do not have."""
    key, stated = "release.genome_build", config["release"]["genome_build"]
    if config["cohort"]["source"] == "simulate":
        wanted = f"be {SIMULATED_BUILD} for a simulated cohort"
        return [] if stated == SIMULATED_BUILD else [must(key, wanted, stated, "Leave it out.")]
    ours = declared_builds(headers)
    theirs = declared_builds(reference)
    mixed = next(((one, other) for one in ours for other in theirs if one.build != other.build), None)
    lines = [_mixed_builds(*mixed)] if mixed else []
    if stated is None:
        return lines + ([_missing_build(key, ours + theirs)] if config["mode"] == "release" else [])
    # Where the two differ, the cohort's positions are those that are released.
    other = next((one for one in (ours if mixed else ours + theirs) if one.build != stated), None)
    if other:
        wanted = f"be the build of {_evidence(other)} ({other.build})"
        lines.append(must(key, wanted, stated, "Correct it, or lift the positions over."))
    return lines


def _reference_headers(config):
    """Read the headers of the public reference; `release_problems` names one that cannot be read."""
    path, headers = config["public"]["reference"], {}
    for chromosome in config["cohort"]["chromosomes"] if path else []:
        with suppress(DpgrsError):
            headers[chromosome] = genotype_header(reference_files_of(path, chromosome))
    return headers


def _missing_build(key, declared):
    fix = "Say of which build the positions are."
    if declared:
        fix = f"It is {declared[0].build} by {_evidence(declared[0])}."
    return must(key, f"be {' or '.join(LENGTHS)} for a cohort from files", "null", fix)


def _mixed_builds(cohort, reference):
    wanted = f"be of the build of the cohort, {cohort.build} by {_evidence(cohort)}"
    got = f"{reference.build} by {_evidence(reference)}"
    return must("public.reference", wanted, got, "Lift one over.")


def _evidence(declared):
    return f"{declared.path}, whose chromosome {declared.chromosome} has length {declared.length}"


def _method_problems(methods, privacy):
    """Find methods that no protection of the study has, and samples that are not accounted for."""
    lines = []
    for name in methods:
        known, neighbours = METHODS[name].protections, METHODS[name].neighbours
        if Protection.NONE not in known and not set(known) & set(privacy["protection"]):
            wanted = f"have {' or '.join(known)} for `methods: {name}`"
            got = ", ".join(privacy["protection"])
            lines.append(must("privacy.protection", wanted, got, "Add it, or leave the method out."))
        if neighbours not in (None, privacy["neighbours"]):
            wanted, got = f"be {neighbours} for `methods: {name}`", privacy["neighbours"]
            lines.append(must("privacy.neighbours", wanted, got, "Change it, or leave the method out."))
    return lines


def _count_problems(config):
    share, is_private = config["privacy"]["count_share"], config["privacy"]["neighbours"] == "add-remove"
    if is_private and counts_outcomes(config) and share >= 1 / 2:
        wanted = "be below 0.5, as rows and known outcomes are both counted"
        return [must("privacy.count_share", wanted, f"{share:g}", "Lower it.")]
    return []


def _privacy_problems(rows, unit):
    if rows == Rows.PEOPLE and unit == Unit.HAPLOTYPE:
        wanted = "be person where `cohort.rows` is people"
        return [must("privacy.unit", wanted, "haplotype", "Leave it out.")]
    return []
