"""Check a bundle as its reader would: offline, from its files alone, by other code than what wrote it.

Sums, schema, format rules and arithmetic are all checked, and all problems named at once. What this cannot
show is that the noise was drawn as stated: that takes the curator's ledger and key.
"""

import hashlib
import json
import re
from fractions import Fraction
from pathlib import Path

import yaml
from mpmath import mp

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.privacy.statement import problems_of
from dpgrs.release.scoring_check import read_scoring_file, read_standard_errors

SUMS = "SHA256SUMS"
FIXED_FILES = {
    "privacy_statement.json",
    "privacy_statement.txt",
    "registry.yaml",
    "provenance.json",
    SUMS,
}
NOT_IN_STATEMENT = {"privacy_statement.json", SUMS}
PROVENANCE_KEYS = {"dpgrs", "commit", "code_digest", "python", "libraries", "settings_digest"}
# Text is rounded up at the 15th digit.
ROUNDING = Fraction(1, 10**13)
LARGEST = 10**6
# An absolute path of Unix or Windows, a home folder, a file address; not a web address or a fraction.
TRACE = re.compile(r"(?<![\w:/.])~?/[\w.+-]+/[\w.+-]+|\b[A-Za-z]:\\+\w|\bfile://|(?<!\w)~/\w")


def verify_release(directory):
    """Check a release.

    Parameters
    ----------
    directory : the bundle's folder.

    Returns
    -------
    dict of epsilon, delta, protection, unit, neighbours (text), and of n_files, n_scores, n_variants and
    n_requests (int).

    Raises
    ------
    UsageError
        If there is no such folder, or it holds no bundle.
    DpgrsError
        With all problems, one a line.
    """
    folder = Path(directory)
    _require_bundle(folder)
    files = {
        path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()
    }
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    problems = _folder_problems(folder, files) + _sum_problems(files, digests)
    statement, faults = _read_statement(files)
    problems += faults
    if statement is not None:
        problems += _file_problems(statement, digests)
        problems += _claim_problems(statement)
        problems += _text_problems(statement, files)
        for score in statement["scores"]:
            problems += _score_problems(statement, score, files)
    problems += _trace_problems(files, statement)
    if problems:
        raise DpgrsError(
            f"The release `{directory}` must not be trusted:\n"
            + "\n".join(f"  {problem}" for problem in problems)
            + "\nGet it again from where it was published, or ask its curator."
        )
    guarantee = statement["guarantee"]
    return {name: guarantee[name] for name in ("epsilon", "delta", "protection", "unit", "neighbours")} | {
        "n_files": len(files),
        "n_scores": len(statement["scores"]),
        "n_variants": statement["data_domain"]["n_variants"],
        "n_requests": len({part["request"] for part in statement["mechanisms"]}),
    }


def smallest_delta(mu_squared, epsilon):
    """Return the smallest delta for which Gaussian mechanisms are (epsilon, delta)-DP, to 50 digits.

    delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)

    Parameters
    ----------
    mu_squared : Fraction, the sum over the mechanisms.
    epsilon : Fraction >= 0

    Returns
    -------
    mpmath.mpf
    """
    with mp.workdps(80):
        if not mu_squared:
            return mp.mpf(0)
        mu = mp.sqrt(_to_mpf(mu_squared))
        ratio, epsilon = _to_mpf(epsilon) / mu, _to_mpf(epsilon)
        return mp.ncdf(mu / 2 - ratio) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - ratio)


def _require_bundle(folder):
    """Refuse what is no bundle at all; a folder beside or above one is named with it."""
    if not folder.is_dir():
        raise UsageError(f"`{folder}` must be the folder of a release, got none. Name the right one.")
    if (folder / SUMS).is_file():
        return
    below = sorted(path.parent for path in folder.glob(f"*/{SUMS}"))
    fix = f"did you mean `{below[0]}`?" if below else "name the folder that holds it."
    raise UsageError(f"`{folder}` has no {SUMS}, so it is no bundle; {fix}")


