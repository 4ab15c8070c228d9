# Settings, paths and helpers of all rules.
import json
import os
import re
import shlex
import sys
from functools import partial
from importlib.util import find_spec
from inspect import currentframe
from pathlib import Path


def refuse(error):
    """Say what is wrong and end with 2."""
    print(error, file=sys.stderr)
    sys.exit(2)


# Of the package that these rules call.
VERSION, HOW = "0.1.0", "Run `pip install '.[workflow]'` in a clone of that version."
# Where a Snakefile of the user's imports this one as a module, `workflow.basedir` is the folder of the user's.
PACKAGE_ROOT = Path(currentframe().f_code.co_filename).parents[1]
# Rules from a git address, or of a wheel, have no package beside them: theirs is installed.
if not (PACKAGE_ROOT / "dpgrs" / "__init__.py").is_file():
    if (found := find_spec("dpgrs")) is None or not found.origin:
        refuse(f"dpgrs {VERSION} must lie beside its rules or be installed. {HOW}")
    PACKAGE_ROOT = Path(found.origin).parents[1]
sys.path.insert(0, str(PACKAGE_ROOT))

from dpgrs import __version__
from dpgrs.study.code import code_digest
from dpgrs.study.cohort_files import (
    cohort_files,
    reference_files_of,
    stored_chromosomes,
    tables_of,
)
from dpgrs.study.verbs import code_read, settings_read
from dpgrs.study.settings import resolve
from dpgrs.study.settings_files import hand_settings_over, require_plain
from dpgrs.preflight.controlled import is_controlled
from dpgrs.errors import UsageError
from dpgrs.study.fetched_files import files_to_fetch
from dpgrs.study.input_files import named_tables, stamps_of
from dpgrs.study.job_limits import LONGEST_JOB, machine_memory_mb
from dpgrs.study.made_by import NOTES, made_otherwise, own_settings
from dpgrs.study.method_choice import outcome_counts_ahead, scales_by_panel
from dpgrs.methods.mechanisms import (
    audited_functions,
    mechanism_named,
    mechanisms_of,
    takes_sums,
)
from dpgrs.methods.registry import METHODS, REGRESSION
from dpgrs.study.variant_terms import (
    gives_truncated_ld,
    has_public_sites,
    takes_ld,
    takes_map,
    takes_matrix,
)
from dpgrs.study.people_terms import (
    map_files,
    n_copies,
    planned_people,
    reference_terms_of,
    terms_of,
    training_rows,
)
from dpgrs.privacy.accounting.events import MECHANISM_VERSION
from dpgrs.privacy.private_folders import RECORDS as SNAKEMAKE_RECORDS, close_folder
from dpgrs.study.fit_identity import READS_OF_FIT
from dpgrs.study.requests import READS_OF_METRICS, reads_of_draw, reads_of_ld
from dpgrs.study.resources import resources_of
from dpgrs.study.verbs import flags
from dpgrs.study.score_terms import (
    ScoringShape,
    scored_folder,
    scoring_flags,
    scoring_inputs,
    without_scoring,
)
from dpgrs.study.shape import ReferenceShape, Shape
from dpgrs.config.study import StudyConfig
from dpgrs.study.table_cohort import is_table, takes_columns


def checked_settings(raw):
    """Fill in defaults and check everything that can be seen before a job runs; end with 2 on any problem."""
    try:
        if not workflow.is_main_process:
            return resolve(raw)
        from dpgrs.preflight.checks import check

        require_plain(workflow.configfiles)
        # Who has outcomes and covariates: on the console, before anything is drawn, and in no record of Snakemake's.
        return check(
            raw,
            tell=partial(print, file=sys.stderr),
            memory_mb=memory_of_jobs(),
            runtime_minutes=stated_limit("runtime") or LONGEST_JOB,
        )
    except UsageError as error:
        refuse(error)


def memory_of_jobs():
    """Return the megabytes that jobs can have: what `--resources` says, else those of this machine; None on a cluster."""
    if (limit := stated_limit("mem_mb")) is not None:
        return limit
    return None if is_on_cluster() else machine_memory_mb()


