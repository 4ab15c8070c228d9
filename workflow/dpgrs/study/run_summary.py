"""The last lines of a run: the paths of report and bundle, outputs that are all noise, and charges."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError
from dpgrs.io.files import file_digests
from dpgrs.io.json_files import read_json
from dpgrs.privacy.accounting.charges import Cost
from dpgrs.privacy.ledger.caps import strict_budget
from dpgrs.privacy.ledger.ledger import Book, Ledger, cost_to, shown_delta, shown_epsilon
from dpgrs.study.made_by import ALL_ANEW, require_made_by
from dpgrs.study.people_terms import n_copies
from dpgrs.study.provenance import settings_digest
from dpgrs.study.release_cost import account_of, certain_cost, other_version, settings_of_ledger
from dpgrs.study.score_terms import scored_folder, without_scoring
from dpgrs.study.settings import without_paths
from dpgrs.study.table_cohort import is_table
from dpgrs.study.variant_terms import takes_ld, takes_map

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

PROVENANCE = "provenance.json"  # of a bundle
# Terms that a run finds out.
IF_SAME = "if its sites and `privacy.genotype_clip` are the same"


def ledger_requests(settings: "StudyConfig") -> set[str]:
    """Return the ids of all requests in the ledger of a release; none for a benchmark.

    A ledger that is missing or damaged is refused, here and below.
    """
    return set(_book(settings).requests) if _is_release(settings) else set()


def describe_ahead(settings: "StudyConfig") -> list[str]:
    """Say what a release would be charged if it ran now, a line each; nothing for a benchmark."""
    if not _is_release(settings):
        return []
    book, account = _book(settings), account_of(settings.privacy)
    cost = certain_cost(settings, book)
    public = ["sites"] + ["loadings of principal components"] * bool(settings.covariates.pcs)
    if takes_ld(settings.methods):
        # Public scores are part of a map.
        public.append("public map of the genome" if takes_map(settings.methods) else "public LD")
    charge = (
        f"nothing, if its {', '.join(public)}, outcomes in their order and `privacy.genotype_clip` are those "
        "of an earlier release, which is replayed"
    )
    if cost != Cost():
        charge = f"epsilon {shown_epsilon(cost, book.budgets[account])}"
    lines = [f"A whole run would be charged: {charge}; so far {_standing(settings)}."]
    if (version := other_version(settings, book)) is not None:
        lines.append(
            f"Version {version} of the mechanisms made such a release, which this dpgrs cannot replay. "
            f"The run is refused before anything is charged, {IF_SAME}: use the dpgrs that its bundle "
            "names, or give the data a new `dataset.version`, and all of it is charged again."
        )
    return lines + (_earlier_gram(settings, book) if cost != Cost() else [])


def _earlier_gram(settings: "StudyConfig", book: Book) -> list[str]:
    """Say whether X'X is from an earlier release, or would be with other settings."""
    ledger_settings = settings_of_ledger(settings, book)
    if ledger_settings is None:
        return []
    share, missing = "privacy.gram_share", "outcomes.missing"
    changed = settings.changed(
        privacy={"gram_share": ledger_settings[share]}, outcomes={"missing": ledger_settings[missing]}
    )
    if ledger_settings[missing] == settings.outcomes.missing:
        del ledger_settings[missing]
    cost = certain_cost(changed, book)
    if len(ledger_settings) == 1 and cost == certain_cost(settings, book):
        return [
            f"X'X is that of an earlier release, {IF_SAME}, and costs nothing: the charge is for outcomes."
        ]
    charge = shown_epsilon(cost, book.budgets[account_of(settings.privacy)])
    change = " and ".join(f"`{key}: {value}`" for key, value in ledger_settings.items())
    return [
        f"X'X of these genotypes was drawn before, with {change}. Set it so, and X'X is replayed, {IF_SAME}: "
        f"epsilon {charge} would be charged."
    ]


def describe_success(settings: "StudyConfig", *, results: Path | str, earlier: set[str]) -> list[str]:
    """Say where the results of a run are, whether all is noise, and what a release was charged.

    `results` is the folder of the study, and `earlier` the result of `ledger_requests` before the run.
    """
    paths = {"Report": Path(results, "report", "index.html")}
    if _is_release(settings) and Path(results, "release", "SHA256SUMS").is_file():
        paths["Bundle"] = Path(results, "release")
    paths["Scores"] = Path(scored_folder(results), "report", "index.html")
    lines = [f"{name}: {path}" for name, path in paths.items() if path.exists()] + _misfit(settings, results)
    lines += _lost(settings)
    if settings.cohort.part:
        return [
            *lines,
            f"The sums of this centre are there: `dpgrs centre export {results} --name NAME --to KEY`.",
        ]
    if _is_release(settings):
        of_others = _of_others(settings, results)
        lines += _older_pages(Path(results))
        # Without a bundle, as after `--until`, or if it was removed before `--touch`, nothing is there again.
        is_replay = "Bundle" in paths and not of_others
        return lines + of_others + _charge(settings, results, earlier, is_replay=is_replay)
    lines += _copied(settings) + _missing(Path(results, "private", "qc.tsv"))
    return lines + _noise(settings, Path(results, "metrics.tsv"))


