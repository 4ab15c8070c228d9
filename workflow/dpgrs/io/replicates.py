"""The results that one replicate hands from step to step beside its outcomes: exact statistics, labelled
arrays."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import LazyArrays, readable_arrays, save_arrays
from dpgrs.io.json_files import write_json
from dpgrs.types import Coding, Rows

_GRAM_STEP, _CROSS_STEP = 2.0**-2, 2.0**-17  # of calls
# Arrays that all statistics have.
_NEEDED = ("n_rows", "n_observed", "rows", "outcome_bound")
# Of sums of several centres, beside their statistics.
SUMMED_NAMES = "outcome_names"


@dataclass(frozen=True)
class ClippedStatistics:
    """Exact integer statistics of training rows clipped in `frequency` coding, or row-centred."""

    # (n_variants + 1, n_variants + 1) int64, intercept last, in units of `CLIPPED_GRAM_STEP`; None if nothing
    # uses it. One array for all numbers of outcomes
    gram: np.ndarray | None
    cross: np.ndarray  # (n_outcomes, n_variants + 1) int64, in units of `CLIPPED_CROSS_STEP`
    row_norm: float | None  # of the genotypes; None if rows are centred by their own mean, and not clipped
    outcome_norm: float | None  # of the outcomes of one budget; None likewise
    n_shared: int | None  # outcomes of a budget, whose rows are clipped together; None likewise

    @property
    def coding(self) -> Coding:
        """The Coding of the rows."""
        return Coding.ROW_CENTRED if self.row_norm is None else Coding.FREQUENCY


@dataclass(frozen=True)
class ClipCounts:
    """How much of the training rows was clipped: exact numbers about the data, only for benchmarks."""

    # By number of variants, (n_outcomes,) int64, outcome values beyond their bound
    values: dict[int, np.ndarray]
    # By number of variants and of outcomes, (2,) int64, rows of genotypes and rows of outcomes that were
    # longer than their norms; empty under `Bounds.WORST_CASE`
    rows: dict[tuple[int, int], np.ndarray]

    def plus(self, other: Self) -> "ClipCounts":
        """Return the counts of the rows of both."""
        return ClipCounts(_added(self.values, other.values), _added(self.rows, other.rows))


@dataclass(frozen=True)
class Statistics:
    """Exact integer statistics of the training rows."""

    # (n_variants + 1, n_variants + 1) int64 of the largest variant set, intercept last, in units of
    # `gram_step`; None if nothing uses it. Covariates follow the variants, here and in all arrays below
    gram: np.ndarray | None
    # By number of variants, (n_outcomes, number of variants + 1) int64, in units of `cross_step`
    cross: dict[int, np.ndarray]
    n_rows: int  # training rows
    n_observed: np.ndarray  # (n_outcomes,) int64, training rows on which an outcome is known
    # By number of variants, the indices of its columns of `gram`, without the intercept
    columns: dict[int, np.ndarray]
    rows: Rows
    # At which the outcomes were clipped. The sensitivities depend on this and on `rows`: both stay with the
    # sums
    outcome_bound: float
    # By number of variants and of outcomes; empty under `Bounds.WORST_CASE`
    clipped: dict[tuple[int, int], ClippedStatistics] = field(default_factory=dict)
    # By number of variants, float64, the zero of `frequency` coding in `half` coding; empty likewise
    origin: dict[int, np.ndarray] = field(default_factory=dict)
    clips: ClipCounts | None = None  # None in a release, which does not count them
    n_covariates: int = 0  # columns beside the variants
    covariate_bound: float | None = None  # at which covariates were clipped, in standard deviations
    gram_step: float = _GRAM_STEP  # unit of the integers: 1/4, finer with covariates or dosages
    cross_step: float = _CROSS_STEP  # likewise: half an outcome grid step, or finer
    # The first person of a shard, the one after its last, and all people of the variant set; None for
    # statistics of all people
    people: tuple[int, int, int] | None = None

    def plus(self, other: Self) -> "Statistics":
        """Return the statistics of the rows of both, who have nobody in common.

        Statistics of other columns or other terms are refused.
        """
        if not self._is_like(other):
            raise DpgrsError(
                "added-statistics-differ",
                "Statistics that are added must be of the same columns and terms, got others. Compute all of "
                "them again.",
            )
        if self.people is not None and self.people[1:] != (other.people[0], other.people[2]):
            raise DpgrsError(
                "shards-not-in-order",
                "Statistics that are added must be of shards that follow each other, so that nobody counts "
                "twice, got others. Compute all of them again.",
            )
        return replace(
            self,
            gram=None if self.gram is None else self.gram + other.gram,
            cross=_added(self.cross, other.cross),
            n_rows=self.n_rows + other.n_rows,
            n_observed=self.n_observed + other.n_observed,
            clipped=_added_clipped(self.clipped, other.clipped),
            clips=None if self.clips is None else self.clips.plus(other.clips),
            people=None if self.people is None else (self.people[0], *other.people[1:]),
        )

    def _is_like(self, other: Self) -> bool:
        """Return whether all that is not summed is the same."""
        fields = ("rows", "outcome_bound", "n_covariates", "covariate_bound", "gram_step", "cross_step")
        return (
            all(getattr(self, name) == getattr(other, name) for name in fields)
            and (self.gram is None) == (other.gram is None)
            and (self.clips is None) == (other.clips is None)
            and len(self.n_observed) == len(other.n_observed)
            and _are_same(self.columns, other.columns)
            and _are_same(self.origin, other.origin)
            and _norms(self.clipped) == _norms(other.clipped)
            and (self.people is None) == (other.people is None)
        )

    def gram_of_size(self, size: int, *, has_covariates: bool = True) -> np.ndarray:
        """Return the Gram matrix of so many variants with its covariates, if wanted, intercept last."""
        if size not in self.columns:
            sizes = ", ".join(map(str, self.columns))
            raise UsageError(
                "size-not-in-statistics",
                f"`size` must be one of {sizes}, as in the statistics, got {size}. Correct it.",
            )
        last = np.arange(len(self.gram) - 1 - self.n_covariates, len(self.gram))
        columns = np.append(self.columns[size], last if has_covariates else last[-1:])
        return self.gram[np.ix_(columns, columns)]

    def save(self, path: Path | str) -> None:
        save_arrays(path, self.arrays())

    def arrays(self) -> dict[str, Any]:
        """Return the arrays that `save` writes."""
        arrays: dict[str, Any] = {} if self.gram is None else {"gram": self.gram}
        arrays |= {"n_rows": np.int64(self.n_rows), "n_observed": self.n_observed}
        arrays |= {"rows": np.array(str(self.rows)), "outcome_bound": np.float64(self.outcome_bound)}
        if self.n_covariates:
            bound = np.float64(self.covariate_bound)
            arrays |= {"n_covariates": np.int64(self.n_covariates), "covariate_bound": bound}
        if self.people is not None:
            arrays |= {"people": np.array(self.people)}
        # Not if they are the steps of calls: a ledger identifies such statistics by their bytes.
        if (self.gram_step, self.cross_step) != (_GRAM_STEP, _CROSS_STEP):
            arrays |= {"steps": np.array([self.gram_step, self.cross_step])}
        arrays |= {f"cross/{size}": cross for size, cross in self.cross.items()}
        arrays |= {f"columns/{size}": columns for size, columns in self.columns.items()}
        arrays |= {f"origin/{size}": origin for size, origin in self.origin.items()}
        saved = {}
        for (size, count), clipped in self.clipped.items():
            named = {"cross": clipped.cross}
            # One Gram matrix, which all numbers of outcomes share, stands with the first of them.
            if clipped.gram is not None and clipped.gram is not saved.get(size):
                saved[size] = named["gram"] = clipped.gram
            if clipped.row_norm is not None:
                named["norms"] = np.array([clipped.row_norm, clipped.outcome_norm, clipped.n_shared])
            arrays |= {f"clipped/{size}/{count}/{name}": array for name, array in named.items()}
        if self.clips is not None:
            arrays |= {f"clipped_values/{size}": values for size, values in self.clips.values.items()}
            arrays |= {f"clipped_rows/{size}/{count}": n for (size, count), n in self.clips.rows.items()}
        return arrays

    @classmethod
    def load(cls, path: Path | str, *, is_for_draws: bool = False) -> Self:
        """Read what `save` wrote; for draws without X'X of whole rows, if there is one of clipped rows."""
        with readable_arrays(path) as stored:
            is_clipped = any(name.startswith("clipped/") for name in stored)
            left_out = {"gram"} if is_for_draws and is_clipped else set()
            arrays = {name: stored[name] for name in stored if name not in left_out}
        if not arrays.keys() >= {*_NEEDED}:
            raise DpgrsError(
                "not-statistics",
                f"`{path}` must hold {', '.join(_NEEDED)}, got another kind of file. Name the right one.",
            )
        return cls.of(arrays)

    @classmethod
    def of(cls, arrays: Mapping[str, Any]) -> Self:
        """Return the statistics of the arrays of a file."""
        return cls(
            arrays.get("gram"),
            _by_size(arrays, "cross"),
            int(arrays["n_rows"]),
            arrays["n_observed"],
            _by_size(arrays, "columns"),
            Rows(str(arrays["rows"])),
            float(arrays["outcome_bound"]),
            _clipped(arrays),
            _by_size(arrays, "origin"),
            _clip_counts(arrays),
            people=tuple(arrays["people"].tolist()) if "people" in arrays else None,
            **_of_further_columns(arrays),
        )