def stated_limit(name):
    """Return what `--resources` says of a resource, which is the most that any job gets; None if nothing."""
    stated = workflow.resource_settings.resources.get(name)
    limit = getattr(stated, "value", stated)
    return None if limit is None else int(limit)


def is_on_cluster():
    """Tell whether jobs run on a cluster: only its executors take a number of jobs."""
    return workflow.resource_settings.nodes is not None


def shell_prefix():
    """Let every rule find the package, and, outside conda, the Python that runs Snakemake.

    Modules of the folder in which a study runs, such as another version of the package, are not looked for.
    """
    lines = [
        "set -euo pipefail",
        *(["umask 077"] if IS_CLOSED else []),
        "export PYTHONSAFEPATH=1",
        f"export PYTHONPATH={shlex.quote(str(PACKAGE_ROOT))}${{PYTHONPATH:+:$PYTHONPATH}}",
    ]
    # Where Snakemake has activated a conda environment of envs/ (--sdm conda), its Python is the one to take.
    here = shlex.quote(os.environ.get("CONDA_PREFIX", ""))
    path = f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH"
    lines.append(f'[ "${{CONDA_PREFIX:-}}" != {here} ] || {path}')
    # Snakemake formats the prefix, so its braces are doubled.
    return "; ".join(lines).replace("{", "{{").replace("}", "}}") + "; "


def close_private_places():
    """Close what is derived from people to all other users, in a release also Snakemake's own records.

    Steps close the private folder that they write to as well, and steps that charge look at both.
    """
    if IS_CLOSED:
        os.umask(0o077)
    if not workflow.is_main_process:
        return
    try:
        for folder in [PRIVATE, SNAKEMAKE_RECORDS] if IS_CLOSED else [PRIVATE]:
            close_folder(folder)
    except UsageError as error:
        refuse(error)


def tell_of_other_settings():
    """Say which files of a release other settings made; what is charged or published rests on none of them."""
    if not (IS_RELEASE and workflow.is_main_process):
        return
    found = made_otherwise(own_settings(SETTINGS), private=PRIVATE)
    for path, keys in found.items():
        print(
            f"{path} was made by other settings ({', '.join(keys)}): unless it is made anew, nothing is drawn or published from it.",
            file=sys.stderr,
        )


def in_place(output):
    """Mark private outputs of a release as local: no storage provider and no module's prefix gives them another place."""
    return local(output) if IS_RELEASE else output


def settings_of(verb):
    """Return the settings that a verb reads, as the parameter that it gets: a change of any other reruns nothing."""
    # A function, since settings may hold {chrom}, which is no wildcard here.
    return lambda wildcards: settings_read(SETTINGS, verb)


def settings_of_reference(verb):
    """Return them for people of the public reference: lists, and what is declared public, are of the study's own."""
    undeclared = {"people": {}, "public": SETTINGS.public.as_dict() | UNDECLARED}
    return lambda wildcards: settings_read(SETTINGS, verb, instead=undeclared)


def genotype_files(wildcards):
    """Return the genotype files of a chromosome: simulated, or the user's own, perhaps in parts."""
    if SETTINGS.cohort.source == "simulate":
        return [f"{PRIVATE}/cohort/{wildcards.chrom}.vcf.gz"]
    return cohort_files(SETTINGS.cohort, wildcards.chrom)


def genotype_tables(wildcards):
    """Return the tables that belong to PLINK's genotypes; none for other forms."""
    return tables_of(genotype_files(wildcards))


def reference_files(wildcards):
    """Return the genotype files of a chromosome of the public reference: simulated, or the user's own."""
    if SETTINGS.cohort.source == "simulate":
        return [f"{PUBLIC}/reference/{wildcards.chrom}.vcf.gz"]
    return reference_files_of(SETTINGS.public.reference, wildcards.chrom)


def reference_tables(wildcards):
    """Return the tables that belong to PLINK's genotypes of the reference; none for other forms."""
    return tables_of(reference_files(wildcards))


