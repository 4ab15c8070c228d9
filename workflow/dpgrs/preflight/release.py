"""Problems of a release or a benchmark: no guarantee, settings that it would ignore."""

from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError, must
from dpgrs.io.tables.outcome_loadings import read_outcome_loadings
from dpgrs.io.tables.phenotypes import read_scales
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.preflight.ledger import n_outcomes_of
from dpgrs.preflight.loadings import outcomes_of
from dpgrs.preflight.settings import column_problems
from dpgrs.study.table_settings import covariate_terms, outcome_constants
from dpgrs.study.traits import read_traits
from dpgrs.types import Metrics, Neighbours, Penalty, Protection
from dpgrs.verify.draw_check import BY_METHOD, has_statistics
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
    *("public.origin", "public.genotypes.origin", "public.outcomes.origin"),
)
TABLES = ("outcomes.scales", "outcomes.loadings", "covariates.scales")
PREPROCESSING = ("release.preprocessing", "cohort.source", "outcomes.source")
MEASURED = ("evaluation.metrics", "evaluation.outcomes", "outcomes.source")
CHARGED = ("evaluation.epsilon", "evaluation.residual_bound")
TRAITS = ("outcomes.traits", "outcomes.source", "outcomes.file", "outcomes.count")
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
OF_CONSTANTS = 6  # rows of public constants of variants and outcomes, with headers


def penalty_problems(inspection: "Inspection") -> list[str]:
    """Refuse a penalty by the noise on X'X where X'X has none."""
    if Protection.LABEL not in inspection["privacy.protection"]:
        return []
    if inspection["regression.lambda_from"] != Penalty.ADASSP:
        return []
    domain = "be fixed or evidence under label protection, as X'X has no noise to go by"
    return [must("regression.lambda_from", domain, Penalty.ADASSP, "Choose another.")]


def ignored_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse a key that a benchmark would ignore."""
    setting = inspection[key]
    if setting is False or setting in (None, []):
        return []
    return [f"`{key}` is for `mode: release`, got {setting} in a benchmark. Leave it out."]


def untested_problems(inspection: "Inspection") -> list[str]:
    """Refuse a benchmark without people to test on."""
    if inspection["outcomes.test_share"] > 0:
        return []
    domain = "be above 0 in a benchmark"
    return [must("outcomes.test_share", domain, "0.0", "Keep people to test on, as 0.2.")]


def measured_problems(inspection: "Inspection") -> list[str]:
    """Refuse metrics of a release in a benchmark."""
    metrics, key = inspection["evaluation.metrics"], "evaluation.metrics"
    if metrics == Metrics.WITHHELD:
        return []
    domain = "be withheld in a benchmark, which measures at no charge"
    return [must(key, domain, metrics, "Leave it out.")]


def single_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse a list of values: each would be a release, and a charge, of its own."""
    setting = inspection[key]
    if setting is None or len(setting) == 1:
        return []
    got = ", ".join(map(str, setting))
    return [must(key, "be one value in a release", got, "Each is a release of its own.")]


def replicate_problems(inspection: "Inspection") -> list[str]:
    """Refuse repeated replicates."""
    replicates = inspection["replicates"]
    return [] if replicates == 1 else [must("replicates", "be 1 in a release", replicates, "Leave it out.")]


def neighbour_problems(inspection: "Inspection") -> list[str]:
    """Refuse to set people aside where a neighbour moves the number of rows.

    With one side public, who is in the study is public too, and neighbours are of the same people.
    """
    share, neighbours = inspection["outcomes.test_share"], inspection["privacy.neighbours"]
    is_full = Protection.FULL in inspection["privacy.protection"]
    if neighbours != Neighbours.REPLACE_ONE or share == 0 or not is_full:
        return []
    domain = "be 0 under `neighbours: replace-one` in a release"
    got = f"{share:g}: who replaces whom moves the number of rows"
    return [must("outcomes.test_share", domain, got, "Leave it out.")]


def filtered_problems(inspection: "Inspection") -> list[str]:
    """Refuse FILTER, which was made from the cohort."""
    if inspection["cohort.keep_filtered"]:
        return []
    got = "false: FILTER was made from the cohort"
    fix = "Leave it out; the public sites decide."
    return [must("cohort.keep_filtered", "be true in a release", got, fix)]


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
        elif name not in BY_METHOD:
            # A method of another package: the check of the bundle would refuse it after the charge.
            lines.append(
                f"`methods` must be known to `dpgrs release verify` in a release, got {name}. Ask its "
                "authors for an entry point of the group `dpgrs.draws`."
            )
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


