"""Check a bundle as its reader would: offline, using only its files.

Numbers are worked out by other code than what wrote them. Sums, schema, format rules and arithmetic are all
checked, and all problems named at once. What this cannot show is that the noise was drawn as stated: that
takes the curator's ledger and key.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpgrs import __version__
from dpgrs.errors import DpgrsError, UsageError, shown
from dpgrs.statement.conditions import conditions_of
from dpgrs.statement.deployments_registry import to_registry_yaml
from dpgrs.statement.draws import ACCURACY as ACCURACY_DRAW
from dpgrs.statement.guarantee import words_of
from dpgrs.statement.post_processing import is_post_processing
from dpgrs.statement.schema import FORMAT_VERSION, problems_of
from dpgrs.statement.text import plain_language
from dpgrs.statement.words import COVARIATES_INPUT, PREPROCESSING
from dpgrs.types import Metrics, Protection
from dpgrs.verify import accuracy_check, entry_check, folder_check, scoring_check
from dpgrs.verify.accuracy_check import CONSTANTS, MEASURES
from dpgrs.verify.accuracy_check import SUMS as ACCURACY_SUMS
from dpgrs.verify.claim_check import claim_problems, number_problems
from dpgrs.verify.covariate_check import FILE as COVARIATES
from dpgrs.verify.covariate_check import LOADINGS as COMPONENTS
from dpgrs.verify.covariate_check import (
    REGRESSION,
    covariate_problems,
    is_adjusted,
    regression_problems,
    stated_inputs,
)
from dpgrs.verify.draw_check import draw_problems, form_problems, has_moments
from dpgrs.verify.entry_check import FILE as LOADINGS
from dpgrs.verify.folder_check import SUMS, lines_of, read_digests, read_text
from dpgrs.verify.input_check import SCALES, input_problems, scale_problems
from dpgrs.verify.sensitivity_check import sensitivity_problems
from dpgrs.verify.side_check import side_problems
from dpgrs.verify.statistics_check import ld_problems, statistics_names, statistics_problems

STATEMENT = "privacy_statement.json"
FIXED_FILES = {STATEMENT, "privacy_statement.txt", "registry.yaml", "provenance.json", CONSTANTS, SUMS}
TABLES = {ACCURACY_SUMS, MEASURES, SCALES, COVARIATES, COMPONENTS, LOADINGS}
PROVENANCE_KEYS = {"dpgrs", "commit", "code_digest", "python", "libraries", "settings_digest"}
# Made anew from a statement in which nothing is wrong.
TOLD = {"privacy_statement.txt": plain_language, "registry.yaml": to_registry_yaml}
# Additions to the line on checks that were made, and to the line on checks that were not.
SUMMED = ", and that R^2 and error on public people follow from constants and sums"
ACCURACY = {
    "withheld": ("", ""),
    "charged": ("", "; the noisy accuracy, which was measured on private people"),
    "recomputed": (SUMMED, "; that these sums are of these weights, for which give --reference"),
    "scored": (f"{SUMMED}, these from the weights", ""),
}
REFITTED = ", and that scores follow from the noisy statistics, by the program's own fits"
NOT_REFITTED = "; that scores follow from what was drawn: the bundle lacks what they were fitted from"
JSON_FORM = "finite numbers, no repeated key, an indent of two"
# Limits of the findings that are shown.
LONGEST_LINE, MOST_LINES = 500, 1000


def verify_release(
    directory: Path | str, *, reference: Path | str | None = None, ld: Path | str | None = None
) -> dict[str, Any]:
    """Check a release.

    Parameters
    ----------
    directory : the bundle's folder.
    reference : folder of the public people that accuracy was measured on, as a study makes it, ``public``:
        they are scored by the weights of the bundle. None goes without.
    ld : file of the truncated LD that lies beside a bundle with effects along directions: the effects are
        held against it. None goes without.

    Returns
    -------
    dict of epsilon, delta, protection, unit, neighbours (text), and of n_files, n_scores, n_variants,
    n_requests and, where every score holds variants that were chosen for it, n_chosen (int); accuracy:
    ``withheld``, ``charged``, which takes private people, ``recomputed`` from the sums in the bundle, or
    ``scored`` on the public people.

    Raises
    ------
    UsageError
        If there is no such folder, or it holds no bundle.
    DpgrsError
        With all problems, one a line.

    Examples
    --------
    >>> import dpgrs
    >>> checked = dpgrs.verify_release("release")
    >>> checked["n_scores"], checked["unit"], checked["accuracy"]
    (3, 'person', 'withheld')
    """
    folder = Path(directory)
    _require_bundle(folder)
    files, refused = folder_check.list_files(folder)
    sums, problems = read_digests(files)
    statement, faults = _read_statement(files)
    problems = [*refused.values(), *problems, *faults]
    problems += [
        problem for name, problem in _folder_problems(files, sums, statement).items() if name not in refused
    ]
    if statement is not None:
        problems += _name_problems(statement)
        problems += claim_problems(statement) + form_problems(statement)
        before = [REGRESSION] if is_adjusted(statement) else []
        problems += draw_problems(statement, earlier_draws=before)
        problems += input_problems(statement) + side_problems(statement)
        problems += _choice_problems(statement)
        problems += _provenance_problems(statement, files)
        problems += folder_check.table_problems(files, TABLES - {COMPONENTS, LOADINGS} | {CONSTANTS})
        problems += covariate_problems(statement, files) + scale_problems(statement, files)
        constants, faults = accuracy_check.read_constants(statement, files)
        problems += faults + accuracy_check.accuracy_problems(statement, files, constants)
        frequencies = {}
        for number, score in enumerate(statement["scores"]):
            constant = constants[number][0] if constants and number < len(constants) else None
            check_options = {"constant": constant, "frequencies": frequencies}
            problems += scoring_check.score_problems(statement, score, files, **check_options)
        problems += _trace_problems(files, statement)
    # Each stage trusts what those before it checked.
    bundle = (statement, files)
    stages = (
        lambda: entry_check.entry_problems(*bundle) + scoring_check.plink_problems(*bundle),
        lambda: accuracy_check.measure_problems(*bundle) + accuracy_check.count_problems(*bundle),
        lambda: [
            *sensitivity_problems(statement, n_columns=entry_check.columns_of(*bundle)),
            *regression_problems(statement, covariates=entry_check.covariates_of(files)),
            *number_problems(statement),
            *_word_problems(*bundle),
        ],
        lambda: statistics_problems(*bundle),
        lambda: accuracy_check.case_problems(*bundle),
        lambda: _reference_problems(*bundle, Path(reference)) if reference is not None else [],
        lambda: ld_problems(*bundle, Path(ld)) if ld is not None else [],
    )
    problems = problems or next(filter(None, (stage() for stage in stages)), [])
    if problems:
        raise DpgrsError("bundle-refused", _in_words(problems, directory))
    guarantee, scores = statement["guarantee"], statement["scores"]
    accuracy = "scored" if reference is not None else "recomputed" if ACCURACY_SUMS in files else "charged"
    if statement["accuracy"] == Metrics.WITHHELD:
        accuracy = "withheld"
    n_chosen = {"n_chosen": scores[0]["n_variants"]} if "n_variants" in scores[0] else {}
    return {name: guarantee[name] for name in ("epsilon", "delta", "protection", "unit", "neighbours")} | {
        "n_files": len(files),
        "n_scores": len(scores),
        "n_variants": statement["data_domain"]["n_variants"],
        **n_chosen,
        "n_requests": len({mechanism["request"] for mechanism in statement["mechanisms"]}),
        "accuracy": accuracy,
    }


def _reference_problems(statement: dict[str, Any], files: dict[str, Path], reference: Path) -> list[str]:
    """Score the public people by a bundle in which nothing else is wrong."""
    if ACCURACY_SUMS not in files:
        raise UsageError(
            "reference-not-measured",
            "`--reference` must go with a release whose accuracy was measured on public people, got another. "
            "Leave it out.",
        )
    # The one module here that loads the readers of a study, which nobody needs without public people.
    from dpgrs.verify.reference_check import score_people, sum_problems

    names = statement["data_domain"]["outcomes"]
    scores = [scoring_check.read_scoring_file(files[score["file"]]) for score in statement["scores"]]
    people = score_people(scores, files.get(COVARIATES), reference)
    sums = accuracy_check.read_sums(statement, files)[0]
    return sum_problems(names, sums, *people) or accuracy_check.scored_problems(statement, files, *people)


def verdict(report: dict[str, Any]) -> str:
    """Return in three lines which checks a bundle without a finding passed, and which were not made.

    The report is from `verify_release`, perhaps with ``refits`` of `dpgrs.release.open_release`.
    """
    chosen = f"{report['n_chosen']} chosen of " if "n_chosen" in report else ""
    checked, unchecked = ACCURACY[report["accuracy"]]
    checked += REFITTED * report.get("refits", False)
    unchecked += NOT_REFITTED * (not report.get("refits", True))
    return "\n".join(
        [
            f"The bundle is whole: {report['n_files']} files, {report['n_scores']} scores of {chosen}"
            f"{report['n_variants']} variants, epsilon {report['epsilon']} and delta {report['delta']} for "
            f"one {report['unit']}.",
            f"Checked: digests, formats, that all draws are listed and add up to what is claimed{checked}.",
            "Not checked: that noise was drawn as stated, which takes the curator's ledger and key; that "
            f"sensitivities are right, for which there are proofs and audits{unchecked}; who made this "
            "folder, as there is no signature.",
        ]
    )


def _require_bundle(folder: Path) -> None:
    """Refuse what is no bundle at all; a folder beside or above one is named with it."""
    if not folder.is_dir():
        raise UsageError(
            "not-a-release-folder",
            f"`{folder}` must be the folder of a release, got none. Name the right one.",
        )
    if (folder / SUMS).is_file():
        return
    below = sorted(path.parent for path in folder.glob(f"*/{SUMS}"))
    fix = f"did you mean `{below[0]}`?" if below else "name the folder that holds it."
    raise UsageError("bundle-without-sums", f"`{folder}` has no {SUMS}, so it is no bundle; {fix}")


def _in_words(problems: list[str], directory: Path | str) -> str:
    """Word the findings, as a terminal may show them, and the verdict."""
    lines = [f"  {shown(problem, n_characters=LONGEST_LINE)}" for problem in problems[:MOST_LINES]]
    more = [f"  and {len(problems) - MOST_LINES} more"] if len(problems) > MOST_LINES else []
    return "\n".join(
        [
            f"The release `{directory}` must not be trusted:",
            *lines,
            *more,
            f"{len(problems)} finding{'s'[: len(problems) > 1]}. "
            "Get it again from where it was published, or ask its curator.",
        ]
    )


def _folder_problems(
    files: dict[str, Path], sums: dict[str, str] | None, statement: dict[str, Any] | None
) -> dict[str, str]:
    """Check that all files are there, no others, and each with its digest; return problems by name."""
    missing = {name: f"{name} must be there" for name in sorted(FIXED_FILES - files.keys())}
    digests = {name: folder_check.file_digest(path) for name, path in files.items()}
    return missing | folder_check.digest_problems(digests, sums=sums, statement=statement)


def _name_problems(statement: dict[str, Any]) -> list[str]:
    """Check that the statement's names of files and outcomes agree with each other."""
    scores, problems = statement["scores"], []
    named = [file for score in scores for file in (score["file"], score["standard_errors"]) if file]
    named += statistics_names(statement)
    unscored_files = FIXED_FILES | TABLES | set(scoring_check.plink_files(statement["files"]))
    if set(named) != statement["files"].keys() - unscored_files or len(set(named)) < len(named):
        problems.append("the statement must name each file of scores, standard errors and statistics once")
    outcomes, traits = statement["data_domain"]["outcomes"], scoring_check.traits_of(statement)
    if [score["outcome"] for score in scores] != outcomes:
        problems.append("the statement must name one score for each outcome, in their order")
    named = [trait_entry["outcome"] for trait_entry in statement["curation"].get("traits", ())]
    if named != [name for name in outcomes if name in traits]:
        problems.append("the traits must be of outcomes of the statement, each once, in their order")
    for name, trait in traits.items():
        ids, labels = (len(trait.get(field, ())) for field in ("efo_ids", "mapped_traits"))
        if labels not in (0, ids):
            problems.append(f"the traits of {name} must have one label an id, got {labels} of {ids}")
    return problems