def describe_failure(settings: "StudyConfig", *, results: Path | str, earlier: set[str]) -> list[str]:
    """Name the charges to the ledger since a failed run began; empty for a benchmark.

    Parameters are as in `describe_success`.
    """
    if not _is_release(settings):
        return []
    lines, book, standing = _not_whole(Path(results, "release")), _book(settings), _standing(settings)
    charged = book.requests.keys() - earlier
    # Until a request is completed, the ledger does not name its study.
    if not any(book.studies.get(request, settings.study) == settings.study for request in charged):
        elsewhere = " to this study, but to others meanwhile" if charged else ""
        return [*lines, f"Nothing was charged{elsewhere}; {standing}."]
    return [
        *lines,
        f"The ledger was charged during this run; {standing}. Run it again with the same settings and files: "
        "what was charged for these is replayed, not charged twice.",
    ]


def _of_others(settings: "StudyConfig", results: Path | str) -> list[str]:
    """Say that a bundle is of other settings or files, or may be: Snakemake may have been told not to compare
    them."""
    bundle, accuracy = Path(results, "release"), Path(results, "private", "replicate1", "accuracy.npz")
    if not Path(bundle, PROVENANCE).is_file():
        return []
    if lines := _not_whole(bundle):
        return lines
    unscored_settings = without_scoring(settings)
    try:
        # A bundle holds no path. The note on the accuracy has all files that its weights were made from.
        if accuracy.is_file():
            require_made_by(unscored_settings, [accuracy])
        written = Path(bundle, PROVENANCE).read_text()
        is_own = settings_digest(without_paths(unscored_settings)) in written and _states_traits(
            unscored_settings, bundle
        )
    except DpgrsError:
        is_own = False
    if not is_own:
        return [
            "The bundle is of other settings or files than this run's, or of another version of the program, "
            f"and was left as it is. {ALL_ANEW}"
        ]
    if accuracy.is_file():
        return []
    return [
        "The bundle is of this run's settings. Whether it is of its files is not known, as what it was made "
        f"from was removed. {ALL_ANEW}"
    ]


def _not_whole(bundle: Path) -> list[str]:
    """Say that a bundle, if there is one, lacks its list of digests, or is not as the list says."""
    if not Path(bundle, PROVENANCE).is_file():
        return []
    sums = bundle / "SHA256SUMS"
    if not sums.is_file():
        # Snakemake removes it before the job that writes a bundle, which may be refused or killed.
        return [
            f"`{bundle}` is not whole, as it lacks {sums.name}. Run the study again; a replay costs nothing."
        ]
    digests = file_digests(bundle)
    del digests[sums.name]
    listed = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    if sums.read_bytes() == listed.encode():
        return []
    return [
        f"`{bundle}` is not as it was written: {sums.name} lists other digests or files. Publish nothing of "
        "it, and run the study again with `--forcerun write_release`; a replay costs nothing."
    ]


def _older_pages(results: Path) -> list[str]:
    """Say that report and figures are of an earlier bundle, if they are: `--touch` leaves them so."""
    words = results / "release" / "privacy_statement.txt", results / "figures" / "Privacy" / "statement.txt"
    if not all(path.is_file() for path in words) or words[0].read_bytes() == words[1].read_bytes():
        return []
    return [
        f"`{results / 'report'}` and `{results / 'figures'}` are of an earlier bundle. Publish neither, and "
        "run the study again with `--forcerun render_release_report`."
    ]


def _states_traits(settings: "StudyConfig", bundle: Path) -> bool:
    """Return whether the statement of a bundle describes outcomes as their table does now.

    Nothing that is drawn depends on this table, and no note has it.
    """
    from dpgrs.study.traits import read_traits  # brings jsonschema, and every job imports this module

    statement, path = read_json(bundle / "privacy_statement.json"), settings.outcomes.traits
    traits = read_traits(path, statement["data_domain"]["outcomes"]) if path else ()
    return [*traits] == statement["curation"].get("traits", [])


def _misfit(settings: "StudyConfig", results: Path | str) -> list[str]:
    """Say how badly public genotypes fit, if a fit depends on them and they fit badly."""
    if not takes_ld(settings.methods):
        return []
    from dpgrs.io.replicates import load_labelled
    from dpgrs.statement.findings import misfit_in_words

    weights = Path(results, "private").glob("replicate*/weights.npz")
    return misfit_in_words(arrays for path in weights for _, arrays in load_labelled(path))


