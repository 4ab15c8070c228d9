"""Check the public inputs of a privacy statement against the fields that depend on them or repeat them."""

import hashlib
import json
import math
import re
from collections.abc import Iterable
from fractions import Fraction
from itertools import zip_longest
from pathlib import Path
from typing import Any

from dpgrs.fit_keys import FIT_KEYS, further_inputs
from dpgrs.statement.conditions import (
    CHECKED_FILES,
    CHECKS,
    DOSAGES_INPUT,
    FIXED_SITES_INPUT,
    LEAST_SHARE,
    NO_CHECKS,
    NO_FILES,
    CheckedFile,
)
from dpgrs.statement.draws import ACCURACY
from dpgrs.statement.effects_metadata import TRUNCATED_LD
from dpgrs.statement.methods import stated_method, steers_rows
from dpgrs.statement.schema import REQUIRED_INPUTS
from dpgrs.statement.words import COVARIATES_INPUT, ORIGIN_OF_ROWS, PUBLIC_SIDE, ROWS_INPUT
from dpgrs.types import Missing, Penalty, Protection, TableCheck
from dpgrs.verify.covariate_check import (
    BOUND,
    LOADINGS,
    REGRESSION_NORM,
    REGRESSION_OUTCOMES,
    REGRESSION_WEIGHTS,
    STATED_LOADINGS,
    stated_inputs,
)
from dpgrs.verify.covariate_check import FILE as COVARIATES
from dpgrs.verify.covariate_check import SCALES as SCALES_OF_COVARIATES
from dpgrs.verify.draw_check import MOMENT_NORM, has_moments
from dpgrs.verify.entry_check import ROW_NORM, STATED, choices_of
from dpgrs.verify.folder_check import read_rows