def _to_mpf(fraction):
    return mp.mpf(fraction.numerator) / fraction.denominator


def _folder_problems(folder, files):
    folders = {Path(name).parent.as_posix() for name in files}
    problems = [f"{name} must be there" for name in sorted(FIXED_FILES - files.keys())]
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            problems.append(f"{name} must be a file of its own, not a link")
        elif path.is_dir() and name not in folders:
            problems.append(f"{name} must not be there: an empty folder")
    return problems


def _sum_problems(files, digests):
    lines = files[SUMS].read_text(encoding="utf-8", errors="replace").splitlines()
    matches = [re.fullmatch(r"([0-9a-f]{64})  (\S+)", line) for line in lines]
    if not all(matches):
        return [f"{SUMS} must hold lines of a digest, two spaces and a file name"]
    listed = {match[2]: match[1] for match in matches}
    actual = {name: digest for name, digest in digests.items() if name != SUMS}
    return _digest_problems(SUMS, listed, actual)


def _file_problems(statement, digests):
    actual = {name: digest for name, digest in digests.items() if name not in NOT_IN_STATEMENT}
    problems = _digest_problems("the statement", statement["files"], actual)
    scores = statement["scores"]
    named = [file for score in scores for file in (score["file"], score["standard_errors"]) if file]
    if set(named) != actual.keys() - FIXED_FILES or len(set(named)) < len(named):
        problems.append("the statement must name each file of scores and standard errors once")
    if [score["outcome"] for score in scores] != statement["data_domain"]["outcomes"]:
        problems.append("the statement must name one score for each outcome, in their order")
    return problems


def _digest_problems(list_name, listed, actual):
    return [
        *(f"{name} must be there: {list_name} lists it" for name in sorted(listed.keys() - actual.keys())),
        *(
            f"{name} must not be there: {list_name} does not list it"
            for name in sorted(actual.keys() - listed.keys())
        ),
        *(
            f"{name} must have the digest in {list_name}, but was changed"
            for name in sorted(listed.keys() & actual.keys())
            if listed[name] != actual[name]
        ),
    ]


def _read_statement(files):
    """Return the statement, or None, and what is wrong with it."""
    statement, problems = _read_json(files, "privacy_statement.json")
    faults = problems or problems_of(statement)
    if problems:
        return None, problems
    return (None if faults else statement), [f"privacy_statement.json: {fault}" for fault in faults]


def _read_json(files, name):
    if name not in files:
        return None, []
    try:
        text = files[name].read_text(encoding="utf-8")
        return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse), []
    except (ValueError, RecursionError):
        return None, [f"{name} must be JSON in UTF-8, without a repeated key"]


def _without_repeats(pairs):
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key is there twice")
    return dict(pairs)


def _refuse(constant):
    raise ValueError(constant)


def _claim_problems(statement):
    """Work every claim out anew from sensitivities and standard deviations."""
    losses = [_mu(part) ** 2 for part in statement["mechanisms"]]
    problems = []
    for part, loss in zip(statement["mechanisms"], losses, strict=True):
        problems += _mechanism_problems(part, loss / sum(losses), statement["guarantee"])
    problems += _total_problems(statement, losses) + _ledger_problems(statement, sum(losses))
    return problems + _audit_problems(statement)


def _mu(mechanism):
    return Fraction(mechanism["sensitivity"]) / Fraction(mechanism["sigma"])


def _mechanism_problems(part, share, guarantee):
    rules = {
        f"mu = sensitivity/sigma, got {part['mu']}": 0 <= Fraction(part["mu"]) / _mu(part) - 1 <= ROUNDING,
        f"share = mu^2 over the sum, got {part['share']}": 0 <= 1 - Fraction(part["share"]) / share <= 1e-3,
        f"the unit of the guarantee, got {part['unit']}": part["unit"] == guarantee["unit"],
        f"the neighbours of the guarantee, got {part['neighbours']}": (
            part["neighbours"] == guarantee["neighbours"]
        ),
    }
    return [
        f"the mechanism of {part['statistic']} must have {rule}" for rule, holds in rules.items() if not holds
    ]


