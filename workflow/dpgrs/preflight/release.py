"""What keeps a release from starting: settings without a guarantee, no ledger, no key, no public origin."""

from dpgrs.errors import DpgrsError
from dpgrs.io.sites import SITE_COLUMNS, read_sites
from dpgrs.io.tables.phenotypes import outcome_names
from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.preflight.genome_builds import table_problems
from dpgrs.preflight.genotypes import phase_problems, provisional_problems, reference_problems
from dpgrs.preflight.panel import panel_problems
from dpgrs.privacy.ledger.ledger import Ledger, refusals
from dpgrs.privacy.noise.study_key import load_study_key
from dpgrs.release.bundle_room import bundle_problems
from dpgrs.release.draw_check import BY_METHOD
from dpgrs.study.release_cost import account_of, certain_cost, total_epsilon
from dpgrs.study.settings import keys
from dpgrs.study.table_settings import covariate_terms
from dpgrs.types import Metrics, Neighbours, Penalty, Protection

# A release is one fit, so these hold one value each; others would be releases, and charges, of their own.
SINGLE = ("panel.size", "outcomes.count", "privacy.protection", "privacy.epsilon", "privacy.accounting")
RELEASE_ONLY = (
    "dataset.accession",
    "dataset.consent",
    "dataset.version",
    "dataset.sensitive",
    "dataset.approved_by",
    "dataset.dar_id",
    "dataset.approval_date",
    "dataset.acknowledgement",
    "privacy.ledger",
    "privacy.budget",
    "public.sites",
    "public.frequencies",
    "public.reference",
    "public.origin",
    "evaluation.epsilon",
    "evaluation.residual_bound",
    "evaluation.outcomes",
    "evaluation.covariates",
)
NEEDED_OF_THE_CURATOR = (
    "release.curator",
    "release.intended_use",
    "release.data_use_terms",
    "release.license",
    "release.region",
    "release.publication_date",
)
# Beyond these a guarantee is one in name alone.
LARGEST_DELTA, LARGEST_EPSILON = 1e-4, 20.0


def benchmark_problems(config, *, is_clear):
    """List what a benchmark would ignore or cannot do.

    Parameters
    ----------
    config : dict from `dpgrs.study.settings.resolve`.
    is_clear : function of keys, whether their values are what the user meant.

    Returns
    -------
    list of str, one line a problem; here and below.
    """
    lines = [
        f"`{key}` is for `mode: release`, got {_value(config, key)} in a benchmark. Leave it out."
        for key in RELEASE_ONLY
        if _value(config, key) is not None and is_clear(key)
    ]
    if config["outcomes"]["test_share"] == 0:
        lines.append(
            "`outcomes.test_share` must be above 0 in a benchmark, got 0.0. Keep people to test on, as 0.2."
        )
    if config["evaluation"]["metrics"] != Metrics.WITHHELD:
        lines.append(
            "`evaluation.metrics` must be withheld in a benchmark, which measures at no charge, got "
            f"{config['evaluation']['metrics']}. Leave it out."
        )
    return lines


def release_problems(config, *, is_clear):
    """List what keeps a release from starting; parameters as in `benchmark_problems`."""
    lines = [
        *_design_problems(config, is_clear),
        *_evaluation_problems(config, is_clear),
        *_ledger_problems(config, is_clear),
    ]
    # What a study costs is known once these are right.
    if not lines and is_clear(*keys()) and _n_outcomes(config) is not None:
        lines = _cost_problems(config) or bundle_problems(config)
    return [
        *lines,
        *_public_problems(config),
        *panel_problems(config, is_clear=is_clear),
        *reference_problems(config),
        *phase_problems(config),
        *provisional_problems(config),
        *_key_problems(),
        *(
            f"`{key}` must be given for a release, got null. It is printed in the bundle."
            for key in (*NEEDED_OF_THE_CURATOR, *_needed_of_real_data(config))
            if not _value(config, key) and is_clear(key)
        ),
    ]