def summed_outcomes(path: Path | str) -> list[str]:
    """Return the names of the outcomes of sums of several centres; refuse other files."""
    with readable_arrays(path) as arrays:
        if SUMMED_NAMES in arrays:
            return arrays[SUMMED_NAMES].tolist()
    raise DpgrsError(
        "not-sums-of-centres",
        f"`{path}` must hold the sums of centres, got another kind of file. Name the right one.",
    )


def _added(first: Mapping[Any, np.ndarray], second: Mapping[Any, np.ndarray]) -> dict[Any, np.ndarray]:
    return {key: values + second[key] for key, values in first.items()}


def _added_clipped(
    first: Mapping[tuple[int, int], ClippedStatistics], second: Mapping[tuple[int, int], ClippedStatistics]
) -> dict[tuple[int, int], ClippedStatistics]:
    grams = {}
    for (size, count), clipped in first.items():
        if size not in grams:
            grams[size] = None if clipped.gram is None else clipped.gram + second[size, count].gram
    return {
        key: replace(clipped, gram=grams[key[0]], cross=clipped.cross + second[key].cross)
        for key, clipped in first.items()
    }


def _are_same(first: Mapping[Any, np.ndarray], second: Mapping[Any, np.ndarray]) -> bool:
    return first.keys() == second.keys() and all(np.array_equal(first[key], second[key]) for key in first)


