"""The number of outcomes of a study whose settings do not state it: as its tables have."""

from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.errors import DpgrsError
from dpgrs.io.tables.outcome_scales import read_scales
from dpgrs.io.tables.phenotypes import outcome_names

if TYPE_CHECKING:
    from dpgrs.config.outcomes import Outcomes


def stated_count(outcomes: "Outcomes") -> tuple[int, str | None]:
    """Count the outcomes of a study that does not state their number: by its table, or by public constants.

    The second result is the key of the counted table, ``file`` or ``scales``. Without either they are 0 and
    None. A table that cannot be read is refused.
    """
    readers = {"file": outcome_names, "scales": read_scales}
    there = (name for name in readers if (path := getattr(outcomes, name)) and Path(path).exists())
    name = next(there, None)
    try:
        return len(readers[name](getattr(outcomes, name))) if name else 0, name
    except DpgrsError as error:
        raise DpgrsError(error.code, f"`outcomes.{name}`: {error}") from None