def reference_stores():
    """Return the stores of the public reference; none where a table lists the sites."""
    if SETTINGS.public.sites:
        return []
    return expand(f"{PUBLIC}/store/{{chrom}}.zarr", chrom=CHROMOSOMES)


def public_tables():
    """Return the tables of public sites and frequencies that a study names."""
    return [
        path for path in (SETTINGS.public.sites, SETTINGS.public.frequencies) if path
    ]


def files_of_draw(wildcards):
    """Return what a mechanism draws from, by name; choices of a release it draws itself."""
    places = {
        "statistics": f"{REPLICATE}/statistics.npz",
        "variant_set": f"{PRIVATE}/variants.zarr",
        "choices": f"{REPLICATE}/drawn/choices.npz",
        "ld": f"{PUBLIC}/ld.npz",
        "chromosomes": [
            GENOME_SHARD.format(replicate=wildcards.replicate, shard=shard)
            for shard in range(1, len(CHROMOSOMES) + 1)
        ],
        "covariates": f"{PRIVATE}/covariates.npz",
    }
    takes = mechanism_named(wildcards.mechanism).takes
    if IS_RELEASE and wildcards.mechanism == REGRESSION and takes_map(SETTINGS.methods):
        takes += ("ld",)  # the map of the sums that are drawn next
    if SHAPE.is_measured_again:
        takes += ("variant_set", "covariates") if COVARIATES else ("variant_set",)
    return {
        name: places[name] for name in takes if not (IS_RELEASE and name == "choices")
    }


def populations_file():
    """Return the table of populations of the people of the study as a list of no or one file."""
    if IS_COPIED and source_populations_file():
        return [f"{PRIVATE}/copies/{CHROMOSOMES[0]}.populations.tsv"]
    return source_populations_file()


def source_populations_file():
    """Return the table of populations of the people in the genotype files likewise."""
    if SETTINGS.cohort.source == "simulate":
        return [f"{PRIVATE}/cohort/{CHROMOSOMES[0]}.populations.tsv"]
    return [SETTINGS.cohort.populations] if SETTINGS.cohort.populations else []


def people_file():
    """Return the list of the people of a study as a list of no or one file; none where everybody is in it."""
    return [f"{PRIVATE}/people.txt"] if PEOPLE.paths else []


def reference_people_file():
    """Return the list of the people of the public reference likewise."""
    return [f"{PUBLIC}/people.txt"] if REFERENCE_PEOPLE.paths else []


def outcomes_file():
    """Return the table of real outcomes as a list of no or one file; columns of a study's own table become one."""
    if takes_columns(SETTINGS):
        return [f"{PRIVATE}/outcome_columns.npz"]
    return (
        [SETTINGS.outcomes.file]
        if SETTINGS.outcomes.source == "file" and not HAS_SUMS
        else []
    )


def outcome_counts(folder):
    """Return the exact counts of people with outcomes as a list of no or one file.

    They are for the operator; in a benchmark its pages show them too. Columns of a study's own table lack nobody.
    """
    is_counted = outcomes_file() and not takes_columns(SETTINGS)
    return [f"{folder}/outcome_counts.tsv"] if is_counted else []


def scales_file():
    """Return the table of the constants that standardise outcomes, as a list of no or one file."""
    return [SETTINGS.outcomes.scales] if SETTINGS.outcomes.scales else []


def outcome_loadings_file():
    """Return the table of public loadings of outcomes as a list of no or one file."""
    path = SETTINGS.outcomes.loadings
    return [path] if path else []


def traits_file():
    """Return the table of what outcomes are as a list of no or one file."""
    path = SETTINGS.outcomes.traits
    return [path] if path else []


def covariates_file(section, name):
    """Return a table that a study with covariates from a file names, as a list of no or one file."""
    path = getattr(getattr(SETTINGS, section), name)
    return [path] if SETTINGS.covariates.file and path else []


if __version__ != VERSION:
    refuse(f"These rules are of dpgrs {VERSION}, the package is {__version__}. {HOW}")
