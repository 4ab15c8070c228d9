"""Problems of sums of several centres: data that no sum carries, terms that differ."""

import os
from typing import TYPE_CHECKING

from dpgrs.config.paths import PATTERN_KEYS, SOURCES
from dpgrs.errors import DpgrsError, must
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.preflight.public_side import LISTS
from dpgrs.privacy.private_folders import OPEN_TO_OTHERS
from dpgrs.study.centre_sums import AGREED, AGREED_KEYS, CentreSums, require_same_terms, terms_of
from dpgrs.types import Metrics, Protection

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

PART, SUMS = KEYS = ("cohort.part", "cohort.sums")
# All people are in the sums already. Each centre has its own table of consent; the codes are agreed.
CONSENT = "people.consent.file"
REPLACED = (*PATTERN_KEYS, "outcomes.file", CONSENT)
# A coordinator does not know the lists of the centres, and has neither files nor rows of covariates.
UNSUMMED = (*(key for key in LISTS if key != CONSENT), "covariates.file")
TERMS = (*AGREED, *AGREED_KEYS)


def mode_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse sums of centres in a benchmark, whose noise everybody can draw."""
    if not inspection[key]:
        return []
    return [must(key, "be left out in a benchmark", inspection[key], "Say `mode: release`.")]


def source_problems(inspection: "Inspection") -> list[str]:
    """Ask for genotypes from files, and for one of the two sides."""
    if inspection[PART] and inspection[SUMS]:
        domain = f"be left out beside `{PART}`"
        return [must(SUMS, domain, inspection[SUMS], "A study is a centre's or the coordinator's.")]
    key, source = _centre_key(inspection), inspection["cohort.source"]
    if key is None or source in SOURCES:
        return []
    return [
        must("cohort.source", f"be vcf, plink or bgen with `{key}`", source, "Say what all centres have.")
    ]


def replaced_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse files of people beside sums of all of them."""
    if inspection[SUMS] is None or inspection[key] is None:
        return []
    return [must(key, f"be left out with `{SUMS}`", inspection[key], "All people are in the sums.")]


def unsummed_problems(inspection: "Inspection", key: str) -> list[str]:
    """Refuse files of people that sums do not carry."""
    centre_key = _centre_key(inspection)
    if centre_key is None or inspection[key] is None:
        return []
    fix = "Choose people by `people.consent`." if key in LISTS else "Leave it out."
    return [must(key, f"be left out with `{centre_key}`", inspection[key], fix)]


def scale_problems(inspection: "Inspection") -> list[str]:
    """Ask for public scales: scaled by its own people, each row of a centre would depend on all of them."""
    centre_key, is_given = _centre_key(inspection), inspection["outcomes.scales"] is not None
    if centre_key is None or inspection["outcomes.source"] != "file" or is_given:
        return []
    fix = "Name one table of public means and scales for all."
    return [must("outcomes.scales", f"be given with `{centre_key}`", "null", fix)]


def component_problems(inspection: "Inspection") -> list[str]:
    """Refuse principal components."""
    centre_key, number = _centre_key(inspection), inspection["covariates.pcs"]
    if centre_key is None or number == 0:
        return []
    return [must("covariates.pcs", f"be 0 with `{centre_key}`", number, "Leave it out.")]


def protection_problems(inspection: "Inspection") -> list[str]:
    """Refuse to take one side as public: its digest is of one file."""
    centre_key, protections = _centre_key(inspection), inspection["privacy.protection"]
    if centre_key is None or list(protections) == [Protection.FULL]:
        return []
    domain = f"be {Protection.FULL} with `{centre_key}`"
    return [must("privacy.protection", domain, ", ".join(protections), "Protect both sides.")]


def method_problems(inspection: "Inspection") -> list[str]:
    """Refuse methods that are drawn from rows."""
    centre_key = _centre_key(inspection)
    if centre_key is None:
        return []
    return [
        must(
            "methods", f"be drawn from sums with `{centre_key}`", f"{name}, which reads rows", "Take `blup`."
        )
        for name in inspection["methods"]
        if "variant_set" in mechanism_of(name).takes
    ]


def metric_problems(inspection: "Inspection") -> list[str]:
    """Refuse accuracy on people held out, who are at the centres."""
    centre_key, metrics = _centre_key(inspection), inspection["evaluation.metrics"]
    if centre_key is None or metrics != Metrics.CHARGED:
        return []
    domain = f"be {Metrics.WITHHELD} or {Metrics.PUBLIC} with `{centre_key}`"
    return [must("evaluation.metrics", domain, metrics, "The people held out are at the centres.")]


def file_problems(inspection: "Inspection") -> list[str]:
    """Compare sums with the settings of the study, except its sites, which a job chooses."""
    path, config = inspection[SUMS], inspection.config
    if path is None:
        return []
    try:
        study_terms = terms_of(config, site_digest="")
        del study_terms["public sites"]
        if os.stat(path).st_mode & OPEN_TO_OTHERS:  # noqa: PTH116 - takes a path of any kind
            return [
                must(SUMS, "be readable by you only", f"{path}, which others can read", "Run `chmod 600`.")
            ]
        require_same_terms(CentreSums.load(path), study_terms, path=path, others="the study")
    except OSError as error:
        return [must(SUMS, "be a file", f"{path}: {error.strerror}", "Correct the path.")]
    except DpgrsError as error:
        return [f"`{SUMS}`: {error}"]
    return []


def _centre_key(inspection: "Inspection") -> str | None:
    """Return the key that makes a study one of several centres; None in other studies."""
    return PART if inspection[PART] else SUMS if inspection[SUMS] is not None else None