def _needed_of_real_data(config):
    """Return what the curator must say besides, where genotypes or outcomes are not simulated by us."""
    is_simulated = config["cohort"]["source"] == config["outcomes"]["source"] == "simulate"
    return () if is_simulated else ("release.preprocessing",)


def _value(config, key):
    section, _, name = key.rpartition(".")
    return (config[section] if section else config)[name]


def _design_problems(config, is_clear):
    lines = []
    for key in SINGLE:
        value = _value(config, key)
        if value is not None and len(value) != 1 and is_clear(key):
            listed = ", ".join(map(str, value))
            lines.append(
                f"`{key}` must be one value in a release, got {listed}. Each is a release of its own."
            )
    privacy = config["privacy"]
    if privacy["delta"] > LARGEST_DELTA and is_clear("privacy.delta"):
        lines.append(
            f"`privacy.delta` must be at most {LARGEST_DELTA:g} in a release, got {privacy['delta']:g}: it "
            "is the chance that somebody's data lie open. Take far less than one over the number of people."
        )
    if max(privacy["epsilon"]) > LARGEST_EPSILON and is_clear("privacy.epsilon"):
        lines.append(
            f"`privacy.epsilon` must be at most {LARGEST_EPSILON:g} in a release, got "
            f"{max(privacy['epsilon']):g}: more promises nothing. Lower it."
        )
    if config["trials"] != 1 and is_clear("trials"):
        lines.append(f"`trials` must be 1 in a release, got {config['trials']}. Leave it out.")
    if config["privacy"]["neighbours"] == Neighbours.REPLACE_ONE and config["outcomes"]["test_share"] > 0:
        lines.append(
            "`outcomes.test_share` must be 0 under `neighbours: replace-one` in a release, got "
            f"{config['outcomes']['test_share']:g}: who replaces whom moves the number of rows. Leave it out."
        )
    if not config["cohort"]["keep_filtered"] and is_clear("cohort.keep_filtered"):
        lines.append(
            "`cohort.keep_filtered` must be true in a release, got false: FILTER was made from the cohort. "
            "Leave it out; the public sites decide."
        )
    return [*lines, *_method_problems(config["methods"]), *_size_problems(config)]


