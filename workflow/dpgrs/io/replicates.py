"""What one replicate hands from step to step beside its outcomes: exact statistics, labelled arrays."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.io.files import readable_arrays, save_arrays
from dpgrs.io.json_files import write_json
from dpgrs.types import Coding, Rows

_GRAM_STEP, _CROSS_STEP = 2.0**-2, 2.0**-17  # of calls
# Arrays that all statistics have.
_NEEDED = ("n_rows", "n_observed", "rows", "outcome_bound")
# Of sums of several centres, beside their statistics.
SUMMED_NAMES = "outcome_names"


@dataclass(frozen=True)
class ClippedStatistics:
    """Exact integer statistics of training rows clipped in `frequency` coding, or row-centred.

    Attributes
    ----------
    gram : (n_variants + 1, n_variants + 1) int64, intercept last, in units of `CLIPPED_GRAM_STEP`; None where
        nothing takes it. One array for all numbers of outcomes.
    cross : (n_outcomes, n_variants + 1) int64, in units of `CLIPPED_CROSS_STEP`.
    row_norm : float, of the genotypes; None where rows are centred by their own mean, and not clipped.
    outcome_norm : float, of the outcomes of one budget; None likewise.
    n_shared : int, outcomes of a budget, whose rows are clipped together; None likewise.
    """

    gram: np.ndarray | None
    cross: np.ndarray
    row_norm: float | None
    outcome_norm: float | None
    n_shared: int | None

    @property
    def coding(self):
        """The Coding of the rows."""
        return Coding.ROW_CENTRED if self.row_norm is None else Coding.FREQUENCY


@dataclass(frozen=True)
class ClipCounts:
    """How much of the training rows was clipped: exact numbers about the data, for benchmarks alone.

    Attributes
    ----------
    values : dict of number of variants to (n_outcomes,) int64, outcome values beyond their bound.
    rows : dict of (number of variants, number of outcomes) to (2,) int64, rows of genotypes and rows of
        outcomes that were longer than their norms; empty under `Bounds.WORST_CASE`.
    """

    values: dict
    rows: dict

    def plus(self, other):
        """Return the counts of the rows of both."""
        return ClipCounts(_added(self.values, other.values), _added(self.rows, other.rows))


@dataclass(frozen=True)
class Statistics:
    """Exact integer statistics of the training rows.

    Attributes
    ----------
    gram : (n_variants + 1, n_variants + 1) int64 of the largest variant set, intercept last, in units of
        `gram_step`; None where nothing takes it. Covariates follow the variants, here and in all arrays
        below.
    cross : dict of number of variants to (n_outcomes, number of variants + 1) int64, in units of
        `cross_step`.
    n_rows : int, training rows.
    n_observed : (n_outcomes,) int64, training rows on which an outcome is known.
    columns : dict of number of variants to the indices of its columns of `gram`, without the intercept.
    rows : Rows, what a row is.
    outcome_bound : float, at which the outcomes were clipped. The sensitivities rest on this and
        on `rows`, so both stay with the sums.
    clipped : dict of (number of variants, number of outcomes) to ClippedStatistics; empty under
        `Bounds.WORST_CASE`.
    origin : dict of number of variants to (number of variants,) float64, the zero of `frequency` coding in
        `half` coding; empty likewise.
    clips : ClipCounts, or None in a release, which does not count them.
    n_covariates : int, columns beside the variants.
    covariate_bound : float or None, at which covariates were clipped, in standard deviations.
    gram_step, cross_step : float, units of the integers: 1/4 and half an outcome grid step, finer ones with
        covariates or dosages.
    people : tuple of int, the first person of a shard, the one after its last, and all people of the variant
        set; None of statistics of all people.
    """

    gram: np.ndarray | None
    cross: dict
    n_rows: int
    n_observed: np.ndarray
    columns: dict
    rows: Rows
    outcome_bound: float
    clipped: dict = field(default_factory=dict)
    origin: dict = field(default_factory=dict)
    clips: ClipCounts | None = None
    n_covariates: int = 0
    covariate_bound: float | None = None
    gram_step: float = _GRAM_STEP
    cross_step: float = _CROSS_STEP
    people: tuple | None = None

    def plus(self, other):
        """Return the statistics of the rows of both, who have nobody in common.

        Raises
        ------
        DpgrsError
            If they are of other columns or other terms.
        """
        if not self._is_like(other):
            raise DpgrsError(
                "Statistics that are added must be of the same columns and terms, got others. Compute all of "
                "them again."
            )
        if self.people is not None and self.people[1:] != (other.people[0], other.people[2]):
            raise DpgrsError(
                "Statistics that are added must be of shards that follow each other, so that nobody counts "
                "twice, got others. Compute all of them again."
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

    def _is_like(self, other):
        """Tell whether all that is not summed is the same."""
        terms = ("rows", "outcome_bound", "n_covariates", "covariate_bound", "gram_step", "cross_step")
        return (
            all(getattr(self, name) == getattr(other, name) for name in terms)
            and (self.gram is None) == (other.gram is None)
            and (self.clips is None) == (other.clips is None)
            and len(self.n_observed) == len(other.n_observed)
            and _are_same(self.columns, other.columns)
            and _are_same(self.origin, other.origin)
            and _norms(self.clipped) == _norms(other.clipped)
            and (self.people is None) == (other.people is None)
        )

    def gram_of_size(self, size, *, has_covariates=True):
        """Return the Gram matrix of so many variants with its covariates, if wanted, intercept last."""
        if size not in self.columns:
            sizes = ", ".join(map(str, self.columns))
            raise UsageError(f"`size` must be one of {sizes}, as in the statistics, got {size}. Correct it.")
        last = np.arange(len(self.gram) - 1 - self.n_covariates, len(self.gram))
        columns = np.append(self.columns[size], last if has_covariates else last[-1:])
        return self.gram[np.ix_(columns, columns)]

    def save(self, path):
        save_arrays(path, self.arrays())

    def arrays(self):
        """Return what `save` writes, a dict of arrays."""
        arrays = {} if self.gram is None else {"gram": self.gram}
        arrays |= {"n_rows": np.int64(self.n_rows), "n_observed": self.n_observed}
        arrays |= {"rows": np.array(str(self.rows)), "outcome_bound": np.float64(self.outcome_bound)}
        if self.n_covariates:
            bound = np.float64(self.covariate_bound)
            arrays |= {"n_covariates": np.int64(self.n_covariates), "covariate_bound": bound}
        if self.people is not None:
            arrays |= {"people": np.array(self.people)}
        # Not where they are those of calls: a ledger knows such statistics by their bytes.
        if (self.gram_step, self.cross_step) != (_GRAM_STEP, _CROSS_STEP):
            arrays |= {"steps": np.array([self.gram_step, self.cross_step])}
        arrays |= {f"cross/{size}": cross for size, cross in self.cross.items()}
        arrays |= {f"columns/{size}": columns for size, columns in self.columns.items()}
        arrays |= {f"origin/{size}": origin for size, origin in self.origin.items()}
        saved = {}
        for (size, count), part in self.clipped.items():
            named = {"cross": part.cross}
            # One Gram matrix, which all numbers of outcomes share, stands with the first of them.
            if part.gram is not None and part.gram is not saved.get(size):
                saved[size] = named["gram"] = part.gram
            if part.row_norm is not None:
                named["norms"] = np.array([part.row_norm, part.outcome_norm, part.n_shared])
            arrays |= {f"clipped/{size}/{count}/{name}": array for name, array in named.items()}
        if self.clips is not None:
            arrays |= {f"clipped_values/{size}": values for size, values in self.clips.values.items()}
            arrays |= {f"clipped_rows/{size}/{count}": n for (size, count), n in self.clips.rows.items()}
        return arrays

    @classmethod
    def load(cls, path, *, is_for_draws=False):
        """Read what `save` wrote; for draws without X'X of whole rows, if there is one of clipped rows."""
        with readable_arrays(path) as found:
            is_clipped = any(name.startswith("clipped/") for name in found)
            left_out = {"gram"} if is_for_draws and is_clipped else set()
            arrays = {name: found[name] for name in found if name not in left_out}
        if not arrays.keys() >= {*_NEEDED}:
            raise DpgrsError(
                f"`{path}` must hold {', '.join(_NEEDED)}, got another kind of file. Name the right one."
            )
        return cls.of(arrays)

    @classmethod
    def of(cls, arrays):
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