SCALES, SCALE_COLUMNS = "outcome_scales.tsv", ["outcome", "centre", "scale", "is_binary", "origin"]
# The column that states an outcome's population prevalence beside its constants.
POPULATION = "population_prevalence"
IS_BINARY = {"True": True, "False": False}
OF_TABLE, OF_SIMULATION = "centre and scale of the outcomes", "prevalence of the outcomes"
PUBLIC_LD = "genotypes whose linkage disequilibrium the fit takes"
ANCESTRY, SAME_ANCESTRY = "ancestry of the public genotypes", "stated to be the cohort's"
CHOICE_OF_PEOPLE = "choice of people"
OF_EFFECTS = "effects of "  # and the name of a file
ENDING = re.compile(r"(\.(txt|tsv|csv))?(\.gz)?$")  # of such a file name, after the outcome's name
OUTCOME_BOUND, OUTCOME_NORM = "outcome bound", "norm of a row of outcomes"
RESIDUAL_BOUND = "residual bound"
# Steps of the grids of X'X and X'Y of rows that were not clipped; others are finer.
WHOLE_STEPS = {"gram": Fraction(1, 4), "cross product": Fraction(1, 2**17)}
# What accuracy that was drawn rests on, and where it was not.
HELD_OUT, MEASURED_ON = "people held out", "people measured on, with their outcomes"
OF_CHARGED, OF_PUBLIC = (RESIDUAL_BOUND, HELD_OUT), (MEASURED_ON,)
# Methods that give standard errors, where these are calibrated.
GIVING_ERRORS = ("blup", "blup-steered")
NUMBER = r"[1-9]\d{0,11}(\.0)?"
SIZE = r"(\d{1,9}(?:\.\d{1,20})?(?:e[+-]\d\d\d?)?)"  # of six digits
LARGEST_BOUND, LARGEST_NORM = 1000, 10**9
PLAIN = re.compile(r"\d+(\.\d+)?", re.ASCII)
WHOLE, DIGEST, WORDS = r"(0|[1-9]\d*)", "[0-9a-f]{64}", ".+"
CHOSEN, OF_MAP = "chosen in the configuration", "the public map of the genome"
# Every public input that there is, in their order: how its value reads, and where it comes from; None in the
# curator's words, and by the terms of ROWS_INPUT and OUTCOME_NORM. Files of effects have names of their own.
INPUTS = {
    **dict.fromkeys(PUBLIC_SIDE.values(), (DIGEST, None)),
    "site list": (DIGEST, None),
    "allele frequencies": ("in the site list", None),
    PUBLIC_LD: (WORDS, None),
    ANCESTRY: (SAME_ANCESTRY, CHOSEN),
    OUTCOME_BOUND: (SIZE, CHOSEN),
    ROWS_INPUT: (NUMBER, None),
    "whether outcomes may be missing": ("|".join(Missing), CHOSEN),
    "seed": (WHOLE, "simulation, thinning and split alone"),
    "outcome names": (WHOLE, "given by the curator"),
    OF_TABLE: (DIGEST, f"a table of the curator, {SCALES}"),
    OF_SIMULATION: (SIZE, f"of the simulation, {SCALES}"),
    STATED: (DIGEST, None),
    DOSAGES_INPUT[0]: (DOSAGES_INPUT[1], "rounded to multiples of 0.000244141"),
    FIXED_SITES_INPUT[0]: (FIXED_SITES_INPUT[1], "stated by the curator"),
    CHECKED_FILES: (WORDS, CHOSEN),
    CHECKS: (WORDS, CHOSEN),
    LEAST_SHARE: (SIZE, CHOSEN),
    CHOICE_OF_PEOPLE: (WORDS, "fixed lists, whose ids stay private"),
    "variants to choose for an outcome": (WHOLE, CHOSEN),
    HELD_OUT: (f"a share of {SIZE}", "a hash of the sample id"),
    RESIDUAL_BOUND: (SIZE, CHOSEN),
    MEASURED_ON: ("simulated|from a table", None),
    ROW_NORM: (SIZE, "public frequencies"),
    OUTCOME_NORM: (SIZE, None),
    MOMENT_NORM: (SIZE, OF_MAP),
    "lambda": (SIZE, CHOSEN),
    "heritability": (SIZE, CHOSEN),
    **dict.fromkeys(further_inputs(FIT_KEYS), (WORDS, CHOSEN)),
    OF_EFFECTS: (WORDS, None),
    COVARIATES_INPUT: (WORDS, f"columns of the study, {COVARIATES}"),
    BOUND: (f"{SIZE} standard deviations", CHOSEN),
    SCALES_OF_COVARIATES: (DIGEST, f"a table of the curator, {COVARIATES}"),
    STATED_LOADINGS: (DIGEST, f"people of the public reference, {LOADINGS}"),
    TRUNCATED_LD: (DIGEST, OF_MAP),
    REGRESSION_NORM: (SIZE, "public constants"),
    REGRESSION_OUTCOMES: (SIZE, CHOSEN),
    REGRESSION_WEIGHTS: (f"{WHOLE} and {WHOLE}", "public constants, in steps of 2^-28"),
}
# These have one origin, the public reference.
OF_REFERENCE = ("site list", "allele frequencies", PUBLIC_LD, MEASURED_ON)
# Bounds and norms, which are above 0.
LARGEST = dict.fromkeys((OUTCOME_BOUND, RESIDUAL_BOUND), LARGEST_BOUND)
LARGEST |= dict.fromkeys((ROW_NORM, OUTCOME_NORM, MOMENT_NORM), LARGEST_NORM)
# Equal to no input: a section lacks what it must have, or has what it must not.
AMISS = [None]


def input_problems(statement: dict[str, Any]) -> list[str]:
    """Find public inputs that are left out, or differ from the rest of a statement."""
    if stated_method(statement["method"]) is None:
        return []  # named already
    stated = {}
    for public in statement["public_inputs"]:
        kind = _kind(public["name"])
        value = (public["name"], public["value"]) if kind == OF_EFFECTS else public["value"]
        stated.setdefault(kind, []).append(value)
    twins = _twins(statement)
    # Of files there may be several, and what another section holds, too, is compared below.
    several = {*PUBLIC_SIDE.values(), *(name for section in twins.values() for name in section)}
    names_not_once = [name for name in _required(statement, stated) if len(stated.get(name, [])) != 1]
    problems = [f"the public inputs must name the {name} once" for name in names_not_once]
    problems += [
        f"the public inputs must name the {name} once"
        for name, values in stated.items()
        if len(values) > 1 and name not in {*names_not_once, *several}
    ]
    problems += [
        f"the public inputs and the {section} must have the same {name.strip()}"
        for section, values_by_name in twins.items()
        for name, values in values_by_name.items()
        if stated.get(name, []) != values
    ]
    problems += _value_problems(stated) + _check_problems(stated)
    if has_moments(statement) and not stated_method(statement["method"]).takes_map:
        problems.append(f"the public inputs must not hold {MOMENT_NORM}")
    rule = statement["fit"]["lambda_from"]
    if rule not in set(Penalty):
        problems.append(f"fit.lambda_from must be one of {', '.join(Penalty)}, got {rule}")
    problems += _subtraction_problems(statement) + _error_problems(statement, has_loadings=STATED in stated)
    if problems:
        return problems
    is_sorted = [*stated] == sorted(stated, key=[*INPUTS].index)
    order = [] if is_sorted else ["the public inputs must be in the order in which dpgrs writes them"]
    return _origin_problems(statement) + order