def reference_problems(inspection: "Inspection") -> list[str]:
    """Find settings that are missing to measure on people of the public reference, or that have no use."""
    is_public = inspection["evaluation.metrics"] == Metrics.PUBLIC
    path, is_file = inspection["evaluation.outcomes"], inspection["outcomes.source"] == "file"
    lines = []
    if is_public and inspection["cohort.source"] != "simulate" and inspection["public.reference"] is None:
        lines.append(
            f"`public.reference` must be given for `evaluation.metrics: {Metrics.PUBLIC}`, got null. "
            "Name the genotypes of the people to measure on, or withhold the metrics."
        )
    if is_public and is_file and path is None:
        lines.append(
            f"`evaluation.outcomes` must be given for `evaluation.metrics: {Metrics.PUBLIC}` with "
            "outcomes from a file, got null. Give a table of the reference people."
        )
    if path is not None and not (is_public and is_file):
        lines.append(
            f"`evaluation.outcomes` is for `metrics: {Metrics.PUBLIC}` with outcomes from a file, got {path} "
            "without. Leave it out."
        )
    return lines


def uncharged_problems(inspection: "Inspection", key: str) -> list[str]:
    """Find a term of charged metrics where none are charged."""
    if inspection["evaluation.metrics"] == Metrics.CHARGED or inspection[key] is None:
        return []
    return [
        f"`{key}` is for `metrics: {Metrics.CHARGED}`, got {inspection[key]:g} without. "
        "Leave it out, or charge them."
    ]


def held_out_problems(inspection: "Inspection") -> list[str]:
    """Ask for people to measure on."""
    if inspection["evaluation.metrics"] != Metrics.CHARGED or inspection["outcomes.test_share"] > 0:
        return []
    domain = f"be above 0 for `evaluation.metrics: {Metrics.CHARGED}`"
    return [must("outcomes.test_share", domain, "0.0", "Keep people to measure on, as 0.2.")]


def charge_problems(inspection: "Inspection") -> list[str]:
    """Ask for a budget of the metrics."""
    epsilon, key = inspection["evaluation.epsilon"], "evaluation.epsilon"
    if inspection["evaluation.metrics"] != Metrics.CHARGED:
        return []
    if epsilon is None:
        domain = f"be given for `evaluation.metrics: {Metrics.CHARGED}`"
        return [must(key, domain, "null", "Give the metrics a budget, as 0.5.")]
    return []


def needed_problems(inspection: "Inspection", key: str) -> list[str]:
    """Ask for a text that the bundle prints."""
    if inspection[key]:
        return []
    return [f"`{key}` must be given for a release, got null. It is printed in the bundle."]


def path_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse a text that the check of the bundle would take for a path of this machine, after the charge."""
    setting = inspection[key]
    machine_path = TRACE.search(setting) if isinstance(setting, str) else None
    if machine_path is None:
        return []
    fix = "Put blanks around the `/`, or write it in other words."
    return [must(key, "hold no path of a machine", f"`{machine_path[0]}`", fix)]


def table_path_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse paths, as `path_problems` does, in what a bundle prints of a public table."""
    if inspection[key] is None:
        return []
    try:
        if key == "outcomes.loadings":
            texts = [read_outcome_loadings(inspection[key]).origin]
        elif key == "outcomes.scales":
            texts = read_scales(inspection[key])["origin"]
        else:
            scales = read_scales(inspection[key], kind="covariate")
            texts = [*scales.index, *scales["origin"]]
    except DpgrsError:
        return []  # named by the check of the table
    paths = [path[0] for text in texts if (path := TRACE.search(str(text)))]
    fix = "Put blanks around the `/`, or write it in other words."
    return [must(key, "hold no path of a machine", f"`{path}`", fix) for path in dict.fromkeys(paths)]


def preprocessing_problems(inspection: "Inspection") -> list[str]:
    """Ask how data were prepared, where genotypes or outcomes are not simulated here."""
    is_simulated = inspection["cohort.source"] == inspection["outcomes.source"] == "simulate"
    return [] if is_simulated else needed_problems(inspection, "release.preprocessing")


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
