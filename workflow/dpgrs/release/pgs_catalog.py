"""Scores as PGS Catalog scoring files (format 2.0), in the subset that every known reader accepts [1]_.

Same scores, same bytes: files hold no time, name or host, and rows have one order.

References
----------
.. [1] https://www.pgscatalog.org/downloads/#dl_ftp_scoring
"""

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.release.plain_tables import format_weight, table_lines, write_table
from dpgrs.statement.content import Terms
from dpgrs.statement.files import file_stems

FIRST_LINE = (
    "###PGS CATALOG SCORING FILE - see https://www.pgscatalog.org/downloads/#dl_ftp_scoring "
    "for additional information"
)
NOT_REPORTED = "NR"
BUILDS = ("GRCh37", "GRCh38")
CHROMOSOMES = (*map(str, range(1, 23)), "X")
SITE = ("chr_name", "chr_position", "effect_allele", "other_allele")
BENCHMARK = "benchmark"
DP_TERMS = ("epsilon", "delta", "protection", "unit", "neighbours")


@dataclass(frozen=True)
class Constants:
    """Predictions, in standard deviations, without any effect allele and with covariates at their centres."""

    of_person: np.ndarray  # (n_outcomes,) float64
    of_haplotype: np.ndarray | None = None  # (n_outcomes,) float64, if rows are haplotypes


@dataclass(frozen=True)
class Scores:
    """The weights of a release, checked and in the order of the files.

    `chosen` are ascending rows of `sites`, the variants that were chosen in private for each outcome: its
    files hold no others; None if they hold all. `frequency` is of ALT in public people, with which missing
    calls are filled, and never of the cohort. Numbers and sites that the format cannot hold are refused.
    """

    outcomes: tuple  # public names
    sites: pd.DataFrame  # contig, position, ref, alt and id; further columns are ignored
    weights: np.ndarray  # (n_outcomes, n_variants) float64, per copy of the ALT allele
    constants: Constants
    genome_build: str  # `GRCh37` or `GRCh38`
    terms: Terms | None  # None of a benchmark
    source: str  # of the noise: `release`, or `benchmark`, which cannot be released
    standard_errors: np.ndarray | None = None  # (n_outcomes, n_variants) float64, of the weights
    chosen: np.ndarray | None = None  # (n_outcomes, n_chosen) int64
    frequency: np.ndarray | None = None  # (n_variants,) float64

    def __post_init__(self) -> None:
        _require_names(self.outcomes)
        if self.genome_build not in BUILDS:
            raise UsageError(
                "genome-build-unknown",
                f"`release.genome_build` must be {' or '.join(BUILDS)}, got {self.genome_build}. Set it.",
            )
        shape = (len(self.outcomes), len(self.sites))
        for name, numbers in (("weights", self.weights), ("standard errors", self.standard_errors)):
            if numbers is not None:
                _require_finite(name, np.asarray(numbers), shape)
        if self.standard_errors is not None and np.any(np.asarray(self.standard_errors) < 0):
            raise DpgrsError(
                "standard-error-negative",
                "The standard errors must be at least 0, got a negative one. Fit again.",
            )
        for numbers in (self.constants.of_person, self.constants.of_haplotype):
            if numbers is not None:
                _require_finite("constants", np.asarray(numbers), shape[:1])
        _require_sites(self.sites)
        if self.chosen is not None:
            _require_chosen(np.asarray(self.chosen), np.asarray(self.weights))

    def rows(self, index: int) -> tuple[pd.DataFrame, np.ndarray]:
        """Return the columns before the weights, rsID first, of an outcome's files, and rows of `sites`."""
        table = self.all_rows
        if self.chosen is not None:
            table = table[table["row"].isin(self.chosen[index])]
        return table.drop(columns="row"), table["row"].to_numpy()

    def subset(self, index: int) -> dict[str, Any]:
        """Return the number and site digest of the variants of an outcome's files; empty if they hold all."""
        if self.chosen is None:
            return {}
        sites = self.sites.iloc[self.chosen[index]]
        return {"n_variants": len(sites), "site_digest": site_digest(sites)}

    @cached_property
    def all_rows(self) -> pd.DataFrame:
        """The lines of files of all variants, without weights, and the `row` of each in `sites`."""
        return file_rows(self.sites)


def site_digest(sites: pd.DataFrame) -> str:
    """Return the digest of a list of sites, in whatever order: what a score's weights belong to.

    It is the SHA-256 of the lines ``chr_name TAB chr_position TAB effect_allele TAB other_allele``, in the
    order of the scoring files.
    """
    rows, digest = file_rows(sites), hashlib.sha256()
    for lines in table_lines(rows[name].to_numpy() for name in SITE):
        digest.update(lines)
    return digest.hexdigest()