def _total_problems(statement, losses):
    """Check that every claim covers what its mechanisms add up to."""
    guarantee, composition, total = statement["guarantee"], statement["composition"], sum(losses)
    served = [part["outcome"] for part in statement["mechanisms"]]  # None for all outcomes
    largest = max(
        sum(loss for loss, of in zip(losses, served, strict=True) if of in (None, outcome))
        for outcome in statement["data_domain"]["outcomes"]
    )
    rows_of_person = 1 if guarantee["unit"] == "person" else 2
    problems = [
        *_covering_problems("the guarantee", guarantee, total),
        *_covering_problems("the loss of a person", guarantee["person"], total * rows_of_person**2),
        *_covering_problems("composition.per_outcome", composition["per_outcome"], largest),
        *_covering_problems("composition.whole_study", composition["whole_study"], total),
    ]
    if not total <= Fraction(guarantee["mu"]) ** 2 <= total * (1 + 3 * ROUNDING):
        problems.append(
            f"the guarantee must have mu^2 = the sum over the mechanisms, got mu {guarantee['mu']}"
        )
    if Fraction(guarantee["delta"]) >= 1:
        problems.append(f"delta must be below 1, got {guarantee['delta']}: it promises nothing")
    return problems


def _ledger_problems(statement, total):
    guarantee, ledger = statement["guarantee"], statement["ledger"]
    account = "/".join(guarantee[term] for term in ("protection", "unit", "neighbours"))
    mu_squared, pure_epsilon, epsilon = (
        Fraction(ledger["spent"][name]) for name in ("mu_squared", "pure_epsilon", "epsilon")
    )
    claim = {"epsilon": epsilon - pure_epsilon, "delta": ledger["delta"]}
    problems = _covering_problems("ledger.spent", claim, mu_squared)
    if mu_squared < total:
        problems.append("ledger.spent must be at least what this release costs")
    if ledger["head"] not in {part["request"] for part in statement["mechanisms"]}:
        problems.append("ledger.head must be the last request of this release")
    if ledger["account"] != account:
        problems.append(f"ledger.account must be {account}, got {ledger['account']}")
    return problems


def _audit_problems(statement):
    """Check that the audits cover every draw, and that none saw more than was claimed."""
    audit = statement["audit"]
    if audit is None:
        return []
    audited = [case["mechanism"] for case in audit["mechanisms"]]
    drawn = {"private_" + part["statistic"].replace(" ", "_") for part in statement["mechanisms"]}
    problems = [f"audit must cover {name}" for name in sorted(drawn - set(audited))]
    if len(set(audited)) < len(audited):
        problems.append("audit must name each mechanism once")
    if Fraction(audit["confidence"]) >= 1:
        problems.append(f"audit.confidence must be below 1, got {audit['confidence']}")
    return problems + [
        f"the audit of {case['mechanism']} must have observed at most what is claimed, got {case['observed']}"
        for case in audit["mechanisms"]
        if Fraction(case["observed"]) > Fraction(case["claimed"])
    ]


def _covering_problems(name, claim, mu_squared):
    epsilon, delta = Fraction(claim["epsilon"]), Fraction(claim["delta"])
    if epsilon < 0:
        return [f"{name} must have an epsilon of at least its pure part"]
    if max(epsilon, mu_squared) > LARGEST:
        return [f"{name} must have an epsilon and a mu^2 of at most {LARGEST}: beyond, nothing is promised"]
    needed = smallest_delta(mu_squared, epsilon)
    if needed <= _to_mpf(delta):
        return []
    at_least = mp.nstr(needed, 6)
    return [f"{name} must cover its mechanisms: at its epsilon delta is {at_least}, got {claim['delta']}"]


