"""Problems of sums of several centres: data that no sum carries, terms that differ."""

import os
from typing import TYPE_CHECKING

from dpgrs.config.study import PATTERN_KEYS, SOURCES
from dpgrs.errors import DpgrsError, must
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.preflight.public_side import LISTS
from dpgrs.preflight.rules import ABSENT, GIVEN, OF_CENTRES, centre_key, each, has, is_given, rules
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
# Everybody can draw the noise of a benchmark.
OF_BENCHMARK = rules(each(KEYS, "must be left out in a benchmark, got {got}. Say `mode: release`.", ABSENT))
LEFT_OUT = "must be left out with `{centre}`, got {got}."
OF_RELEASE = rules(
    {
        f"`{SUMS}` must be left out beside `{PART}`, got {{got}}. A study is a centre's or the "
        "coordinator's.": (ABSENT, is_given(PART)),
        "`cohort.source` must be vcf, plink or bgen with `{centre}`, got {got}. Say what all centres have.": (
            SOURCES.__contains__,
            OF_CENTRES,
        ),
        **each(
            REPLACED,
            f"must be left out with `{SUMS}`, got {{got}}. All people are in the sums.",
            *(None, is_given(SUMS)),
        ),
        **each(UNSUMMED[:-1], f"{LEFT_OUT} Choose people by `people.consent`.", None, OF_CENTRES),
        **each(UNSUMMED[-1:], f"{LEFT_OUT} Leave it out.", None, OF_CENTRES),
        # Scaled by its own people, each row of a centre would depend on all of them.
        "`outcomes.scales` must be given with `{centre}`, got null. Name one table of public means and "
        "scales for all.": (GIVEN, OF_CENTRES, has("outcomes.source", "file")),
        "`covariates.pcs` must be 0 with `{centre}`, got {got}. Leave it out.": (0, OF_CENTRES),
        # The digest of a public side is of one file.
        "`privacy.protection` must be full with `{centre}`, got {got}. Protect both sides.": (
            [Protection.FULL],
            OF_CENTRES,
        ),
        "`evaluation.metrics` must be withheld or public with `{centre}`, got {got}. The people held out "
        "are at the centres.": (lambda metrics: metrics != Metrics.CHARGED, OF_CENTRES),
    }
)


def method_problems(inspection: "Inspection") -> list[str]:
    """Refuse methods that are drawn from rows."""
    key = centre_key(inspection)
    if key is None:
        return []
    return [
        must("methods", f"be drawn from sums with `{key}`", f"{name}, which reads rows", "Take `blup`.")
        for name in inspection["methods"]
        if "variant_set" in mechanism_of(name).takes
    ]


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
        require_same_terms(CentreSums.load(path), study_terms, path=path, first_path="the study")
    except OSError as error:
        return [must(SUMS, "be a file", f"{path}: {error.strerror}", "Correct the path.")]
    except DpgrsError as error:
        return [f"`{SUMS}`: {error}"]
    return []
