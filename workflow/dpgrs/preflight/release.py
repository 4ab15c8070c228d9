"""Problems of a release or a benchmark: no guarantee, settings that it would ignore."""

from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError, must
from dpgrs.io.tables.outcome_loadings import read_outcome_loadings
from dpgrs.io.tables.outcome_scales import read_scales
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.preflight.ledger import n_outcomes_of
from dpgrs.preflight.loadings import outcomes_of
from dpgrs.preflight.rules import (
    ABSENT,
    CHARGED,
    FROM_FILES,
    GIVEN,
    PUBLIC_METRICS,
    SIMULATED,
    each,
    has,
    protects,
    rules,
    without,
)
from dpgrs.preflight.settings import column_problems
from dpgrs.study.table_settings import covariate_terms, outcome_constants
from dpgrs.study.traits import read_traits
from dpgrs.types import Metrics, Neighbours, Penalty, Protection
from dpgrs.verify.draw_check import has_statistics
from dpgrs.verify.folder_check import LARGEST_STATISTICS, MIB, TRACE

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

# A release is one fit, so these hold one value each; others would be releases, and charges, of their own.
SINGLE = ("variants.size", "outcomes.count", "privacy.protection", "privacy.epsilon", "privacy.accounting")
RELEASE_ONLY = (
    *("dataset.accession", "dataset.consent", "dataset.version", "dataset.sensitive"),
    *("dataset.approved_by", "dataset.dar_id", "dataset.approval_date", "dataset.acknowledgement"),
    "cohort.fixed_sites",
    *("privacy.ledger", "privacy.budget", "privacy.beyond_20", "privacy.case_share"),
    *("public.sites", "public.frequencies", "outcomes.traits"),
    *(f"public.{side}.{name}" for side in ("genotypes", "outcomes") for name in ("sha256", "origin")),
    *("evaluation.epsilon", "evaluation.residual_bound", "evaluation.outcomes", "evaluation.covariates"),
)
NEEDED_OF_THE_CURATOR = (
    *("release.curator", "release.intended_use", "release.data_use_terms"),
    *("release.license", "release.region", "release.publication_date"),
)
TOLD = (
    *NEEDED_OF_THE_CURATOR,
    *("release.title", "release.citation", "release.preprocessing", "dataset.acknowledgement"),
    *("dataset.version", "dataset.accession", "dataset.consent", "privacy.beyond_20"),
    "people.consent.allow",
    *("public.origin", "public.genotypes.origin", "public.outcomes.origin"),
)
TABLES = ("outcomes.scales", "outcomes.loadings", "covariates.scales", "public.effects")
TRAITS = ("outcomes.traits", "outcomes.source", "outcomes.file", "outcomes.count", "cohort.sums")
SIZES = (
    "methods",
    "variants.size",
    "outcomes.count",
    "outcomes.file",
    "cohort.sums",
    "covariates",
    "regression.lambda_from",
)
STATISTICS = ("release.statistics", "privacy.direction_shares", "privacy.protection", *SIZES[:-1])
CASES = (
    *("privacy.case_share", "privacy.protection", "methods"),
    *("outcomes", "cohort.sums", "cohort.part"),
)
# Each value of a list would be a release, and a charge, of its own.
ONE_VALUE = rules(
    each(
        SINGLE,
        "must be one value in a release, got {got}. Each is a release of its own.",
        lambda values: values is None or len(values) == 1,
    )
)
FILE_OUTCOMES = has("outcomes.source", "file")
ONE_FIT = rules(
    {
        "`replicates` must be 1 in a release, got {got}. Leave it out.": (1,),
        # With one side public, who is in the study is public too, and neighbours are of the same people.
        "`outcomes.test_share` must be 0 under `neighbours: replace-one` in a release, got {got}: who "
        "replaces whom moves the number of rows. Leave it out.": (
            0,
            has("privacy.neighbours", Neighbours.REPLACE_ONE),
            protects(Protection.FULL),
        ),
        "`cohort.keep_filtered` must be true in a release, got false: FILTER was made from the cohort. "
        "Leave it out; the public sites decide.": (True,),
    }
)
METRICS = rules(
    {
        "`public.reference` must be given for `evaluation.metrics: public`, got null. Name the genotypes of "
        "the people to measure on, or withhold the metrics.": (GIVEN, PUBLIC_METRICS, FROM_FILES),
        "`evaluation.outcomes` must be given for `evaluation.metrics: public` with outcomes from a file, "
        "got null. Give a table of the reference people.": (GIVEN, PUBLIC_METRICS, FILE_OUTCOMES),
        "`evaluation.outcomes` is for `metrics: public` with outcomes from a file, got {got} without. Leave "
        "it out.": (None, without(PUBLIC_METRICS, FILE_OUTCOMES)),
        **each(
            ("evaluation.epsilon", "evaluation.residual_bound"),
            "is for `metrics: charged`, got {got} without. Leave it out, or charge them.",
            *(None, without(CHARGED)),
        ),
        "`regression.lambda_from` must be fixed or evidence under label protection, as X'X has no noise to "
        "go by, got {got}. Choose another.": (
            lambda rule: rule != Penalty.ADASSP,
            protects(Protection.LABEL),
        ),
        "`outcomes.test_share` must be above 0 for `evaluation.metrics: charged`, got {got}. Keep people to "
        "measure on, as 0.2.": (GIVEN, CHARGED),
        "`evaluation.epsilon` must be given for `evaluation.metrics: charged`, got null. Give the metrics a "
        "budget, as 0.5.": (GIVEN, CHARGED),
    }
)
OF_BENCHMARK = rules(
    each(RELEASE_ONLY, "is for `mode: release`, got {got} in a benchmark. Leave it out.", ABSENT)
)
MEASURES_OF_BENCHMARK = rules(
    {
        "`outcomes.test_share` must be above 0 in a benchmark, got {got}. Keep people to test on, as 0.2.": (
            GIVEN,
        ),
        "`evaluation.metrics` must be withheld in a benchmark, which measures at no charge, got {got}. "
        "Leave it out.": (Metrics.WITHHELD,),
    }
)
PRINTED = "must be given for a release, got null. It is printed in the bundle."
WORDS_OF_CURATOR = rules(each(NEEDED_OF_THE_CURATOR, PRINTED, GIVEN))
PREPROCESSING = rules(
    each(("release.preprocessing",), PRINTED, GIVEN, without(SIMULATED, has("outcomes.source", "simulate")))
)
OF_CONSTANTS = 6  # rows of public constants of variants and outcomes, with headers