def summed_outcomes(path):
    """Return the names of the outcomes of sums of several centres, a list; a `DpgrsError` of other files."""
    with readable_arrays(path) as arrays:
        if SUMMED_NAMES in arrays:
            return arrays[SUMMED_NAMES].tolist()
    raise DpgrsError(f"`{path}` must hold the sums of centres, got another kind of file. Name the right one.")


def _added(first, second):
    return {key: values + second[key] for key, values in first.items()}


def _added_clipped(first, second):
    grams = {}
    for (size, count), part in first.items():
        if size not in grams:
            grams[size] = None if part.gram is None else part.gram + second[size, count].gram
    return {
        key: replace(part, gram=grams[key[0]], cross=part.cross + second[key].cross)
        for key, part in first.items()
    }


def _are_same(first, second):
    return first.keys() == second.keys() and all(np.array_equal(first[key], second[key]) for key in first)


def _norms(clipped):
    terms = ("row_norm", "outcome_norm", "n_shared")
    return {
        key: (part.gram is None, *(getattr(part, name) for name in terms)) for key, part in clipped.items()
    }


def save_labelled(path, items):
    """Write (label, arrays) pairs; a label is a JSON object, arrays a dict of arrays.

    Parameters
    ----------
    path : the file.
    items : iterable of the pairs, of which one is in memory at a time.
    """
    labels = []

    def named():
        for label, arrays in items:
            labels.append(label)
            yield from ((f"{name}/{len(labels) - 1}", array) for name, array in arrays.items())
            del arrays  # before there are others
        yield "labels", np.array(json.dumps(labels))

    save_arrays(path, named())