def _subtraction_problems(statement: dict[str, Any]) -> list[str]:
    """Check that public scores were subtracted from outcomes that have one file of effects each."""
    fit = statement["fit"]
    subtracted = fit.get("subtracted", [])
    if not subtracted:
        return []
    if not stated_method(statement["method"]).takes_map:
        return [f"fit.subtracted must not be there with {statement['method']}"]
    files = [ENDING.sub("", name) for name in fit.get("effect_names", [])]
    stems = [Path(score["file"]).name.removesuffix(".txt.gz") for score in statement["scores"]]
    numbers = dict(zip(statement["data_domain"]["outcomes"], map(files.count, stems), strict=False))
    return [
        f"fit.subtracted must name outcomes with one file of effects each, got {name}"
        for name in subtracted
        if numbers.get(name) != 1
    ]


def _value_problems(stated: dict[str, list]) -> list[str]:
    """Check that each public input is one of the program's, and reads as the program writes it."""
    problems = []
    for name, values in stated.items():
        if name not in INPUTS:
            problems.append(f"the public inputs must not hold {name}")
            continue
        rule = f"a number above 0 and at most {LARGEST[name]}" if name in LARGEST else "as dpgrs writes it"
        problems += [
            f"the {name} must be {rule}, got {value}" for value in values if not _is_sound(name, value)
        ]
    return problems


def _is_sound(name: str, value: Any) -> bool:
    if name == OF_EFFECTS:
        return True
    pattern = INPUTS[name][0]
    match = re.fullmatch(pattern, value, flags=re.ASCII)
    if match is None or SIZE not in pattern:
        return match is not None
    number = float(match[1])
    is_written = match[1] in (f"{number:g}", repr(number).removesuffix(".0"))
    return is_written and (name not in LARGEST or 0 < number <= LARGEST[name])


def _origin_problems(statement: dict[str, Any]) -> list[str]:
    """Check where public inputs are said to come from, but for the curator's words."""
    origins, guarantee = {name: origin for name, (_, origin) in INPUTS.items()}, statement["guarantee"]
    origins[ROWS_INPUT] = ORIGIN_OF_ROWS[guarantee["neighbours"]]
    is_feature = guarantee["protection"] == Protection.FEATURE
    origins[OUTCOME_NORM] = "the largest there is of the public outcomes" if is_feature else CHOSEN
    if stated_method(statement["method"]).takes_map:
        origins[OUTCOME_NORM] = OF_MAP
    inputs = [(_kind(public["name"]), public["origin"]) for public in statement["public_inputs"]]
    reference = [origin for name, origin in inputs if name in OF_REFERENCE]
    origins |= dict.fromkeys(OF_REFERENCE, reference[0] if reference else None)
    return [
        f"the origin of the {name} must be `{origins[name]}`, got `{origin}`"
        for name, origin in inputs
        if origins.get(name) not in (None, origin)
    ]


def _kind(name: str) -> str:
    """Return the name of a public input, without a file's own."""
    return OF_EFFECTS if name.startswith(OF_EFFECTS) else name


