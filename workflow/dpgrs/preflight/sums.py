"""What keeps the sums of several centres from being made or taken: what no sum carries, other terms."""

import os

from dpgrs.config.paths import PATTERN_KEYS, SOURCES
from dpgrs.errors import DpgrsError, must
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.preflight.public_side import LISTS
from dpgrs.privacy.private_folders import OPEN_TO_OTHERS
from dpgrs.study.centre_sums import AGREED, AGREED_KEYS, CentreSums, require_same_terms, terms_of
from dpgrs.types import Metrics, Protection

PART, SUMS = KEYS = ("cohort.part", "cohort.sums")
# Of people, who are all in the sums already. Each centre has a table of its own, the codes are agreed.
CONSENT = "people.consent.file"
REPLACED = (*PATTERN_KEYS, "outcomes.file", CONSENT)
# Of lists a coordinator could not say which there were, and of covariates it has neither files nor rows.
UNSUMMED = (*(key for key in LISTS if key != CONSENT), "covariates.file")
TERMS = (*AGREED, *AGREED_KEYS)


def mode_problems(inspection, key):
    """Refuse sums of centres in a benchmark, whose noise everybody can draw."""
    if not inspection[key]:
        return []
    return [must(key, "be left out in a benchmark", inspection[key], "Say `mode: release`.")]


def source_problems(inspection):
    """Ask for genotypes from files, and for one of the two sides."""
    if inspection[PART] and inspection[SUMS]:
        wanted = f"be left out beside `{PART}`"
        return [must(SUMS, wanted, inspection[SUMS], "A study is a centre's or the coordinator's.")]
    key, source = _given(inspection), inspection["cohort.source"]
    if key is None or source in SOURCES:
        return []
    return [
        must("cohort.source", f"be vcf, plink or bgen with `{key}`", source, "Say what all centres have.")
    ]


def replaced_problems(inspection, key):
    """Refuse files of people beside sums of all of them."""
    if inspection[SUMS] is None or inspection[key] is None:
        return []
    return [must(key, f"be left out with `{SUMS}`", inspection[key], "All people are in the sums.")]


def unsummed_problems(inspection, key):
    """Refuse files of people that sums do not carry."""
    given = _given(inspection)
    if given is None or inspection[key] is None:
        return []
    fix = "Choose people by `people.consent`." if key in LISTS else "Leave it out."
    return [must(key, f"be left out with `{given}`", inspection[key], fix)]


def scale_problems(inspection):
    """Ask for public scales: by those of its own people a centre would make each row hang on all of them."""
    given, is_given = _given(inspection), inspection["outcomes.scales"] is not None
    if given is None or inspection["outcomes.source"] != "file" or is_given:
        return []
    fix = "Name one table of public means and scales for all."
    return [must("outcomes.scales", f"be given with `{given}`", "null", fix)]


def component_problems(inspection):
    """Refuse principal components."""
    given, number = _given(inspection), inspection["covariates.pcs"]
    if given is None or number == 0:
        return []
    return [must("covariates.pcs", f"be 0 with `{given}`", number, "Leave it out.")]


def protection_problems(inspection):
    """Refuse to take one side as public, whose digest is of one file."""
    given, found = _given(inspection), inspection["privacy.protection"]
    if given is None or list(found) == [Protection.FULL]:
        return []
    wanted = f"be {Protection.FULL} with `{given}`"
    return [must("privacy.protection", wanted, ", ".join(found), "Protect both sides.")]


def method_problems(inspection):
    """Refuse what is drawn from rows."""
    given = _given(inspection)
    if given is None:
        return []
    return [
        must("methods", f"be drawn from sums with `{given}`", f"{name}, which reads rows", "Take `blup`.")
        for name in inspection["methods"]
        if "variant_set" in mechanism_of(name).takes
    ]


def metric_problems(inspection):
    """Refuse accuracy on people held out, who are at the centres."""
    given, metrics = _given(inspection), inspection["evaluation.metrics"]
    if given is None or metrics != Metrics.CHARGED:
        return []
    wanted = f"be {Metrics.WITHHELD} or {Metrics.PUBLIC} with `{given}`"
    return [must("evaluation.metrics", wanted, metrics, "The people held out are at the centres.")]


def file_problems(inspection):
    """Hold sums against the settings of the study, but for its sites, which a job chooses."""
    path, config = inspection[SUMS], inspection.config
    if path is None:
        return []
    try:
        terms = terms_of(config, site_digest="")
        del terms["public sites"]
        if os.stat(path).st_mode & OPEN_TO_OTHERS:  # noqa: PTH116 - takes a path of any kind
            return [must(SUMS, "be yours alone", f"{path}, which others can read", "Run `chmod 600`.")]
        require_same_terms(CentreSums.load(path), terms, path=path, others="the study")
    except OSError as error:
        return [must(SUMS, "be a file", f"{path}: {error.strerror}", "Correct the path.")]
    except DpgrsError as error:
        return [f"`{SUMS}`: {error}"]
    return []


def _given(inspection):
    """Return the key that makes a study one of several centres; None of any other."""
    return PART if inspection[PART] else SUMS if inspection[SUMS] is not None else None
