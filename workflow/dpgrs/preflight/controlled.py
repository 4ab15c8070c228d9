"""What keeps a study of controlled-access data from starting, as of dbGaP: encryption, consent, approval."""

import re

from dpgrs.study.settings import PATHS

ENCRYPTED = (".ncbi_enc", ".ngc")
# Others are looked at where their files are read.
ENCRYPTION_UNCHECKED = frozenset(PATHS) - {
    "cohort.vcf",
    "cohort.populations",
    "outcomes.file",
    "covariates.file",
}
NEEDED_OF_CONTROLLED = {
    "data_use": "the consent group's code, as HMB-IRB or GRU",
    "approved_by": "who approved the use",
    "dar_id": "the number of the approved request",
    "approval_date": "a date such as 2026-01-31",
    "acknowledgement": "the words that the study asks for",
}
ACCESSION, GROUPS, CODE = re.compile(r"phs\d{6}"), re.compile(r"c\d+(\+c\d+)*"), re.compile(r"c?(\d+)")
# A folder or file such as phs000000.v1.p1.c1.GRU; table and name may stand between. A folder of the user's
# own may be named after a study without its version, and hold public files too.
IN_PATH, GROUP_IN_PATH = re.compile(r"(?i)phs\d{6}"), re.compile(r"(?i)\.c(\d+)(?=[._-]|$)")
WITH_VERSION = re.compile(r"(?i)phs\d{6}(\.[^/]*)?\.v\d+")
PUBLIC_KEYS = frozenset(key for key in PATHS if key.startswith("public.")) | {
    "evaluation.outcomes",
    "evaluation.covariates",
}
HEALTH_ALONE = re.compile(r"(?<![A-Za-z])HMB(?![A-Za-z])")


def is_controlled(config):
    """Tell whether a study is of dbGaP data by its accession; what is simulated is not."""
    is_simulated = config["cohort"]["source"] == config["outcomes"]["source"] == "simulate"
    return bool(re.match(r"phs\d", config["dataset"]["accession"] or "")) and not is_simulated


def controlled_problems(config):
    """List what controlled data lack, or contradict.

    Parameters
    ----------
    config : dict from `dpgrs.study.settings.resolve`.

    Returns
    -------
    list of str, one line a problem.
    """
    # The ledger names its data set itself.
    paths = {key: path for key in PATHS if key != "privacy.ledger" and (path := _value(config, key))}
    lines = [
        f"`{key}` must be a decrypted file, got {path}. Decrypt it with `vdb-decrypt` of the SRA Toolkit."
        for key, path in paths.items()
        if key in ENCRYPTION_UNCHECKED and path.endswith(ENCRYPTED)
    ]
    if config["mode"] == "benchmark":
        lines += _open_problems(paths)
    else:
        lines += _path_problems(config["dataset"], paths)
        if is_controlled(config):
            lines += _approval_problems(config["dataset"]) + _consent_problems(config, paths)
    return lines + _ancestry_problems(config, paths)


def _value(config, key):
    for name in key.split("."):
        config = config[name]
    return config


def _open_problems(paths):
    return [
        f"`{key}` must be open data in a benchmark, got {path} of {found[0]}: its figures are exact. Use "
        "`mode: release`."
        for key, path in paths.items()
        if (found := IN_PATH.search(path))
    ]


def _path_problems(dataset, paths):
    """Hold accession and consent group in the names of files and folders against those of the ledger."""
    accession, lines = dataset["accession"], []
    groups = _groups(dataset["consent"])
    for key, path in paths.items():
        if key in PUBLIC_KEYS:
            if found := WITH_VERSION.search(path):
                lines.append(
                    f"`{key}` must be public data, got {path} of {found[0][:9]}. Name another source."
                )
            continue
        for named, group in _named_in(path):
            if named != accession:
                lines.append(
                    f"`dataset.accession` must be {named} as in `{key}`, {path}, got {accession or 'null'}. "
                    "Correct it, or name files of that study."
                )
            elif group is not None and groups is not None and group not in groups:
                lines.append(
                    f"`dataset.consent` must be c{group} as in `{key}`, {path}, got {dataset['consent']}. "
                    "Correct it, or name files of that group."
                )
    return lines


def _approval_problems(dataset):
    lines = [
        f"`dataset.{name}` must be given for a release of dbGaP data, got null: {what}. Fill it in."
        for name, what in NEEDED_OF_CONTROLLED.items()
        if not dataset[name]
    ]
    if dataset["sensitive"] is None:
        lines.append(
            "`dataset.sensitive` must say whether summary results of the study may not be public, got null. "
            "See the study's page in dbGaP."
        )
    elif dataset["sensitive"]:
        lines.append(
            "`dataset.sensitive` must be false for a release, got true: its bundle is made to be public. Ask "
            "the data access committee."
        )
    if not ACCESSION.fullmatch(dataset["accession"]):
        lines.append(
            "`dataset.accession` must be phs and six digits for dbGaP data, without version, got "
            f"{dataset['accession']}. Versions of a study share one ledger."
        )
    return lines


def _consent_problems(config, paths):
    """Hold the codes that people need against the consent group that the ledger counts for."""
    consent, allow = config["dataset"]["consent"], config["people"]["consent"]["allow"] or []
    groups, known = _groups(consent), (config["dataset"]["data_use"] or "").casefold()
    if consent and groups is None:
        return [
            f"`dataset.consent` must be groups as c1 or c1+c2 for dbGaP data, got {consent}. Write them so."
        ]
    if groups is None:
        return []  # missing, which a release says by itself
    lines = []
    for code in allow:
        number = CODE.fullmatch(code)
        if int(number[1]) not in groups if number else code.casefold() != known:
            lines.append(
                f"`people.consent.allow` must be of `dataset.consent` ({consent}) or `dataset.data_use`, got "
                f"{code}. Correct one of them."
            )
    key = next((key for key in ("cohort.vcf", "cohort.plink") if key in paths), None)
    is_by_path = key is None or any(group is not None for _, group in _named_in(paths[key]))
    if "people.consent.file" not in paths and not is_by_path:
        lines.append(
            f"`people.consent.file` must be given where the path in `{key}` names no consent group, got "
            "null. Give the table of consent codes."
        )
    return lines


def _ancestry_problems(config, paths):
    """Refuse results by population where data may serve health research alone."""
    populations, dataset = config["cohort"]["populations"], config["dataset"]
    allow = config["people"]["consent"]["allow"] or []
    of_dbgap = [path for path in paths.values() if IN_PATH.search(path)]
    said = [dataset["data_use"] or "", dataset["consent"] or "", *allow, *of_dbgap]
    if populations is None or not any(map(HEALTH_ALONE.search, said)):
        return []
    return [
        f"`cohort.populations` must be null under consent to health research alone (HMB), got {populations}: "
        "results by population are about ancestry. Leave it out."
    ]


def _groups(consent):
    """Return the numbers of consent groups such as ``c1`` or ``c1+c2``, or None."""
    if not GROUPS.fullmatch(consent or ""):
        return None
    return {int(number) for number in re.findall(r"\d+", consent)}


def _named_in(path):
    """List (accession, consent group or None) of the folders and the file of a path that name a study."""
    found = []
    for part in path.split("/"):
        accession, group = IN_PATH.search(part), GROUP_IN_PATH.search(part)
        if accession:
            found.append((accession[0].lower(), int(group[1]) if group else None))
    return found