def _check_problems(stated: dict[str, list]) -> list[str]:
    """Check that the files and checks that conditions follow from agree with each other."""
    if CHECKED_FILES not in stated:
        return []  # named already
    files, problems = _listed(stated, CHECKED_FILES, CheckedFile, NO_FILES), []
    checks = _listed(stated, CHECKS, TableCheck, NO_CHECKS)
    if files is None or (CHECKS in stated and checks is None):
        return [f"the {CHECKED_FILES} and the {CHECKS} must be of those that dpgrs has, in its order"]
    tables = {CheckedFile.OUTCOMES, CheckedFile.COVARIATES} & {*files}
    is_needed_by_name = {
        CHECKS: bool(tables),
        LEAST_SHARE: bool({TableCheck.PEOPLE, TableCheck.VALUES} & {*(checks or ())}),
        CHOICE_OF_PEOPLE: CheckedFile.PEOPLE in files,
    }
    problems += [
        f"the public inputs must {'' if is_needed else 'not '}name the {name} with these files and checks"
        for name, is_needed in is_needed_by_name.items()
        if (name in stated) != is_needed
    ]
    has_scales = SCALES_OF_COVARIATES in stated
    if (CheckedFile.COVARIATES in files) != has_scales:
        problems.append(
            f"the {CHECKED_FILES} must have a table of covariates if and only if it has constants"
        )
    return problems


def _listed(stated: dict[str, list], name: str, kinds: Iterable[str], nothing: str) -> list[str] | None:
    """Return the list in a public input; None if it is no list of these kinds in their order."""
    (value, *_) = stated.get(name, [nothing])
    items = [] if value == nothing else value.split(", ")
    return items if items == [kind for kind in kinds if kind in items] else None


def scale_problems(statement: dict[str, Any], files: dict[str, Path]) -> list[str]:
    """Compare the constants of outcomes with the public input that names them: one line at most."""
    stated = stated_inputs(statement)
    named = [name for name in (OF_TABLE, OF_SIMULATION) if name in stated]
    if len(named) != (SCALES in files):
        return [f"{SCALES} must be there if and only if one public input names it"]
    if not named:
        return []
    try:
        header, *lines = read_rows(files[SCALES])
        constants = [
            (outcome, [float(centre), float(scale), IS_BINARY[kind]])
            for outcome, centre, scale, kind, *_ in lines
        ]
        values = json.dumps(dict(constants), sort_keys=True, allow_nan=False)
    except (ValueError, KeyError):
        header = constants = []
    has_population = header == [*SCALE_COLUMNS, POPULATION]
    is_table = (has_population or header == SCALE_COLUMNS) and {*map(len, lines)} == {len(header)}
    if not is_table or [name for name, _ in constants] != statement["data_domain"]["outcomes"]:
        return [f"{SCALES} must have {', '.join(SCALE_COLUMNS)} of every outcome, in their order"]
    shares = [line[-1] for line in lines if has_population and line[-1]]
    if not all(PLAIN.fullmatch(share) and 0 < float(share) < 1 for share in shares):
        return [f"{SCALES} must have prevalences between 0 and 1"]
    digests = {
        OF_TABLE: [hashlib.sha256(values.encode()).hexdigest()],
        OF_SIMULATION: _prevalences(constants),
    }
    if [stated[named[0]]] == digests[named[0]]:
        return []
    return [f"{SCALES} must hold the {named[0]} of the public inputs"]


def constants_of_outcomes(files: dict[str, Path]) -> dict[str, tuple[float, float, bool, float]]:
    """Return centre, scale, whether it is 0/1, and the population's prevalence or NaN, by outcome."""
    if SCALES not in files:
        return {}
    header, *lines = read_rows(files[SCALES])
    constants = {}
    for line in lines:
        name, centre, scale, kind = line[:4]
        prevalence = (
            line[len(SCALE_COLUMNS)] if len(header) > len(SCALE_COLUMNS) else centre * (kind == "True")
        )
        constants[name] = (float(centre), float(scale), kind == "True", float(prevalence or "nan"))
    return constants


def _prevalences(constants: list[tuple[str, list]]) -> list[str | None]:
    """Return the prevalences of 0/1 outcomes as a statement has them, each once; of others None."""
    prevalences = {
        f"{p:g}" if is_binary and 0 < p < 1 and math.isclose(scale, math.sqrt(p * (1 - p))) else None
        for _, (p, scale, is_binary) in constants
    }
    return [*prevalences]