def _text_problems(statement, files):
    """Check that the files for people and for the registry say what the statement says."""
    guarantee, curation = statement["guarantee"], statement["curation"]
    problems = []
    if not guarantee["definition"].startswith(f"({guarantee['epsilon']}, {guarantee['delta']})-"):
        problems.append("the definition must begin with (epsilon, delta)")
    for number in (f"e^{guarantee['epsilon']} ", f"chance of {guarantee['delta']}."):
        if number not in guarantee["plain_language"]:
            problems.append(f"the plain-language line must hold `{number.strip()}`")
    if "privacy_statement.txt" in files:
        told = " ".join(files["privacy_statement.txt"].read_text(encoding="utf-8", errors="replace").split())
        if " ".join(guarantee["plain_language"].split()) not in told:
            problems.append("privacy_statement.txt must hold the plain-language line")
    provenance, faults = _read_json(files, "provenance.json")
    problems += faults
    software = {"dpgrs": statement["software"]["version"], "commit": statement["software"]["commit"]}
    if not isinstance(provenance, dict) or provenance.keys() != PROVENANCE_KEYS:
        problems.append(f"provenance.json must hold {', '.join(sorted(PROVENANCE_KEYS))} and nothing else")
    elif {name: provenance[name] for name in software} != software:
        problems.append("provenance.json must name the version and commit of the statement")
    return problems + _registry_problems(guarantee, curation, files)


def _registry_problems(guarantee, curation, files):
    if "registry.yaml" not in files:
        return []
    stated = [float(guarantee["epsilon"]), float(guarantee["delta"]), guarantee["unit"]]
    stated += [curation[name] for name in ("title", "curator", "publication_date")]
    try:
        deployment = yaml.safe_load(files["registry.yaml"].read_text(encoding="utf-8"))["deployment"]
        loss, basic = deployment["privacy_loss"], deployment["basic"]
        told = [*loss["privacy_parameters"].values(), loss["privacy_unit"].lower(), basic["name"]]
        told += [basic["data_curators"][0]["data_curator_name"], basic["publication_date"]]
    except (yaml.YAMLError, UnicodeDecodeError, LookupError, TypeError, AttributeError):
        return ["registry.yaml must be a record of the deployments registry"]
    if told == stated:
        return []
    return ["registry.yaml must give epsilon, delta, unit, title, curator and date of the statement"]


def _score_problems(statement, score, files):
    """Check one outcome's files against the format and the statement."""
    if not {score["file"], score["standard_errors"] or score["file"]} <= files.keys():
        return []  # named already
    guarantee, domain = statement["guarantee"], statement["data_domain"]
    file = read_scoring_file(files[score["file"]])
    stated = {
        f"dp_{name}": guarantee[name] for name in ("epsilon", "delta", "protection", "unit", "neighbours")
    }
    stated |= {"genome_build": domain["genome_build"], "privacy_statement": "privacy_statement.json"}
    stated |= {"variants_number": str(domain["n_variants"])}
    stated |= {"pgs_id": Path(score["file"]).name.removesuffix(".txt.gz")}
    problems = file.problems + [
        f"{key} must be {value} as stated, got {file.header.get(key)}"
        for key, value in stated.items()
        if file.header.get(key) != value
    ]
    if file.site_digest != domain["site_digest"]:
        problems.append("its sites must be those of the statement's site_digest")
    problems = [f"{score['file']}: {problem}" for problem in problems]
    if score["standard_errors"]:
        errors = read_standard_errors(files[score["standard_errors"]])
        faults = errors.problems + (
            [] if errors.sites == file.sites else ["its sites must be those of the score"]
        )
        problems += [f"{score['standard_errors']}: {fault}" for fault in faults]
    return problems


def _trace_problems(files, statement):
    """Find what tells of the machine: absolute paths, wherever they stand but in the names of outcomes."""
    outcomes = statement["data_domain"]["outcomes"] if statement else []
    problems = []
    for name, path in files.items():
        text = (
            read_standard_errors(path).text
            if name.endswith(".gz")
            else path.read_text("utf-8", errors="replace")
        )
        traces = [match[0].replace("\\\\", "\\") for match in TRACE.finditer(text)]  # JSON doubles them
        if any(all(trace not in outcome for outcome in outcomes) for trace in traces):
            problems.append(f"{name} must not hold a path of the machine that made it")
    return problems
