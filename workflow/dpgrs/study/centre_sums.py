"""Exact sums of one centre of several, as they leave it, and of all centres, as a release takes them.

Every statistic is a sum over rows in whole numbers, and a row depends only on its person and public inputs.
Sums of cohorts that have nobody in common add up exactly to the sums of one cohort of all people.

Privacy: nothing here is private. Sums of a centre are only for the coordinator, who draws the noise
(docs/how-to/centres.md).
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

import dpgrs
from dpgrs.config.schema import keys
from dpgrs.config.study import PATHS, StudyConfig
from dpgrs.errors import DpgrsError, UsageError, shown
from dpgrs.io.files import (
    arrays_as_bytes,
    load_arrays,
    require_plain_arrays,
    write_closed,
    written_digest,
)
from dpgrs.io.json_files import read_json
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import SUMMED_NAMES, Statistics
from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.privacy.accounting.events import MECHANISM_VERSION
from dpgrs.privacy.accounting.exact_numbers import exact_values
from dpgrs.privacy.private_folders import PRIVATE, require_no_digests
from dpgrs.study.code import package_digest
from dpgrs.study.exact_statistics import added
from dpgrs.study.identity import public_identity
from dpgrs.study.input_files import file_versions, named_tables, require_same_versions
from dpgrs.study.made_by import PUBLIC, SITES, require_made_by
from dpgrs.study.sums_check import STATISTICS, is_possible, largest

FORMAT = 2
# The settings that centres and coordinator agree on. They may differ in paths, the words of the curator,
# fits after the draw, and measures.
AGREED = (
    *("mode", "seed", "dataset", "cohort", "people", "variants", "outcomes", "covariates"),
    *("methods", "privacy", "screening", "public"),
)
# Agreed keys that the statement of the release repeats for all centres, or that decide how genotypes are
# read.
AGREED_KEYS = ("release.genome_build", "release.preprocessing")
# Settings of one side. For methods, the sides agree only on the mechanism that draws for them.
OWN = (
    *("cohort.part", "cohort.in_turn", "cohort.planned_people", "methods"),
    *("dataset.approved_by", "dataset.dar_id", "dataset.approval_date", *PATHS),
)
# Arrays of a file that are not sums.
TERMS, CENTRE_NAMES, EXPORTS = "centre_terms", "centre_names", "exports"
OUTCOME_TERMS = (SUMMED_NAMES, "prevalence", "components", "loadings")
NAME, DIGEST = re.compile(r"[A-Za-z0-9_-]{1,60}"), re.compile(r"[0-9a-f]{64}")
# Room for noise is left below what int64 holds.
LARGEST_SUM = 2**62


@dataclass(frozen=True)
class CentreSums:
    """Exact sums of a centre, or of several."""

    statistics: Statistics
    outcomes: Outcomes  # of nobody: their names and public terms
    public_terms: dict[str, Any]  # from `terms_of`
    centres: tuple[str, ...]  # names of the centres, each once
    # SHA-256 of each centre's file, in the order of `centres`; empty in such a file.
    exports: tuple[str, ...] = ()

    def arrays(self) -> dict[str, Any]:
        """Return them as named arrays."""
        outcomes = self.outcomes
        named = {SUMMED_NAMES: np.array(outcomes.names, dtype=str), "prevalence": outcomes.prevalence}
        if outcomes.components is not None:
            named |= {"components": np.array(outcomes.components, dtype=str), "loadings": outcomes.loadings}
        named |= {CENTRE_NAMES: np.array(self.centres, dtype=str)}
        if self.exports:
            named |= {EXPORTS: np.array(self.exports, dtype=str)}
        return (
            self.statistics.arrays()
            | named
            | {TERMS: np.array(json.dumps(self.public_terms, sort_keys=True))}
        )

    def as_bytes(self) -> bytes:
        """Return the bytes of a file of these sums."""
        return arrays_as_bytes(self.arrays())

    def save(self, path: Path | str) -> None:
        """Write a file of mode 0600."""
        write_closed(path, self.as_bytes())

    @classmethod
    def load(cls, path: Path | str, *, content: bytes | None = None) -> Self:
        """Read what `save` wrote, or its bytes; damaged files and numbers that cannot be sums are refused."""
        require_plain_arrays(path, content=content, is_known=_is_known)
        arrays = load_arrays(path, content=content)
        try:
            centre_terms = json.loads(str(arrays[TERMS]))
            if centre_terms["format"] != FORMAT:
                raise DpgrsError(
                    "sums-format",
                    f"`{path}` must be of format {FORMAT}, got another. Use one dpgrs at all centres.",
                )
            statistics = Statistics.of(arrays)
            names, components = arrays[SUMMED_NAMES].tolist(), None
            if "components" in arrays:
                components = tuple(arrays["components"].tolist())
            nobody = np.zeros((len(names), 0))
            outcomes = Outcomes(
                tuple(names),
                dict.fromkeys(statistics.columns, nobody),
                {},
                np.zeros(0, dtype=bool),
                statistics.rows,
                arrays["prevalence"],
                components,
                arrays.get("loadings"),
            )
            centres, exports = _centres_of(arrays)
            is_sum = is_possible(statistics, has_components=components is not None)
        except (LookupError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            raise DpgrsError(
                "not-sums-of-centres",
                f"`{path}` must hold the sums of a centre, got another kind of file. Name what "
                "`dpgrs centre export` or `dpgrs centre combine` wrote.",
            ) from None
        if not is_sum:
            raise DpgrsError(
                "sums-impossible",
                f"`{path}` must hold sums over rows of people, got numbers that none can have. Ask the "
                "centre to export them again.",
            )
        return cls(statistics, outcomes, centre_terms, centres, exports)


def _is_known(name: str) -> bool:
    """Return whether sums have an array of a name."""
    return name in (TERMS, CENTRE_NAMES, EXPORTS, *OUTCOME_TERMS) or STATISTICS.fullmatch(name) is not None


def _centres_of(arrays: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return names of centres and digests of their exports; raise a ValueError if they are impossible."""
    centres = tuple(arrays[CENTRE_NAMES].tolist())
    exports = tuple(arrays[EXPORTS].tolist()) if EXPORTS in arrays else ()
    is_named = centres and all(map(NAME.fullmatch, centres)) and all(map(DIGEST.fullmatch, exports))
    if not is_named or len(exports) not in (0, len(centres)) or len(_names(centres)) < len(centres):
        raise ValueError
    return centres, exports