def _lost(settings: "StudyConfig") -> list[str]:
    """Say which outcome public loadings carry least, if there are any."""
    path = settings.outcomes.loadings
    if path is None:
        return []
    from dpgrs.io.tables.outcome_loadings import carried_shares, read_outcome_loadings

    table = read_outcome_loadings(path)
    shares = carried_shares(table.values)
    worst = shares.argmin()
    return [
        f"Public loadings carry {100 * shares[worst]:.0f} % of the variance of {table.outcomes[worst]}, the "
        f"least of {len(shares)} outcomes: what genes do to the rest is in no weight."
    ]


def _copied(settings: "StudyConfig") -> list[str]:
    """Say that people are copies, if they are."""
    number = n_copies(settings)
    if number is None:
        return []
    return [f"All {number:,} people are copies, mosaics of those in the genotype files: derived data."]


def _missing(counts: Path) -> list[str]:
    """Say on which chromosomes of a benchmark many alleles are missing, if there are any."""
    if not counts.exists():
        return []
    from dpgrs.io.files import read_table
    from dpgrs.io.variant_filters import poorly_called

    return poorly_called(read_table(counts, required=["chromosome", "call_rate"]).iloc[:-1])


def _noise(settings: "StudyConfig", metrics: Path) -> list[str]:
    """Say under how many terms and designs no private method predicts anything, if there are any."""
    if not metrics.exists():
        return []
    # Every job imports this module, and pandas takes longer than the rest of it.
    from dpgrs.reporting import chance_level
    from dpgrs.reporting.data import read_metrics
    from dpgrs.reporting.words import GENOTYPE_WORDS, TABLE_WORDS

    words = TABLE_WORDS if is_table(settings) else GENOTYPE_WORDS
    table = read_metrics(metrics, columns=chance_level.COLUMNS)
    least = chance_level.chance_r2(table, test_share=settings.outcomes.test_share)
    groups, n_cells = chance_level.at_chance_level(table, least_r2=least)
    n_found = sum(group.n_designs for group in groups)
    if not n_found:
        return []
    share = f"all {n_cells}" if n_found == n_cells else f"{n_found} of {n_cells}"
    remedy = chance_level.remedy(settings.privacy.bounds, epsilon="epsilon", words=words)
    return [
        f"All noise at {share} combinations of protection, accounting, epsilon, {words.variants} and "
        f"outcomes: no private method has a mean R^2 of {least:.2g} or more, as chance gives on as many test "
        f"rows in one case of twenty. The report names them. {remedy}"
    ]


def _charge(settings: "StudyConfig", results: Path | str, earlier: set[str], *, is_replay: bool) -> list[str]:
    """Say what a run was charged; charges of other runs meanwhile are spent, but not its own."""
    book, account = _book(settings), account_of(settings.privacy)
    study_requests = {request for request, study in book.studies.items() if study == settings.study}
    # Another folder may have a study of this name. Records may be gone, as under `--all-temp`.
    study_requests &= _recorded_requests(results) or study_requests
    costs = [cost_to(account, book.requests[request]) for request in study_requests - earlier]
    if costs:
        cost = shown_epsilon(sum(costs, Cost()), book.budgets[account])
        return [f"Charged: epsilon {cost}; in all {_standing(settings)}."]
    is_drawn = is_replay and any(Path(results, "private", "replicate1", "drawn").glob("*.json"))
    return [f"{'Replayed: nothing' if is_drawn else 'Nothing'} was charged; {_standing(settings)}."]


def _recorded_requests(results: Path | str) -> set[str]:
    """Return the requests that records of what a study drew name; none if they are gone."""
    replicate, named = Path(results, "private", "replicate1"), set()
    of_draws = [*replicate.glob("drawn/*.json")]
    for path in of_draws and [*of_draws, replicate / "accuracy_events.json"]:
        with suppress(DpgrsError):
            named |= {request for record in read_json(path, kind=list) for _, request in record["requests"]}
    return named


def _standing(settings: "StudyConfig") -> str:
    """Say how much of the account's limit all releases of the dataset have spent together."""
    book, account = _book(settings), account_of(settings.privacy)
    budget = book.budgets[account]
    spent, limit = (shown_epsilon(cost, budget) for cost in (book.spent(account), budget.limit))
    standing = f"epsilon {spent} of {limit} is spent, at delta {shown_delta(budget)}"
    strict = strict_budget(budget, book.people_at_most)
    if strict is None:
        return standing
    spent, limit = (shown_epsilon(cost, strict) for cost in (book.spent(account), budget.limit))
    return f"{standing} ({spent} of {limit} at delta {shown_delta(strict)})"


def _book(settings: "StudyConfig") -> Book:
    return Ledger(settings.privacy.ledger).read()


def _is_release(settings: "StudyConfig") -> bool:
    """Return whether a study may charge a ledger; the study of a centre draws nothing."""
    return settings.mode == "release" and not settings.cohort.part