if set("{}") & set(str(PACKAGE_ROOT)):
    refuse(
        f"The path of this clone must have no braces, which Snakemake would fill in, got {PACKAGE_ROOT.parent}. Move it."
    )
SETTINGS = checked_settings(config)
UNDECLARED = {
    "genotypes": {"sha256": [], "origin": None},
    "outcomes": {"sha256": None, "origin": None},
}
config.update(SETTINGS.as_dict())  # captions quote what was really used
IS_RELEASE = SETTINGS.mode == "release"
IS_TABLE = is_table(SETTINGS)
# One centre of several ends with its sums; a coordinator begins with those of all.
IS_PART, HAS_SUMS = SETTINGS.cohort.part, SETTINGS.cohort.sums is not None
IS_COPIED = n_copies(SETTINGS) is not None
# Nothing may be read by others, not even what is to be published later: that is the curator's to open.
# So may nothing that tells of people who are scored.
IS_CLOSED = IS_RELEASE or is_controlled(SETTINGS) or bool(SETTINGS.score.target)
CHROMOSOMES = SETTINGS.cohort.chromosomes
# Of these no job reads genotype files, so that no job removes a store that could not be made again.
STORED = stored_chromosomes(SETTINGS)
PEOPLE, REFERENCE_PEOPLE = terms_of(SETTINGS), reference_terms_of(SETTINGS)
SEED = SETTINGS.seed
FETCHED = files_to_fetch(SETTINGS)
resources_of = partial(resources_of, is_on_cluster=is_on_cluster)
# By which memory, run time and shards are asked for.
SHAPE, REFERENCE = Shape(SETTINGS), ReferenceShape(SETTINGS)
REPLICATES = range(1, SETTINGS.replicates + 1)

# What draws noise, by name; of a release it is one.
DRAWS = [one.name for one in mechanisms_of(SETTINGS.methods, is_release=IS_RELEASE)]
SCREENED_USED = [name for name in SETTINGS.methods if METHODS[name].is_screened]
CHOOSES_EXACTLY = bool(SCREENED_USED) and not IS_RELEASE
# What is not private, and attacks, need them; no X'X is summed for methods that read rows alone.
COMPARES_SUMS = takes_sums(SETTINGS.methods) and not IS_RELEASE