def _size_problems(config):
    """Refuse more variants or outcomes than a method's mechanism can do, before hours of computing."""
    size, n_outcomes, lines = max(config["panel"]["size"]), _n_outcomes(config) or 0, []
    n_covariates = covariate_terms(config["covariates"]).get("n_covariates", 0)
    n_columns = size + n_covariates + 1
    beside = f" with {n_covariates} covariates" if n_covariates else ""
    for name in config["methods"]:
        method, rule = METHODS[name], config["regression"]["lambda_from"]
        # What chooses variants first is fitted on few, see `screening_problems`.
        if method.most_columns and not method.is_screened and n_columns > method.most_columns:
            most = method.most_columns - n_covariates - 1
            lines.append(
                f"`panel.size` must be at most {most} for `methods: {name}`{beside}, got {size}. Lower it."
            )
        if method.most_entries and n_outcomes > (most := method.most_entries // n_columns**2):
            lines.append(
                f"`outcomes.count` must be at most {most} for `methods: {name}` at `panel.size: {size}`"
                f"{beside}, got {n_outcomes}: every outcome keeps an X'X of its own. Lower one of them."
            )
        if "lambda" in method.reads and "lambda_from" not in method.reads and rule != Penalty.FIXED:
            lines.append(
                f"`regression.lambda_from` must be fixed for `methods: {name}` in a release, got {rule}. "
                "Leave it out."
            )
    return lines


def _method_problems(methods):
    """Refuse by name what has no guarantee, or whose draws or fits are for benchmarks so far."""
    released, lines = methods_that("may_be_released"), []
    offered = ", ".join(released)
    if len(set(methods) & set(released)) > 1:
        lines.append(
            f"`methods` must be one value in a release, got {', '.join(methods)}. Choose one to publish."
        )
    for name in methods:
        method = METHODS[name]
        wanted = (
            "have a guarantee" if Protection.NONE in method.protections else "not be for benchmarks alone"
        )
        if not method.may_be_released:
            lines.append(f"`methods` must {wanted} in a release, got {name}. Use one of {offered}.")
        elif name not in BY_METHOD:
            # Of another package; the check of the bundle would refuse it after the charge.
            lines.append(
                f"`methods` must be known to `dpgrs release verify` in a release, got {name}. Ask its "
                "authors for an entry point of the group `dpgrs.draws`."
            )
    return lines


def _evaluation_problems(config, is_clear):
    evaluation, test_share = config["evaluation"], config["outcomes"]["test_share"]
    if not is_clear("evaluation.metrics"):
        return []
    lines = _reference_accuracy_problems(config)
    if evaluation["metrics"] != Metrics.CHARGED:
        return lines + [
            f"`evaluation.{key}` is for `metrics: {Metrics.CHARGED}`, got {evaluation[key]:g} without. "
            "Leave it out, or charge them."
            for key in ("epsilon", "residual_bound")
            if evaluation[key] is not None
        ]
    if test_share == 0 and is_clear("outcomes.test_share"):
        lines.append(
            f"`outcomes.test_share` must be above 0 for `evaluation.metrics: {Metrics.CHARGED}`, got 0.0. "
            "Keep people to measure on, as 0.2."
        )
    if evaluation["epsilon"] is None and is_clear("evaluation.epsilon"):
        lines.append(
            f"`evaluation.epsilon` must be given for `evaluation.metrics: {Metrics.CHARGED}`, got null. "
            "Give the metrics a budget, as 0.5."
        )
    elif evaluation["epsilon"] is not None and evaluation["epsilon"] > LARGEST_EPSILON:
        lines.append(
            f"`evaluation.epsilon` must be at most {LARGEST_EPSILON:g} in a release, got "
            f"{evaluation['epsilon']:g}: more promises nothing. Lower it."
        )
    return lines


def _reference_accuracy_problems(config):
    """Find what is missing to measure on the people of the public reference, or is given for nothing."""
    is_public = config["evaluation"]["metrics"] == Metrics.PUBLIC
    path, is_file = config["evaluation"]["outcomes"], config["outcomes"]["source"] == "file"
    lines = []
    if is_public and config["cohort"]["source"] != "simulate" and config["public"]["reference"] is None:
        lines.append(
            f"`public.reference` must be given for `evaluation.metrics: {Metrics.PUBLIC}`, got null. "
            "Name the genotypes of the people to measure on, or withhold the metrics."
        )
    if is_public and is_file and path is None:
        lines.append(
            f"`evaluation.outcomes` must be given for `evaluation.metrics: {Metrics.PUBLIC}` with "
            "outcomes from a file, got null. Give those of the reference people."
        )
    if path is not None and not (is_public and is_file):
        lines.append(
            f"`evaluation.outcomes` is for `metrics: {Metrics.PUBLIC}` with outcomes from a file, got {path} "
            "without. Leave it out."
        )
    return lines


def _public_problems(config):
    public = config["public"]
    given = [key for key in ("sites", "frequencies", "reference") if public[key] is not None]
    if config["cohort"]["source"] == "simulate":
        return [
            f"`public.{key}` must be left out for a simulated cohort, got {public[key]}. "
            "It brings a reference of its own."
            for key in given
        ]
    lines = []
    if ("sites" in given) == ("reference" in given):
        got = "both" if "sites" in given else "neither"
        lines.append(
            f"`public.sites` or `public.reference` must be given for a release, got {got}. "
            "Sites and frequencies may not come from the cohort."
        )
    if "frequencies" in given and "sites" not in given:
        lines.append("`public.frequencies` must come with `public.sites`, got it alone. Give the sites.")
    if given and not public["origin"]:
        lines.append("`public.origin` must say where the public sites come from, got null. Say it in words.")
    lines += _site_problems(
        public["sites"],
        public["frequencies"],
        size=max(config["panel"]["size"]),
        build=config["release"]["genome_build"],
    )
    return lines


def _site_problems(path, frequencies, *, size, build):
    if path is None:
        return []
    try:
        sites = read_sites(path, frequencies=frequencies)
    except DpgrsError as error:
        return [f"`public.sites`: {error}"]
    if len(sites) < size:
        columns = ", ".join(SITE_COLUMNS)
        return [
            f"`public.sites` must list at least `panel.size`, {size}, sites by {columns}, got {len(sites)}. "
            "Add sites, or lower the size."
        ]
    return table_problems(sites, path=path, build=build)


def _ledger_problems(config, is_clear):
    dataset, privacy = config["dataset"], config["privacy"]
    lines = [
        f"`dataset.{name}` must be given for a release, got null. For example `{name}: {example}`."
        for name, example in (("accession", "phs000001"), ("consent", "c1"), ("version", "2026-11-01"))
        if not dataset[name] and is_clear(f"dataset.{name}")
    ]
    if not is_clear("privacy"):
        return lines
    if privacy["ledger"] is None:
        return [
            *lines,
            "`privacy.ledger` must name the dataset's ledger, got null. See `dpgrs ledger init --help`.",
        ]
    try:
        book = Ledger(privacy["ledger"]).read()
    except DpgrsError as error:
        return [*lines, f"`privacy.ledger`: {error}"]
    for name in ("accession", "consent"):
        if dataset[name] and dataset[name] != getattr(book, name):
            lines.append(
                f"`dataset.{name}` must be {getattr(book, name)} as in {privacy['ledger']}, got "
                f"{dataset[name]}. Name the ledger of the dataset that is used."
            )
    if privacy["protection"][0] != Protection.FULL:
        return lines  # preflight refuses it by itself
    lines += _budget_problems(config)
    account = account_of(privacy)
    if account not in book.budgets:
        known = ", ".join(map(str, book.budgets)) or "none"
        lines.append(
            f"`privacy.ledger` must have an account {account}, got {known}. "
            "Open it with `dpgrs ledger add-account`, or change `privacy`."
        )
    return lines


def _budget_problems(config):
    budget, evaluation = config["privacy"]["budget"], config["evaluation"]
    is_priced = evaluation["metrics"] != Metrics.CHARGED or evaluation["epsilon"] is not None
    if budget is None or not is_priced or _n_outcomes(config) is None:
        return []
    total = total_epsilon(config)
    if total <= budget:
        return []
    return [
        f"`privacy.budget` must be at least {total:.4g}, what this study spends, got {budget:g}. "
        "Raise it, or ask for less."
    ]


def _cost_problems(config):
    """Refuse a release that its ledger is certain to refuse, before hours of computing."""
    path = config["privacy"]["ledger"]
    try:
        book = Ledger(path).read()
        lines = refusals(book, certain_cost(config, book), account_of(config["privacy"]))
    except DpgrsError:
        return []  # of outcomes or protection, which preflight judges
    return [
        f"`privacy.ledger`, {path}: {line} Ask for less, as by a lower `privacy.epsilon`." for line in lines
    ]


def _n_outcomes(config):
    """Count the outcomes; None where there is no table of them that can be read, which preflight judges."""
    outcomes = config["outcomes"]
    if outcomes["count"]:
        return max(outcomes["count"])
    try:
        return len(outcome_names(outcomes["file"])) if outcomes["file"] else None
    except DpgrsError:
        return None


def _key_problems():
    try:
        load_study_key()
    except DpgrsError as error:
        return [str(error)]
    return []
