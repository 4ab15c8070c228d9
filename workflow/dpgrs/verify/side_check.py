"""Check what a privacy statement takes as public: the words, the files and the draws of its protection."""

import re
from typing import Any

from dpgrs.statement.methods import stated_method
from dpgrs.statement.words import (
    NOT_PROTECTED,
    NOT_PROTECTED_UNDER,
    PUBLIC_SIDE,
    RANDOMNESS,
    RELEASE_TYPE,
    SUBGROUPS,
    TRUST_MODEL,
)
from dpgrs.types import Neighbours, Protection

# What every release says, whatever it is of.
FIXED = {
    "randomness": RANDOMNESS,
    "trust_model": TRUST_MODEL,
    "release_type": RELEASE_TYPE,
    "subgroups": SUBGROUPS,
}
# Statistics without noise if one side is public, since they depend only on that side.
NEVER_DRAWN = {
    Protection.FEATURE: ("outcome counts", "case counts", "count"),
    Protection.LABEL: ("gram", "count"),
}


def side_problems(statement: dict[str, Any]) -> list[str]:
    """Find that a statement protects more, or names more as public, than its draws and files allow."""
    guarantee = statement["guarantee"]
    protection, neighbours = Protection(guarantee["protection"]), guarantee["neighbours"]
    problems = _input_problems(statement, protection)
    method = stated_method(statement["method"])
    protections = (protection,) if method is None else method.protections
    if protection not in protections:
        problems.append(
            f"{statement['method']} must be under {' or '.join(protections)} protection, got {protection}"
        )
    if protection != Protection.FULL and neighbours != Neighbours.REPLACE_ONE:
        problems.append(f"neighbours must be replace-one under {protection} protection, got {neighbours}")
    fixed = FIXED | {"not_protected": [*NOT_PROTECTED_UNDER[protection], *NOT_PROTECTED]}
    problems += [
        f"the {section} must be, word for word, that of every release under {protection} protection"
        for section, words in fixed.items()
        if statement[section] != words
    ]
    names = {mechanism["statistic"] for mechanism in statement["mechanisms"]}
    return problems + [
        f"the mechanisms must not draw {name} under {protection} protection, where it is public"
        for name in NEVER_DRAWN.get(protection, ())
        if name in names
    ]


def _input_problems(statement: dict[str, Any], protection: Protection) -> list[str]:
    """Check that the public side, and no other, is named with its digests."""
    stated = {name: [] for name in PUBLIC_SIDE.values()}
    for public in statement["public_inputs"]:
        if public["name"] in stated:
            stated[public["name"]].append(public["value"])
    public_side, problems = PUBLIC_SIDE.get(protection), []
    for name, digests in stated.items():
        if name != public_side and digests:
            problems.append(f"the public inputs must not hold {name} under {protection} protection")
    if public_side is None:
        return problems
    digests, most = stated[public_side], 1 if protection == Protection.FEATURE else None
    is_right = digests and len({*digests}) == len(digests) <= (most or len(digests))
    if not is_right or not all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests):
        problems.append(f"the public inputs must hold {public_side}, each file by its SHA-256")
    return problems
