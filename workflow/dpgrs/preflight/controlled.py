"""What keeps a study of controlled-access data from starting, as of dbGaP: encryption, consent, approval."""

import re
from typing import TYPE_CHECKING

from dpgrs.config.study import PATHS, PATTERN_KEYS
from dpgrs.errors import must
from dpgrs.preflight.rules import GIVEN, When, rules
from dpgrs.types import Protection

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig
    from dpgrs.preflight.inspection import Inspection

ENCRYPTED = (".ncbi_enc", ".ngc")
# Of people to whom scores are applied, who are not the study's.
SCORED_PATHS = tuple(key for key in PATHS if key.startswith("score."))
# The ledger names its data set itself.
DATA_PATHS = tuple(key for key in PATHS if key not in ("privacy.ledger", *SCORED_PATHS))
PUBLIC_PATHS = tuple(key for key in DATA_PATHS if key.startswith(("public.", "evaluation.")))
PRIVATE_PATHS = tuple(key for key in DATA_PATHS if key not in PUBLIC_PATHS)
# Other checks find encrypted files of these keys, where they read the files.
READ_HERE = ("cohort.vcf", "cohort.populations", "outcomes.file", "covariates.file")
ENCRYPTION_UNCHECKED = (*(key for key in DATA_PATHS if key not in READ_HERE), *SCORED_PATHS)
GENOTYPES, OUTCOMES = PATTERN_KEYS, ("outcomes.file",)
CONSENT_KEYS = (*GENOTYPES, *OUTCOMES, "people.consent.file", "privacy.protection")
CONTROLLED_KEYS = ("dataset.accession", "cohort.source", "outcomes.source")
NEEDED_OF_CONTROLLED = {
    "dataset.data_use": "the consent group's code, as HMB-IRB or GRU",
    "dataset.approved_by": "who approved the use",
    "dataset.dar_id": "the number of the approved request",
    "dataset.approval_date": "a date such as 2026-01-31",
    "dataset.acknowledgement": "the words that the study asks for",
}
ACCESSION, GROUPS, CODE = re.compile(r"phs\d{6}"), re.compile(r"c\d+(\+c\d+)*"), re.compile(r"c?(\d+)")
# A folder or file such as phs000000.v1.p1.c1.GRU; table and name may stand between. A folder of the user's
# own may be named after a study without its version, and hold public files too.
IN_PATH, GROUP_IN_PATH = re.compile(r"(?i)phs\d{6}"), re.compile(r"(?i)\.c(\d+)(?=[._-]|$)")
WITH_VERSION = re.compile(r"(?i)phs\d{6}(\.[^/]*)?\.v\d+")
HEALTH_ALONE = re.compile(r"(?<![A-Za-z])HMB(?![A-Za-z])")


def is_controlled(config: "StudyConfig") -> bool:
    """Tell whether a study is of dbGaP data by its accession; simulated data are not."""
    is_simulated = config.cohort.source == config.outcomes.source == "simulate"
    return bool(re.match(r"phs\d", config.dataset.accession or "")) and not is_simulated


def _is_of_dbgap(inspection: "Inspection") -> bool:
    return is_controlled(inspection.config)


OF_DBGAP = When(_is_of_dbgap, CONTROLLED_KEYS)
APPROVAL = rules(
    {
        **{
            f"`{key}` must be given for a release of dbGaP data, got null: {words}. Fill it in.": (
                GIVEN,
                OF_DBGAP,
            )
            for (key, words) in NEEDED_OF_CONTROLLED.items()
        },
        "`dataset.sensitive` must be false for a release, got true: its bundle is made to be public. Ask "
        "the data access committee.": (lambda is_sensitive: not is_sensitive, OF_DBGAP),
        "`dataset.sensitive` must say whether summary results of the study may not be public, got null. See "
        "the study's page in dbGaP.": (lambda is_sensitive: is_sensitive is not None, OF_DBGAP),
        "`dataset.accession` must be phs and six digits for dbGaP data, without version, got {got}. "
        "Versions of a study share one ledger.": (
            lambda accession: ACCESSION.fullmatch(accession or ""),
            OF_DBGAP,
        ),
    }
)


def is_encrypted(path: str) -> bool:
    """Tell whether a path names a file encrypted as dbGaP hands it out."""
    return path.endswith(ENCRYPTED)


def encrypted_line(key: str, path: str) -> str:
    """Word that a file must be decrypted."""
    return must(key, "be a decrypted file", path, "Decrypt it with `vdb-decrypt` of the SRA Toolkit first.")