def method_problems(inspection: "Inspection") -> list[str]:
    """Refuse methods without a guarantee, or whose draws or fits are for benchmarks so far."""
    methods, released, lines = inspection["methods"], methods_that("may_be_released"), []
    offered = ", ".join(released)
    if len(set(methods) & set(released)) > 1:
        lines.append(
            f"`methods` must be one value in a release, got {', '.join(methods)}. Choose one to publish."
        )
    for name in methods:
        method = METHODS[name]
        domain = "have a guarantee" if Protection.NONE in method.protections else "not be only for benchmarks"
        if not method.may_be_released:
            lines.append(f"`methods` must {domain} in a release, got {name}. Use one of {offered}.")
    return lines


def size_problems(inspection: "Inspection") -> list[str]:
    """Refuse more variants or outcomes than a method's mechanism can do, before hours of computing."""
    size, n_outcomes = max(inspection["variants.size"]), n_outcomes_of(inspection) or 0
    lines = column_problems(inspection)
    n_covariates = covariate_terms(inspection.config.covariates).get("n_covariates", 0)
    n_columns = size + n_covariates + 1
    beside = f" with {n_covariates} covariates" if n_covariates else ""
    for name in inspection["methods"]:
        method, rule = METHODS[name], inspection["regression.lambda_from"]
        if method.most_entries and n_outcomes > (most := method.most_entries // n_columns**2):
            lines.append(
                f"`outcomes.count` must be at most {most} for `methods: {name}` at `variants.size: {size}`"
                f"{beside}, got {n_outcomes}: every outcome keeps an X'X of its own. Lower one of them."
            )
        if "lambda" in method.reads and "lambda_from" not in method.reads and rule != Penalty.FIXED:
            lines.append(
                f"`regression.lambda_from` must be fixed for `methods: {name}` in a release, got {rule}. "
                "Leave it out."
            )
    return lines


def case_problems(inspection: "Inspection") -> list[str]:
    """Refuse to count cases where nothing draws them, or no constant defines a case."""
    key, protection, method = CASES[0], inspection["privacy.protection"][0], inspection["methods"][0]
    share = inspection[key]
    if share is None:
        return []
    refused = {
        "under feature protection, where outcomes are public": protection == Protection.FEATURE,
        f"for `methods: {method}`, whose bundle has no statistics": not has_statistics(method, protection),
        "with `outcomes.loadings`, which have components drawn": inspection["outcomes.loadings"] is not None,
        "with `cohort.sums` or `cohort.part`, as sums hold no cases": inspection["cohort.part"]
        or inspection["cohort.sums"] is not None,
        "without 0/1 outcomes by `outcomes.prevalence` or `outcomes.scales`": not _has_binary(inspection),
    }
    if why := next((why for why, holds in refused.items() if holds), None):
        return [must(key, f"be null {why}", f"{share:g}", "Leave it out.")]
    return []


def _has_binary(inspection: "Inspection") -> bool:
    """Tell whether public constants state any outcome to be 0/1; yes if the table cannot be read."""
    try:
        names = outcomes_of(inspection, n_outcomes_of(inspection))
        constants = outcome_constants(inspection.config.outcomes, names or ())
    except DpgrsError:
        return True  # the check of constants reports it
    if names is None:
        return True  # likewise
    return constants is not None and bool(constants["is_binary"].any())


def statistics_problems(inspection: "Inspection") -> list[str]:
    """Refuse statistics for a bundle that its check would find too large."""
    protection, method = inspection["privacy.protection"][0], inspection["methods"][0]
    is_of_map = inspection["privacy.direction_shares"] == "equal" and METHODS[method].takes_map
    if not (inspection["release.statistics"] and (is_of_map or has_statistics(method, protection))):
        return []
    has_gram = protection == Protection.FULL and not is_of_map
    n_columns = max(inspection["variants.size"]) + 1
    n_columns += covariate_terms(inspection.config.covariates).get("n_covariates", 0)
    n_rows = (n_outcomes_of(inspection) or 0) + n_columns * has_gram + OF_CONSTANTS
    if 8 * n_columns * n_rows <= LARGEST_STATISTICS:
        return []
    domain = f"be false for statistics of more than {LARGEST_STATISTICS // MIB} MiB"
    got = f"true with `variants.size: {max(inspection['variants.size'])}`"
    return [must("release.statistics", domain, got, "Leave them out of the bundle.")]


def path_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse a text that the check of the bundle would take for a path of this machine, after the charge."""
    setting = inspection[key]
    texts = [setting] if isinstance(setting, str) else setting or []
    fix = "Put blanks around the `/`, or write it in other words."
    return [
        must(key, "hold no path of a machine", f"`{machine_path[0]}`", fix)
        for machine_path in map(TRACE.search, texts)
        if machine_path
    ]


def table_path_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse paths, as `path_problems` does, in what a bundle prints of a public table."""
    if not inspection[key]:
        return []
    fix = "Put blanks around the `/`, or write it in other words."
    try:
        if key == "public.effects":
            texts, fix = [Path(path).name for path in inspection[key]], "Rename the file."
        elif key == "outcomes.loadings":
            loadings = read_outcome_loadings(inspection[key])
            texts = [*loadings.components, loadings.origin]
        elif key == "outcomes.scales":
            texts = read_scales(inspection[key])["origin"]
        else:
            scales = read_scales(inspection[key], kind="covariate")
            texts = [*scales.index, *scales["origin"]]
    except DpgrsError:
        return []  # named by the check of the table
    paths = [path[0] for text in texts if (path := TRACE.search(str(text)))]
    return [must(key, "hold no path of a machine", f"`{path}`", fix) for path in dict.fromkeys(paths)]


def trait_problems(inspection: "Inspection") -> list[str]:
    """List the problems of the table that describes the outcomes."""
    path, counts = inspection["outcomes.traits"], inspection["outcomes.count"]
    if path is None:
        return []
    try:
        read_traits(path, outcomes_of(inspection, counts and max(counts)))
    except DpgrsError as error:
        return [f"`outcomes.traits`: {error}"]
    return []