def in_file_order(sites: pd.DataFrame) -> pd.DataFrame:
    """Return sites, as in `Scores`, in the order of the scoring files."""
    return sites.iloc[file_rows(sites)["row"]].reset_index(drop=True)


def header_text(value: Any) -> str:
    """Make a text fit for a header line: one line, and no ``=``, at which readers split."""
    printable = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in str(value))
    return " ".join(printable.replace("=", ":").split()) or NOT_REPORTED


def write_scoring_file(
    path: Path,
    scores: Scores,
    index: int,
    *,
    pgs_id: str,
    citation: str,
    license_text: str,
    acknowledgement: str = "",
    trait: dict[str, Any] | None = None,
) -> None:
    """Write the score of one outcome, ``.txt.gz``.

    `pgs_id` is a name of the score, as the Catalog has given it none; no line is written for an empty
    acknowledgement; `trait` is from `dpgrs.study.traits.read_traits`.
    """
    (table, rows), trait = scores.rows(index), trait or {}
    header = {
        "format_version": "2.0",
        "##": "POLYGENIC SCORE (PGS) INFORMATION",
        "pgs_id": pgs_id,
        "pgs_name": scores.outcomes[index],
        "trait_reported": trait.get("reported_trait", scores.outcomes[index]),
        "trait_mapped": "|".join(trait.get("mapped_traits", [NOT_REPORTED])),
        "trait_efo": "|".join(trait.get("efo_ids", [NOT_REPORTED])),
        "genome_build": scores.genome_build,
        "variants_number": len(table),
        "weight_type": "beta",
        "constant": format_weight(scores.constants.of_person[index]),
        **_privacy(scores.terms),
    }
    source = {"pgp_id": NOT_REPORTED, "citation": citation, "license": license_text}
    if acknowledgement:
        source["acknowledgement"] = acknowledgement
    lines = [FIRST_LINE]
    lines += [
        f"##{value}" if key == "##" else f"#{key}={header_text(value)}" for key, value in header.items()
    ]
    lines += ["##SOURCE INFORMATION", *(f"#{key}={header_text(value)}" for key, value in source.items())]
    table = table.assign(effect_weight=scores.weights[index][rows])
    if scores.frequency is not None:
        table = table.assign(allelefrequency_effect=scores.frequency[rows])
    if (table["rsID"] == ".").all():
        table = table.drop(columns="rsID")
    _write(path, table, head="\n".join(lines) + "\n")


def write_standard_errors(path: Path, scores: Scores, index: int) -> None:
    """Write the standard errors of one outcome's weights, ``.tsv.gz``, in the order of its scoring file."""
    table, rows = scores.rows(index)
    _write(path, table.drop(columns="rsID").assign(standard_error=scores.standard_errors[index][rows]))


def _write(path: Path, table: pd.DataFrame, *, head: str = "") -> None:
    write_table(path, table, (table[name].to_numpy() for name in table), head=head)


def _privacy(privacy_terms: Terms | None) -> dict[str, str]:
    """Return the lines of a header on privacy: the terms, or that there is none."""
    if privacy_terms is None:
        return {"dp_source": f"{BENCHMARK}: not private"}
    text = privacy_terms.as_text()
    lines = {f"dp_{name}": text[name] for name in DP_TERMS}
    return lines | {"privacy_statement": "privacy_statement.json"}