def write_events(path, labels):
    """Write what every request drew as JSON, beside its noisy numbers, for people and other programs.

    Parameters
    ----------
    path : the file.
    labels : list of dict with ``events``, and in a release ``requests``, as in `save_labelled`.
    """
    records = [{"events": label["events"], "requests": label.get("requests", [])} for label in labels]
    write_json(path, records)


def load_labelled(path):
    """Open what `save_labelled` wrote.

    Returns
    -------
    Labelled

    Raises
    ------
    DpgrsError
        If the file is missing or not of that kind; of damaged arrays only when they are read.
    """
    with readable_arrays(path) as arrays:
        if "labels" not in arrays:
            raise DpgrsError(f"`{path}` must hold labels, got another kind of file. Name the right one.")
        try:
            labels = json.loads(str(arrays["labels"]))
            names = [{} for _ in labels]
            for key in arrays:
                if key != "labels":
                    name, _, index = key.rpartition("/")
                    names[int(index)][name] = key
        except (ValueError, LookupError, TypeError):
            raise DpgrsError(f"`{path}` must hold labelled arrays, got others. Make it again.") from None
    return Labelled(path, labels, names)


class Labelled(Sequence):
    """Pairs of a label and arrays in a file; the arrays of a pair are read when it is taken.

    Attributes
    ----------
    labels : list of dict
    """

    def __init__(self, path, labels, names):
        self._path, self.labels, self._names = path, labels, names

    def of(self, is_wanted):
        """Yield the pairs whose label is wanted, a function of it; no others are read."""
        for place, label in enumerate(self.labels):
            if is_wanted(label):
                yield self[place]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, place):
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        with readable_arrays(self._path) as arrays:
            return self.labels[place], {name: arrays[key] for name, key in self._names[place].items()}


def _by_size(arrays, name):
    prefix = f"{name}/"
    return {int(key.removeprefix(prefix)): array for key, array in arrays.items() if key.startswith(prefix)}


def _of_further_columns(arrays):
    """Return what statistics with covariates or dosages say beside the others, as keywords."""
    own = {}
    if "n_covariates" in arrays:
        own |= {"n_covariates": int(arrays["n_covariates"])}
        own |= {"covariate_bound": float(arrays["covariate_bound"])}
    if "steps" in arrays:
        own |= dict(zip(("gram_step", "cross_step"), arrays["steps"].tolist(), strict=True))
    return own


def _clip_counts(arrays):
    values = _by_size(arrays, "clipped_values")
    rows = {
        key: arrays[f"clipped_rows/{key[0]}/{key[1]}"] for key in sorted(_designs(arrays, "clipped_rows"))
    }
    return ClipCounts(values, rows) if values else None


def _designs(arrays, name):
    """Return the pairs of number of variants and number of outcomes that arrays of a name are about."""
    return {tuple(map(int, key.split("/")[1:3])) for key in arrays if key.startswith(f"{name}/")}


def _clipped(arrays):
    parts, designs = {}, sorted(_designs(arrays, "clipped"))
    names = {size: f"clipped/{size}/{count}/gram" for size, count in designs}
    names |= {size: name for size, count in designs if (name := f"clipped/{size}/{count}/gram") in arrays}
    grams = {size: arrays.get(name) for size, name in names.items()}
    for size, count in designs:
        cross, norms = (arrays.get(f"clipped/{size}/{count}/{name}") for name in ("cross", "norms"))
        norms = (None, None, None) if norms is None else norms.tolist()
        if len(norms) != 3:
            raise DpgrsError("The statistics are of another version of dpgrs. Compute them again.")
        parts[size, count] = ClippedStatistics(grams[size], cross, *norms)
    return parts