def _norms(clipped: Mapping[tuple[int, int], ClippedStatistics]) -> dict[tuple[int, int], tuple[Any, ...]]:
    norms = ("row_norm", "outcome_norm", "n_shared")
    return {
        key: (statistics.gram is None, *(getattr(statistics, name) for name in norms))
        for key, statistics in clipped.items()
    }


def save_labelled(
    path: Path | str,
    items: Iterable[tuple[dict[str, Any], Mapping[str, np.ndarray] | Iterable[tuple[str, np.ndarray]]]],
) -> None:
    """Write (label, arrays) pairs, of which one is in memory at a time; a label is a JSON object.

    Of arrays in pairs of name and array, one array is in memory at a time. Labels are written last.
    """
    labels = []

    def named() -> Iterator[tuple[str, np.ndarray]]:
        for label, arrays in items:
            labels.append(label)
            pairs = arrays.items() if isinstance(arrays, Mapping) else arrays
            yield from ((f"{name}/{len(labels) - 1}", array) for name, array in pairs)
            del arrays, pairs  # before the next ones are made
        yield "labels", np.array(json.dumps(labels))

    save_arrays(path, named())


def write_events(path: Path | str, labels: Iterable[dict[str, Any]]) -> None:
    """Write the events of every request as JSON, beside its noisy numbers, for people and other programs.

    Labels are those of `save_labelled`, with ``events``, and in a release ``requests``.
    """
    records = [{"events": label["events"], "requests": label.get("requests", [])} for label in labels]
    write_json(path, records)