def encrypted_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse a path of an encrypted file."""
    fix = "Decrypt it with `vdb-decrypt` of the SRA Toolkit."
    return [
        must(key, "be a decrypted file", path, fix) for path in inspection.paths(key) if is_encrypted(path)
    ]


def open_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse a path of controlled data in a benchmark."""
    fix = "Use `mode: release`."
    return [
        must(key, "be open data in a benchmark", f"{path} of {accession[0]}: its figures are exact", fix)
        for path in inspection.paths(key)
        if (accession := IN_PATH.search(path))
    ]


def path_problems(inspection: "Inspection", key: str) -> list[str]:
    """Compare accession and consent group in the names of folders and file with the ledger's."""
    accession, consent = inspection["dataset.accession"], inspection["dataset.consent"]
    path, groups, lines = inspection[key], _groups(consent), []
    for study, group in _named_in(path or ""):
        if study != accession:
            domain, fix = f"be {study} as in `{key}`, {path}", "Correct it, or name files of that study."
            lines.append(must("dataset.accession", domain, accession or "null", fix))
        elif group is not None and groups is not None and group not in groups:
            domain, fix = f"be c{group} as in `{key}`, {path}", "Correct it, or name files of that group."
            lines.append(must("dataset.consent", domain, consent, fix))
    return lines


def public_path_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse a path of controlled data where data must be public."""
    return [
        must(key, "be public data", f"{path} of {accession[0][:9]}", "Name another source.")
        for path in inspection.paths(key)
        if (accession := WITH_VERSION.search(path))
    ]


def consent_problems(inspection: "Inspection") -> list[str]:
    """Compare the codes that people need with the consent group of the ledger."""
    consent = inspection["dataset.consent"]
    groups, data_use = _groups(consent), (inspection["dataset.data_use"] or "").casefold()
    if not (consent and is_controlled(inspection.config)):
        return []  # missing: `ledger.dataset_problems` reports it
    if groups is None:
        domain = "be groups as c1 or c1+c2 for dbGaP data"
        return [must("dataset.consent", domain, consent, "Write them so.")]
    lines = []
    for code in inspection["people.consent.allow"] or []:
        number = CODE.fullmatch(code)
        if int(number[1]) not in groups if number else code.casefold() != data_use:
            domain = f"be of `dataset.consent` ({consent}) or `dataset.data_use`"
            lines.append(must("people.consent.allow", domain, code, "Correct one of them."))
    # Where genotypes are public, so is who is in the study, and no table may say more.
    is_label = Protection.LABEL in inspection["privacy.protection"]
    key = next((key for key in (OUTCOMES if is_label else GENOTYPES) if inspection[key]), None)
    is_by_path = key is None or any(group is not None for _, group in _named_in(inspection[key]))
    if is_label and not is_by_path:
        domain, fix = "name the consent group of its people", "Keep the names of dbGaP, as `...c1.GRU.txt`."
        lines.append(must(key, domain, inspection[key], fix))
    elif not inspection["people.consent.file"] and not is_by_path:
        domain = f"be given where the path in `{key}` names no consent group"
        lines.append(must("people.consent.file", domain, "null", "Give the table of consent codes."))
    return lines


def ancestry_problems(inspection: "Inspection") -> list[str]:
    """Refuse results by population where consent is to health research only."""
    populations = inspection["cohort.populations"]
    dbgap_paths = [path for key in DATA_PATHS for path in inspection.paths(key) if IN_PATH.search(path)]
    consent_words = [inspection["dataset.data_use"] or "", inspection["dataset.consent"] or "", *dbgap_paths]
    consent_words += inspection["people.consent.allow"] or []
    if populations is None or not any(map(HEALTH_ALONE.search, consent_words)):
        return []
    domain = "be null under consent to health research only (HMB)"
    got = f"{populations}: results by population are about ancestry"
    return [must("cohort.populations", domain, got, "Leave it out.")]


def _groups(consent: str | None) -> set[int] | None:
    """Return the numbers of consent groups such as ``c1`` or ``c1+c2``, or None."""
    if not GROUPS.fullmatch(consent or ""):
        return None
    return {int(number) for number in re.findall(r"\d+", consent)}


def _named_in(path: str) -> list[tuple[str, int | None]]:
    """List (accession, consent group or None) of the folders and the file of a path that name a study."""
    studies = []
    for name in path.split("/"):
        accession, group = IN_PATH.search(name), GROUP_IN_PATH.search(name)
        if accession:
            studies.append((accession[0].lower(), int(group[1]) if group else None))
    return studies