def _required(statement: dict[str, Any], stated: dict[str, list]) -> list[str]:
    """List the public inputs that a statement must have, of its accuracy and norms of clipped rows too.

    Sums of all variants are of clipped genotypes and outcomes, or of neither; public outcomes have a norm of
    their own.
    """
    is_feature = statement["guarantee"]["protection"] == Protection.FEATURE
    is_of_sums = not stated_method(statement["method"]).draws_from_rows
    # Turned rows have a fine grid in any coding.
    is_turned = steers_rows(statement["method"])
    steps = {name: step for name, step in WHOLE_STEPS.items() if not (is_turned and name == "cross product")}
    is_clipped = stated_method(statement["method"]).takes_ld or any(
        Fraction(mechanism["grid"]) < steps[mechanism["statistic"]]
        for mechanism in statement["mechanisms"]
        if mechanism["statistic"] in steps and "grid" in mechanism
    )
    norms = {
        ROW_NORM: is_clipped or (OUTCOME_NORM in stated and not is_feature),
        OUTCOME_NORM: is_feature or ((ROW_NORM in stated or is_clipped) and is_of_sums),
    }
    is_charged = any(mechanism["statistic"] == ACCURACY.statistic for mechanism in statement["mechanisms"])
    of_accuracy = OF_PUBLIC if isinstance(statement["accuracy"], list) else ()
    return [
        *(*REQUIRED_INPUTS, "outcome names", *(OF_CHARGED if is_charged else of_accuracy)),
        *(name for name, is_needed in norms.items() if is_needed),
    ]


def _twins(statement: dict[str, Any]) -> dict[str, dict[str, list]]:
    """Return the values of public inputs that another section repeats, by section and name."""
    fit, domain, method = statement["fit"], statement["data_domain"], stated_method(statement["method"])
    is_stated = "lambda" in method.reads and fit["lambda_from"] == Penalty.FIXED
    files = zip_longest((OF_EFFECTS + name for name in fit.get("effect_names", [])), fit.get("effects", []))
    choices = {str(number) for number in choices_of(statement).values()}
    missing = _where(True, domain, "missing_outcomes")
    # With second moments of rows neither effects nor an ancestry are taken.
    may_have_effects = method.takes_effects and statement["guarantee"]["protection"] != Protection.FEATURE
    may_have_effects &= not has_moments(statement)
    return {
        "data domain": {
            "site list": [domain["site_digest"]],
            "outcome names": [str(len(domain["outcomes"]))],
            "whether outcomes may be missing": missing,
        },
        "fit": {
            "lambda": [f"{fit['lambda']:g}"] if is_stated else [],
            "heritability": [
                f"{heritability:g}" for heritability in [fit["heritability"]] if heritability is not None
            ],
            **{name: [value] for name, value in further_inputs(fit).items()},
            PUBLIC_LD: _where(method.takes_ld, fit, "ld"),
            ANCESTRY: _stated_ancestry(fit, is_read=method.reads_ancestry and not has_moments(statement)),
            OF_EFFECTS: list(files) if may_have_effects or "effects" not in fit else AMISS,
        },
        "mechanisms": {
            "variants to choose for an outcome": [*choices] if len(choices) < 2 else AMISS,
        },
    }


def _stated_ancestry(fit: dict[str, Any], *, is_read: bool) -> list:
    """Return the public inputs that state an ancestry; `AMISS` if the fit reads none."""
    if "same_ancestry" not in fit:
        return []
    return [SAME_ANCESTRY] if is_read else AMISS


def _where(is_needed: bool, section: dict[str, Any], name: str) -> list:
    """Return the value of a section as a list, empty if none is needed; `AMISS` if it is amiss."""
    if is_needed != (name in section):
        return AMISS
    return [section[name]] if is_needed else []


def _error_problems(statement: dict[str, Any], *, has_loadings: bool) -> list[str]:
    """Check that standard errors are there only if a method gives calibrated ones."""
    if not any(score["standard_errors"] for score in statement["scores"]):
        return []
    fit, protection = statement["fit"], statement["guarantee"]["protection"]
    of_heritability = protection == Protection.LABEL or fit["heritability"] is not None
    is_known = of_heritability and protection != Protection.FEATURE
    if statement["method"] in GIVING_ERRORS and is_known and "effects" not in fit and not has_loadings:
        return []
    return [f"the statement must name no standard errors: {statement['method']} gives none by these settings"]