def _names(centres: Sequence[str]) -> set[str]:
    """Return the names of centres as they are compared."""
    return {name.casefold() for name in centres}


def terms_of(settings: StudyConfig, *, site_digest: str) -> dict[str, Any]:
    """Return the terms on which sums of centres must agree, as JSON values.

    The settings are of a centre or of the coordinator; `site_digest` is the SHA-256 of the public sites
    in hexadecimal.
    """
    agreed = [key for key in keys() if key in AGREED_KEYS or key.partition(".")[0] in AGREED]
    return {
        "format": FORMAT,
        "dpgrs": dpgrs.__version__,
        "code": package_digest(),
        "mechanism_version": MECHANISM_VERSION,
        "mechanisms": sorted({mechanism_of(method).name for method in settings.methods}),
        "public sites": site_digest,
        # Digests of public files, which have no paths here.
        "identity": exact_values(public_identity(settings)),
        **{key: json.dumps(settings.value(key), sort_keys=True) for key in agreed if key not in OWN},
    }


def sums_of_study(folder: Path | str, *, centre: str) -> CentreSums:
    """Return the exact sums of a study of one centre, from its folder ``results/<name>``.

    The study has `cohort.part`; `centre` is the public name. A study that is not one of a centre is a
    UsageError. Refused are a study that has not run, files made by other settings, changed files of the user
    and digests of private files in Snakemake's records.
    """
    folder = Path(folder).absolute()
    settings = folder / PRIVATE / "settings.json"
    if not settings.is_file():
        raise UsageError(
            "study-not-run",
            f"`{folder}` must be the folder of a study that has run, got another. Run the study.",
        )
    settings = StudyConfig.of(read_json(settings))
    if not settings.cohort.part:
        raise UsageError(
            "study-not-of-a-centre",
            f"`{folder}` must be a study with `cohort.part: true`, got one that draws for itself. Run the "
            "agreed configuration with that key.",
        )
    files = [
        folder / PRIVATE / "replicate1" / "statistics.npz",
        folder / PRIVATE / "replicate1" / "outcomes.zarr",
        folder / PUBLIC / SITES,
    ]
    watched = [*files, *map(Path, named_tables(settings))]
    # Relative paths of settings are of the folder that the study ran in.
    with contextlib.chdir(folder.parent.parent):
        versions = file_versions(watched)
        require_made_by(settings, files)
        require_no_digests()
        statistics, outcomes = Statistics.load(files[0]), Outcomes.load(files[1]).of_rows(slice(0))
        centre_terms = terms_of(settings, site_digest=written_digest(files[2]))
        require_same_versions(versions, watched)
    return CentreSums(statistics, outcomes, centre_terms, (centre,))