def _read_statement(files: dict[str, Path]) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the statement, or None, and what is wrong with it."""
    statement, problems = _read_json(files, STATEMENT)
    if other := _other_format(statement):
        return None, [f"{STATEMENT}: {other}"]
    if problems or STATEMENT not in files:
        return None, problems
    try:
        faults = problems_of(statement)
    except RecursionError:
        faults = ["it must not be nested as deep as it is"]
    return (None if faults else statement), [f"{STATEMENT}: {fault}" for fault in faults]


def _other_format(statement: Any) -> str | None:
    """Name the version of the program that checks a statement of another format; None of this format."""
    stated = statement.get("format_version") if isinstance(statement, dict) else None
    if not isinstance(stated, int) or stated == FORMAT_VERSION:
        return None
    software = statement.get("software")
    version = shown(str(software.get("version"))) if isinstance(software, dict) else "another version"
    commit = shown(str(software.get("commit"))) if isinstance(software, dict) else "none"
    return (
        f"format_version must be {FORMAT_VERSION} for dpgrs {__version__}, got {stated}. Check the bundle "
        f"with the program that made it: dpgrs {version}, commit {commit}"
    )


def _read_json(files: dict[str, Path], name: str) -> tuple[Any, list[str]]:
    if name not in files:
        return None, []
    try:
        text = files[name].read_bytes().decode()
        content = json.loads(text)
        is_written = text == json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    except (ValueError, RecursionError):
        content, is_written = None, False
    return content, [f"{name} must be JSON in UTF-8 as dpgrs writes it: {JSON_FORM}"] * (not is_written)


def _choice_problems(statement: dict[str, Any]) -> list[str]:
    """Check that the variants of a score are all, or so many as the release chose and paid for."""
    domain, scores, chosen = statement["data_domain"], statement["scores"], entry_check.choices_of(statement)
    n_sites = domain["n_variants"]
    problems = [
        f"a choice must be among all {n_sites} sites of the data domain, got {choice['entries']}"
        for choice in entry_check.choice_parts(statement)
        if choice["entries"] != n_sites
    ]
    for score in scores:
        size, n_chosen = score.get("n_variants"), chosen.get(score["outcome"], chosen.get(None))
        if size != scores[0].get("n_variants"):
            problems.append(f"{score['file']} must hold as many variants as the other scores")
        if size != n_chosen:
            n_held = "all" if size is None else size
            problems.append(
                f"{score['file']} must hold variants of a choice among all {n_sites}, got {n_held}"
            )
        if size == n_sites and score["site_digest"] != domain["site_digest"]:
            problems.append(f"{score['file']} must hold all sites of the data domain, got others")
    # One choice for all outcomes gives them the same variants.
    sharing = [score for score in scores if None in chosen and score["outcome"] not in chosen]
    return problems + [
        f"{score['file']} must hold the variants of {sharing[0]['file']}: they share a choice"
        for score in sharing
        if score.get("site_digest") != sharing[0].get("site_digest")
    ]


def _provenance_problems(statement: dict[str, Any], files: dict[str, Path]) -> list[str]:
    """Check that provenance holds what may be published, and the program that the statement names."""
    provenance, problems = _read_json(files, "provenance.json")
    software = {"dpgrs": statement["software"]["version"], "commit": statement["software"]["commit"]}
    if not isinstance(provenance, dict) or provenance.keys() != PROVENANCE_KEYS:
        problems.append(f"provenance.json must hold {', '.join(sorted(PROVENANCE_KEYS))} and nothing else")
    elif {name: provenance[name] for name in software} != software:
        problems.append("provenance.json must name the version and commit of the statement")
    return problems


def _word_problems(statement: dict[str, Any], files: dict[str, Path]) -> list[str]:
    """Check that the words that follow from a statement's terms and draws are right, word for word."""
    version = statement["software"]["version"]
    other = "" if version == __version__ else f"; this is dpgrs {__version__}: take {version}"
    guarantee = statement["guarantee"]
    has_covariates = COVARIATES_INPUT in stated_inputs(statement)
    protected = Protection(guarantee["protection"]).of_unit(has_covariates=has_covariates)
    stated = guarantee | statement["composition"] | {"assumptions": statement["assumptions"]}
    words = words_of(guarantee, statement["mechanisms"], statement["public_inputs"], protected=protected)
    wrong = [
        f"the {name} must be what the terms and draws say" for name in words if stated[name] != words[name]
    ]
    if statement["conditions"] != conditions_of(statement):
        wrong.append("the conditions must be what the public inputs and the terms say")
    before = statement["preprocessing"]
    if before and not (len(before) == 1 and before[0].startswith(PREPROCESSING)):
        wrong.append("the preprocessing must be one line of the curator's own")
    if not is_post_processing(
        statement["post_processing"],
        statement["method"],
        statement["fit"],
        outcomes=statement["data_domain"]["outcomes"],
        protection=guarantee["protection"],
        missing_outcomes=statement["data_domain"].get("missing_outcomes"),
        components=entry_check.components_of(files),
        has_accuracy=any(
            mechanism["statistic"] == ACCURACY_DRAW.statistic for mechanism in statement["mechanisms"]
        ),
        is_adjusted=is_adjusted(statement),
        has_moments=has_moments(statement),
    ):
        wrong.append("the post_processing must be what the method, its fit and the draws say")
    wrong += [
        f"{name} must be what {STATEMENT} says"
        for name, text_of in TOLD.items()
        if read_text(files[name]) != text_of(statement)
    ]
    return [f"{line}, word for word as dpgrs {version} has it{other}" for line in wrong]


def _trace_problems(files: dict[str, Path], statement: dict[str, Any]) -> list[str]:
    """Find traces of the machine: absolute paths, except in names of outcomes and their traits."""
    traits = json.dumps(list(scoring_check.traits_of(statement).values()), ensure_ascii=False)
    public_texts, problems = [*statement["data_domain"]["outcomes"], traits], []
    for name in sorted(files.keys() & {*FIXED_FILES, *statement["files"]}):
        if name.endswith(folder_check.OF_ARRAYS):
            continue  # numbers and names that stand in other files
        if any(all(trace not in text for text in public_texts) for trace in _traces(files[name])):
            problems.append(f"{name} must not hold a path of the machine that made it")
    return problems


def _traces(path: Path) -> Iterator[str]:
    """Yield absolute paths in a file; of a table, up to where it cannot be read, which is named already."""
    texts = lines_of(path, []) if path.suffix == ".gz" else [read_text(path)]
    with suppress(ValueError):
        for text in texts:
            if "/" in text or "\\" in text:
                for match in folder_check.TRACE.finditer(text):
                    yield match[0].rstrip(".").replace("\\\\", "\\")  # JSON doubles them