RESULTS = f"results/{SETTINGS.study}"
PRIVATE, PUBLIC = f"{RESULTS}/private", f"{RESULTS}/public"
stamps = partial(stamps_of, private=PRIVATE, writes=workflow.is_main_process)
REPLICATE = f"{PRIVATE}/replicate{{replicate}}"
# Where people are summed elsewhere, names and terms alone.
OUTCOMES = f"{REPLICATE}/{'summed_' if HAS_SUMS else ''}outcomes.zarr"
STATISTICS = f"{REPLICATE}/statistics.npz"
# What all is drawn from, but for a regression on covariates that comes before.
ADJUSTS = SETTINGS.covariates.adjusts_first
DRAWN_OUTCOMES = f"{REPLICATE}/adjusted_outcomes.zarr" if ADJUSTS else OUTCOMES
# Of fits without privacy.
EXACT = "exact_" if ADJUSTS else ""
EXACT_OUTCOMES = f"{REPLICATE}/{EXACT}outcomes.zarr"
EXACT_STATISTICS = f"{REPLICATE}/{EXACT}statistics.npz"
DRAWN = f"{REPLICATE}/drawn/{{mechanism}}.npz"
# Of people, whose statistics are summed by one job each.
SHARD = f"{REPLICATE}/shards/{{shard}}_of_{SHAPE.n_shards}.npz"
N_SHARDS = SHAPE.n_shards
# Of chromosomes of a genome, which are summed along a public map by one job each.
GENOME_SHARD = f"{REPLICATE}/genome/{{shard}}_of_{len(CHROMOSOMES)}.npz"
# On a cluster the steps of a replicate are one job, but for shards, which are to have jobs of their own, and for
# chromosomes.
GROUP_OF_REPLICATE = (
    "replicate" if N_SHARDS == 1 and not takes_map(SETTINGS.methods) else None
)
# What is simulated is read on the same node, chromosome by chromosome, where no job between chooses people.
IS_CHOSEN = bool(PEOPLE.paths or REFERENCE_PEOPLE.paths)
GROUP_OF_CHROMOSOME = (
    "chromosome" if SETTINGS.cohort.source == "simulate" and not IS_CHOSEN else None
)
OF_SHARD = "{replicate}" if N_SHARDS == 1 else "{replicate}.{shard}"
# Records hold paths, host and command, and logs may tell about people: counts of what was skipped, or what an
# error was about; time and memory of a job hang on its data, too. Those of a release stay with what is private.
RECORDS = PRIVATE if IS_RELEASE else RESULTS
LOGS, BENCHMARKS = f"{RECORDS}/logs", f"{RECORDS}/benchmarks"
SETTINGS_FILE = f"{RECORDS}/settings.json"
PROVENANCE_FILE = f"{RECORDS}/provenance.json"
# A study has them where it is a release, or where a fit rests on public genotypes.
SITES = [f"{PUBLIC}/sites.tsv"] if has_public_sites(SETTINGS) else []
LD = [f"{PUBLIC}/ld.npz"] if takes_ld(SETTINGS.methods) else []
# Of the people by whose variance a fit scales scores.
PANEL = [f"{PUBLIC}/variants.zarr"] if scales_by_panel(SETTINGS) else []
TRUNCATED_LD = [f"{RESULTS}/truncated_ld.npz"] if gives_truncated_ld(SETTINGS) else []
EFFECTS = (
    [f"{PUBLIC if SITES else PRIVATE}/effects.npz"] if SETTINGS.public.effects else []
)
# An input of all that charges: nothing is charged before the mechanisms have passed, or by stale audits.
IS_AUDITED = IS_RELEASE and SETTINGS.release.audit_draws
AUDIT = [f"{PUBLIC}/audit.json"] if IS_AUDITED else []
# What became of all variants, of the cohort's, or of the public ones where these decide; and how people differ.
QC = f"{PUBLIC if SITES else PRIVATE}/qc.tsv"
GENOTYPE_SUMMARY = f"{PRIVATE}/genotypes.npz"
COVARIATES = [f"{PRIVATE}/covariates.npz"] if SETTINGS.covariates.has_any else []
# Of the people of the public reference, if accuracy is measured on them.
IS_PUBLIC = SETTINGS.evaluation.metrics == "public"
PUBLIC_VARIANTS = [f"{PUBLIC}/variants.zarr"] if IS_PUBLIC else []
PUBLIC_OUTCOMES = [f"{PUBLIC}/replicate1/outcomes.zarr"] if IS_PUBLIC else []
PUBLIC_COVARIATES = [f"{PUBLIC}/covariates.npz"] if IS_PUBLIC and COVARIATES else []
LOADINGS_FILE = f"{PUBLIC if IS_RELEASE else PRIVATE}/pca_loadings.tsv"
LOADINGS = [LOADINGS_FILE] if SETTINGS.covariates.pcs else []
# What `dpgrs centre export` reads of one centre of several.
SUMS_OF_CENTRE = [SETTINGS_FILE, *SITES, *expand([OUTCOMES, STATISTICS], replicate=1)]

close_private_places()
tell_of_other_settings()
# Steps that charge or publish hold what they rest on against these.
try:
    SETTINGS_HANDED_OVER = hand_settings_over(
        without_scoring(SETTINGS),
        f"{PRIVATE}/{NOTES}/settings",
        is_checked=workflow.is_main_process or not IS_RELEASE,
    )
except UsageError as error:
    refuse(error)

if workflow.is_main_process:
    # For provenance.json; not a parameter, so that another number of cores reruns nothing.
    os.environ.update(DPGRS_COMMAND=shlex.join(["snakemake", *sys.argv[1:]]))

shell.prefix(shell_prefix())


wildcard_constraints:
    chrom="[A-Za-z0-9_.-]+",
    replicate=r"\d+",
    shard=r"\d+",
    mechanism="[a-z-]+",