def load_labelled(path: Path | str) -> "Labelled":
    """Open what `save_labelled` wrote; damaged arrays are refused only when they are read."""
    with readable_arrays(path) as arrays:
        if "labels" not in arrays:
            raise DpgrsError(
                "labels-missing", f"`{path}` must hold labels, got another kind of file. Name the right one."
            )
        try:
            labels = json.loads(str(arrays["labels"]))
            names = [{} for _ in labels]
            for key in arrays:
                if key != "labels":
                    name, _, index = key.rpartition("/")
                    names[int(index)][name] = key
        except (ValueError, LookupError, TypeError):
            raise DpgrsError(
                "labelled-arrays-form", f"`{path}` must hold labelled arrays, got others. Make it again."
            ) from None
    return Labelled(path, labels, names)


class Labelled(Sequence):
    """Pairs of a label and arrays in a file; the arrays of a pair are read when it is taken."""

    def __init__(self, path: Path | str, labels: list[dict[str, Any]], names: list[dict[str, str]]) -> None:
        self._path, self.labels, self._names = path, labels, names

    def of(self, is_wanted: Callable[[dict[str, Any]], bool]) -> Iterator[Any]:
        """Yield the pairs whose label is wanted; no others are read."""
        for index, label in enumerate(self.labels):
            if is_wanted(label):
                yield self[index]

    def lazily(self, index: int) -> Mapping[str, np.ndarray]:
        """Return the arrays of a pair by name, each read whenever it is taken."""
        return LazyArrays(self._path, self._names[index])

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        with readable_arrays(self._path) as arrays:
            return self.labels[index], {name: arrays[key] for name, key in self._names[index].items()}


def _by_size(arrays: Mapping[str, Any], name: str) -> dict[int, Any]:
    prefix = f"{name}/"
    return {int(key.removeprefix(prefix)): array for key, array in arrays.items() if key.startswith(prefix)}


def _of_further_columns(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the further fields of statistics with covariates or dosages, as keywords."""
    fields: dict[str, Any] = {}
    if "n_covariates" in arrays:
        fields |= {"n_covariates": int(arrays["n_covariates"])}
        fields |= {"covariate_bound": float(arrays["covariate_bound"])}
    if "steps" in arrays:
        fields |= dict(zip(("gram_step", "cross_step"), arrays["steps"].tolist(), strict=True))
    return fields


def _clip_counts(arrays: Mapping[str, Any]) -> ClipCounts | None:
    values = _by_size(arrays, "clipped_values")
    rows = {
        key: arrays[f"clipped_rows/{key[0]}/{key[1]}"] for key in sorted(_designs(arrays, "clipped_rows"))
    }
    return ClipCounts(values, rows) if values else None


def _designs(arrays: Mapping[str, Any], name: str) -> set[Any]:
    """Return the pairs of number of variants and number of outcomes of the arrays of a name."""
    return {tuple(map(int, key.split("/")[1:3])) for key in arrays if key.startswith(f"{name}/")}


def _clipped(arrays: Mapping[str, Any]) -> dict[tuple[int, int], ClippedStatistics]:
    statistics, designs = {}, sorted(_designs(arrays, "clipped"))
    names = {size: f"clipped/{size}/{count}/gram" for size, count in designs}
    names |= {size: name for size, count in designs if (name := f"clipped/{size}/{count}/gram") in arrays}
    grams = {size: arrays.get(name) for size, name in names.items()}
    for size, count in designs:
        cross, norms = (arrays.get(f"clipped/{size}/{count}/{name}") for name in ("cross", "norms"))
        norms = (None, None, None) if norms is None else norms.tolist()
        if len(norms) != 3:
            raise DpgrsError(
                "statistics-of-another-version",
                "The statistics are of another version of dpgrs. Compute them again.",
            )
        statistics[size, count] = ClippedStatistics(grams[size], cross, *norms)
    return statistics
