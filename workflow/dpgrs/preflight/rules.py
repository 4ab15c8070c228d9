"""Rules on settings as rows: the values that a key may have, under conditions on other keys."""

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.study.variant_terms import takes_ld, takes_map
from dpgrs.types import Protection

if TYPE_CHECKING:
    from dpgrs.preflight.inspection import Inspection

PLACEHOLDER = re.compile(r"{([a-z][a-z0-9_.]*)}")
GIVEN = bool  # allows all values but null, false, 0 and an empty list; the next only these
ABSENT = operator.not_
DEFAULT = object()  # allows only the default of the key


class Check(NamedTuple):
    """A check of a study."""

    find: Callable[["Inspection"], list[str]]  # one line a problem: what, where, how to mend it
    reads: tuple[str, ...]  # dotted keys and sections; where a value of theirs is in doubt, it does not run
    mode: str = ""  # the mode of the studies that it checks; empty for both
    needs_data: bool = False  # whether it reads private files beyond their headers; a plan leaves it out

    def lines(self, inspection: "Inspection") -> list[str]:
        """List its problems, if it can run."""
        is_due = self.mode in ("", inspection.mode) and inspection.is_clear(*self.reads)
        is_due &= not (self.needs_data and inspection.headers_only)
        return self.find(inspection) if is_due else []


class When(NamedTuple):
    """A condition on a study."""

    holds: Callable[["Inspection"], bool]
    reads: tuple[str, ...]


class Each(NamedTuple):
    """Allows a list of which each entry meets a condition; a line names the others."""

    is_allowed: Callable[[Any], bool]


@dataclass(frozen=True, eq=False)
class Rule:
    """A key has an allowed value where all conditions hold."""

    key: str
    allowed: Any  # a value, a function of one, `Each` or `DEFAULT`
    text: str  # the line after the key; in braces ``got``, a name of `WORDS` or a key, for its value
    when: tuple[When, ...]

    def __call__(self, inspection: "Inspection") -> list[str]:
        """List its problem, if there is one."""
        got = inspection[self.key]
        # All conditions are evaluated, so that a check reads the same keys in every study.
        holds = [condition.holds(inspection) for condition in self.when]
        if not all(holds):
            return []
        if isinstance(self.allowed, Each):
            got = [entry for entry in got if not self.allowed.is_allowed(entry)]
            is_allowed = not got
        elif self.allowed is DEFAULT:
            is_allowed = inspection.is_default(self.key)
        else:
            is_allowed = self.allowed(got) if callable(self.allowed) else got == self.allowed

        def word(name: re.Match) -> str:
            if name[1] in WORDS:
                return WORDS[name[1]](inspection)
            return as_text(got if name[1] == "got" else inspection[name[1]])

        return [] if is_allowed else [f"`{self.key}`{PLACEHOLDER.sub(word, self.text)}"]


def rules(rows: dict[str, tuple[Any, ...]]) -> tuple[Check, ...]:
    """Return the checks of rows: a line, which begins with its key, to the allowed value and conditions."""
    checks = []
    for line, (allowed, *when) in rows.items():
        _, key, text = line.split("`", 2)
        reads = (key, *(name for condition in when for name in condition.reads))
        checks.append(Check(Rule(key, allowed, text, tuple(when)), reads))
    return tuple(checks)


def each(keys: Iterable[str], text: str, *row: Any) -> dict[str, tuple[Any, ...]]:
    """Return the rows of several keys with the same text after the key."""
    return {f"`{key}` {text}": row for key in keys}


def as_text(value: Any) -> str:
    """Write a value of a setting as a message has it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return ", ".join(map(as_text, value))
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def has(key: str, *values: Any) -> When:
    """Return the condition that a key has one of these values."""
    return When(lambda inspection: inspection[key] in values, (key,))


def is_given(key: str) -> When:
    """Return the condition that a key has a value, other than false, 0 or an empty list."""
    return When(lambda inspection: bool(inspection[key]), (key,))


def without(*conditions: When) -> When:
    """Return the condition that others do not all hold."""

    def holds(inspection: "Inspection") -> bool:
        each_holds = [condition.holds(inspection) for condition in conditions]
        return not all(each_holds)

    return When(holds, tuple(key for condition in conditions for key in condition.reads))


def protects(protection: Protection) -> When:
    """Return the condition that a study has requests under a protection."""
    return When(lambda inspection: protection in inspection["privacy.protection"], ("privacy.protection",))


def _taking(fact: str) -> Callable[["Inspection"], str]:
    """Return a function that names the methods of a study that have a fact."""
    return lambda inspection: ", ".join(
        name for name in inspection["methods"] if getattr(METHODS[name], fact)
    )


def centre_key(inspection: "Inspection") -> str | None:
    """Return the key that makes a study one of several centres; None in other studies."""
    is_sum = inspection["cohort.sums"] is not None
    return "cohort.part" if inspection["cohort.part"] else "cohort.sums" if is_sum else None


def without_papers_bounds(inspection: "Inspection") -> list[str]:
    """Name the methods that are no ridge regression, as in the paper, and have no bounds of their own."""
    rows = ((name, METHODS[name]) for name in inspection["methods"])
    return [name for name, row in rows if not (row.is_non_private or "lambda" in row.reads or row.bounds)]


SIMULATED = has("cohort.source", "simulate")
FROM_FILES = without(SIMULATED)
TABLE = has("cohort.source", "table")
ALONG_MAP = When(lambda inspection: takes_map(inspection["methods"]), ("methods",))
BY_LD = When(lambda inspection: takes_ld(inspection["methods"]), ("methods",))
OF_CENTRES = When(lambda inspection: centre_key(inspection) is not None, ("cohort.part", "cohort.sums"))
CHARGED, PUBLIC_METRICS = has("evaluation.metrics", "charged"), has("evaluation.metrics", "public")
# What a line can name beside values.
WORDS = {
    "centre": centre_key,
    "map_methods": lambda inspection: ", ".join(methods_that("takes_map")),
    "ld_methods": lambda inspection: ", ".join(methods_that("takes_ld")),
    "effect_methods": lambda inspection: ", ".join(methods_that("takes_effects")),
    "loading_methods": lambda inspection: ", ".join(methods_that("takes_loadings")),
    "own_ld_methods": _taking("takes_ld"),
    "unbounded": lambda inspection: ", ".join(without_papers_bounds(inspection)),
    "largest_size": lambda inspection: str(max(inspection["variants.size"])),
}