def file_rows(sites: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of scoring files on sites, in their order, and ``row``, the row in `sites`."""
    chromosome = sites["contig"].astype(str).str.removeprefix("chr")
    is_known = (
        sites["id"].astype(str).str.fullmatch(r"rs\d+") if "id" in sites else np.zeros(len(sites), bool)
    )
    table = pd.DataFrame(
        {
            "rsID": np.where(is_known, sites.get("id", "."), "."),
            "chr_name": chromosome.to_numpy(),
            "chr_position": sites["position"].to_numpy(),
            "effect_allele": sites["alt"].to_numpy(),
            "other_allele": sites["ref"].to_numpy(),
            "row": np.arange(len(sites)),
        }
    )
    rank = chromosome.map({name: rank for rank, name in enumerate(CHROMOSOMES)}).to_numpy()
    by = ["place", "chr_position", "other_allele", "effect_allele"]
    return table.assign(place=rank).sort_values(by, ignore_index=True).drop(columns="place")


def _require_names(outcomes: Sequence[str]) -> None:
    if not outcomes or len(set(outcomes)) < len(outcomes) or not all(outcomes):
        raise UsageError(
            "outcome-names-not-unique",
            "A release must name its outcomes, each once and none empty. Rename the columns.",
        )


def _require_finite(name: str, numbers: np.ndarray, shape: tuple[int, ...]) -> None:
    if numbers.shape != shape:
        raise UsageError(
            "weights-shape",
            f"The {name} must have shape {shape}, outcomes first, got {numbers.shape}. Fit again.",
        )
    if not np.isfinite(numbers).all():
        raise DpgrsError(
            "weights-not-finite",
            f"The {name} must be finite, got one that is not. Fit again with a larger lambda.",
        )


def _require_chosen(chosen: np.ndarray, weights: np.ndarray) -> None:
    n_outcomes, n_variants = weights.shape
    if chosen.ndim != 2 or len(chosen) != n_outcomes or not np.issubdtype(chosen.dtype, np.integer):
        raise UsageError(
            "chosen-variants-shape",
            f"The chosen variants must be rows of sites, as many for each of {n_outcomes} outcomes, got "
            f"{chosen.dtype} of shape {chosen.shape}. Fit again.",
        )
    is_ascending = (np.diff(chosen, axis=1) > 0).all()
    if not chosen.size or not is_ascending or chosen.min() < 0 or chosen.max() >= n_variants:
        raise UsageError(
            "chosen-variants-not-ascending",
            f"The chosen variants must be at least one and ascend within 0 to {n_variants - 1}, each once. "
            "Sort them.",
        )
    is_unchosen = np.ones(weights.shape, dtype=bool)
    np.put_along_axis(is_unchosen, chosen, False, axis=1)
    if weights[is_unchosen].any():
        raise DpgrsError(
            "weight-of-unchosen-variant",
            "A variant that was not chosen must have a weight of 0, got another. Fit again.",
        )


def _require_sites(sites: pd.DataFrame) -> None:
    if sites.empty:
        raise UsageError(
            "no-variants", "A release must hold at least one variant, got none. Raise `variants.size`."
        )
    chromosome = sites["contig"].astype(str).str.removeprefix("chr")
    alleles = sites[["ref", "alt"]].astype(str)
    is_letters = alleles.apply(lambda column: column.str.fullmatch("[ACGT]+")).all(axis=1)
    ref, alt = (alleles[name].to_numpy(dtype=object) for name in ("ref", "alt"))
    pair = {"first": np.minimum(ref, alt), "second": np.maximum(ref, alt)}
    unordered = pd.DataFrame({"chromosome": chromosome, "position": sites["position"]} | pair)
    problems = {
        "lie on chromosomes 1 to 22 or X": ~chromosome.isin(CHROMOSOMES),
        "have a position of at least 1": ~(sites["position"] >= 1),
        "have alleles of the letters A, C, G and T": ~is_letters,
        "have an ALT allele that differs from REF": alleles["ref"] == alleles["alt"],
        "be there once": unordered.duplicated(),
    }
    for rule, is_bad in problems.items():
        if is_bad.any():
            first = sites[is_bad].iloc[0]
            raise DpgrsError(
                "site-invalid",
                f"Every site of a scoring file must {rule}, got {first['contig']}:{first['position']}:"
                f"{first['ref']}:{first['alt']} ({is_bad.sum()} such). Leave it out of the public site list.",
            )


# Of weights in a file, zeros of variants that were not chosen included: some 80 MB of text.
MOST_WEIGHTS = 2**22
FOLDER = "plink2"


def write_plink_scores(folder: Path, scores: "Scores", *, most_weights: int = MOST_WEIGHTS) -> None:
    """Write the weights of all outcomes, as many outcomes in a file as fit, at least one.

    Columns are `ID`, chromosome, position and both alleles in alphabetical order, as plink2 names variants by
    ``--set-all-var-ids '@:#:$1:$2'`` whichever allele a target calls REF; `allele`, the effect allele; and
    the weights of each outcome, named as its scoring file is. A variant that was not chosen has weight 0.
    """
    (folder / FOLDER).mkdir()
    stems, n_variants = file_stems(scores.outcomes), len(scores.sites)
    n_outcomes = max(1, most_weights // n_variants)
    for number, first in enumerate(range(0, len(stems), n_outcomes), start=1):
        outcomes = range(first, min(first + n_outcomes, len(stems)))
        write_table(
            folder / FOLDER / f"scores_{number}.tsv.gz",
            ["ID", "allele", *stems[outcomes.start : outcomes.stop]],
            _columns(scores, outcomes),
        )


def _columns(scores: "Scores", outcomes: range) -> list[np.ndarray]:
    """Return the columns of a file, of the variants that any of its outcomes has a weight of."""
    sites = scores.all_rows
    if scores.chosen is not None:
        sites = sites[sites["row"].isin(scores.chosen[list(outcomes)].ravel())]
    effect, other, row = (sites[name].to_numpy() for name in ("effect_allele", "other_allele", "row"))
    site_columns = [
        sites["chr_name"],
        sites["chr_position"].astype(str),
        np.minimum(effect, other),
        np.maximum(effect, other),
    ]
    ids = np.array([":".join(cells) for cells in zip(*site_columns, strict=True)], dtype=object)
    return [ids, effect, *(scores.weights[index, row] for index in outcomes)]