def combined(centre_sums: Iterable[tuple[Path | str, CentreSums]]) -> CentreSums | None:
    """Add the sums of centres, given with their paths, which messages name.

    A centre that is in twice, and sums of other terms, sites, outcomes or columns than the first, are
    refused; more rows than can be summed exactly are a UsageError.
    """
    first, total, digests = None, None, {}
    for path, addend in centre_sums:
        statistics = addend.statistics.arrays()
        digest = hashlib.sha256(arrays_as_bytes(statistics)).hexdigest()
        if first is None:
            first, total, digests[digest] = path, addend, path
            continue
        if repeated := _names(addend.centres) & _names(total.centres):
            name = shown(repeated.pop())
            raise _other(
                "centre-twice",
                path,
                f"of another centre than those before, got {name} twice",
                "Name each once",
            )
        if digest in digests:
            raise _other(
                "centre-sums-twice",
                path,
                f"other sums than {digests[digest]}, got the same",
                "Name each centre once",
            )
        digests[digest] = path
        for checked, expected_terms in ((addend, total.public_terms), (total, addend.public_terms)):
            require_same_terms(checked, expected_terms, path=path, first_path=first)
        if _public(addend) != _public(total) or _shapes(statistics) != _shapes(total.statistics.arrays()):
            raise _other(
                "sums-of-other-outcomes", path, f"of the same outcomes and variants as {first}, got others"
            )
        if largest(total.statistics) + largest(addend.statistics) >= LARGEST_SUM:
            raise _other("sums-too-large", path, "within what can be summed exactly, got more")
        try:
            statistics = added([total.statistics, addend.statistics])
        except UsageError:
            raise
        except DpgrsError:
            raise _other(
                "sums-of-other-columns", path, f"of the same columns and norms as {first}, got others"
            ) from None
        centres, exports = (*total.centres, *addend.centres), (*total.exports, *addend.exports)
        total = CentreSums(statistics, total.outcomes, total.public_terms, centres, exports)
    return total


def require_same_terms(
    sums: CentreSums, expected_terms: dict[str, Any], *, path: Path | str, first_path: Path | str
) -> None:
    """Refuse sums of other terms, from `terms_of`; terms that are not given are not compared.

    `path` and `first_path` name the owners of sums and terms. The message has names of terms, and no value.
    """
    different = [name for name, value in expected_terms.items() if sums.public_terms.get(name) != value]
    if different:
        names = shown(", ".join(different[:5]), n_characters=200)
        raise _other("sums-of-other-terms", path, f"of the same {names} as {first_path}, got others")


def _other(
    code: str,
    path: Path | str,
    requirement: str,
    fix: str = "Agree on one configuration, and export them again",
) -> DpgrsError:
    return DpgrsError(code, f"`{path}` must be {requirement}. {fix}.")


def _public(sums: CentreSums) -> tuple[Any, ...]:
    """Return the names and public terms of outcomes as a comparable value."""
    outcomes = sums.outcomes
    loadings = None if outcomes.loadings is None else outcomes.loadings.tobytes()
    return outcomes.names, outcomes.prevalence.tobytes(), outcomes.components, loadings


def _shapes(arrays: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    return {
        name: (array.dtype, array.shape) for name, array in arrays.items() if isinstance(array, np.ndarray)
    }
