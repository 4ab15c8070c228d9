"""Scores as PGS Catalog scoring files (format 2.0), in the subset that every known reader accepts [1]_.

Same scores, same bytes: files hold no time, name or host, and rows have one order.

References
----------
.. [1] https://www.pgscatalog.org/downloads/#dl_ftp_scoring
"""

import gzip
import hashlib
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError
from dpgrs.privacy.statement.content import Terms

FIRST_LINE = (
    "###PGS CATALOG SCORING FILE - see https://www.pgscatalog.org/downloads/#dl_ftp_scoring "
    "for additional information"
)
NOT_REPORTED = "NR"
BUILDS = ("GRCh37", "GRCh38")
CHROMOSOMES = (*map(str, range(1, 23)), "X")
LONGEST_STEM = 80
BENCHMARK = "benchmark"
DP_TERMS = ("epsilon", "delta", "protection", "unit", "neighbours")


@dataclass(frozen=True)
class Constants:
    """Predictions without any copy of an effect allele, in standard deviations, covariates at their centres.

    Attributes
    ----------
    of_person : (n_outcomes,) float64
    of_haplotype : (n_outcomes,) float64, where rows are haplotypes; else None.
    """

    of_person: np.ndarray
    of_haplotype: np.ndarray | None = None


@dataclass(frozen=True)
class Scores:
    """The weights of a release, checked and in the order of the files.

    Attributes
    ----------
    outcomes : tuple of n_outcomes str, public names.
    sites : DataFrame of n_variants rows with contig, position, ref, alt and id; further columns are ignored.
    weights : (n_outcomes, n_variants) float64, per copy of the ALT allele.
    constants : Constants, what makes a score a prediction.
    genome_build : ``GRCh37`` or ``GRCh38``.
    terms : Terms, those of the release; None of a benchmark.
    source : str, of the noise: ``release``, or ``benchmark``, which cannot be released.
    standard_errors : (n_outcomes, n_variants) float64 or None, of the weights.
    chosen : (n_outcomes, n_chosen) int64 or None, ascending rows of `sites`: the variants that were chosen in
        private for each outcome, which alone its files hold; None where they hold all.
    frequency : (n_variants,) float64 or None, of ALT in public people, by which missing calls are filled;
        never of the cohort.

    Raises
    ------
    DpgrsError
        If anything cannot be held by the format: another chromosome than 1 to 22 and X, an allele of other
        letters than A, C, G and T, a site that is there twice, a number that is not finite, a weight of a
        variant that was not chosen.
    """

    outcomes: tuple
    sites: pd.DataFrame
    weights: np.ndarray
    constants: Constants
    genome_build: str
    terms: Terms | None
    source: str
    standard_errors: np.ndarray | None = None
    chosen: np.ndarray | None = None
    frequency: np.ndarray | None = None

    def __post_init__(self):
        _require_names(self.outcomes)
        if self.genome_build not in BUILDS:
            raise UsageError(
                f"`release.genome_build` must be {' or '.join(BUILDS)}, got {self.genome_build}. Set it."
            )
        shape = (len(self.outcomes), len(self.sites))
        for name, numbers in (("weights", self.weights), ("standard errors", self.standard_errors)):
            if numbers is not None:
                _require_finite(name, np.asarray(numbers), shape)
        if self.standard_errors is not None and np.any(np.asarray(self.standard_errors) < 0):
            raise DpgrsError("The standard errors must be at least 0, got a negative one. Fit again.")
        for numbers in (self.constants.of_person, self.constants.of_haplotype):
            if numbers is not None:
                _require_finite("constants", np.asarray(numbers), shape[:1])
        _require_sites(self.sites)
        if self.chosen is not None:
            _require_chosen(np.asarray(self.chosen), np.asarray(self.weights))

    def rows(self, index):
        """Return what the files of an outcome hold, sites alone.

        Parameters
        ----------
        index : int, which outcome.

        Returns
        -------
        table : DataFrame of the columns that come before the weights, rsID first, in the order of the files.
        places : (n_rows,) int64, rows of `sites`.
        """
        table = self.all_rows
        if self.chosen is not None:
            table = table[table["row"].isin(self.chosen[index])]
        return table.drop(columns="row"), table["row"].to_numpy()

    def subset(self, index):
        """Return how the statement names the variants of an outcome's files: their number and site digest.

        It is empty where the files hold all variants.
        """
        if self.chosen is None:
            return {}
        sites = self.sites.iloc[self.chosen[index]]
        return {"n_variants": len(sites), "site_digest": site_digest(sites)}

    @cached_property
    def all_rows(self):
        """DataFrame of n_variants rows: what files of all variants say of each, and its `row` of `sites`."""
        return file_rows(self.sites)


def site_digest(sites):
    """Digest a list of sites, in whatever order: what a score's weights belong to.

    Parameters
    ----------
    sites : DataFrame with contig, position, ref and alt.

    Returns
    -------
    str, SHA-256 of the lines ``chr_name TAB chr_position TAB effect_allele TAB other_allele``, in the order
    of the scoring files.
    """
    rows = file_rows(sites)[["chr_name", "chr_position", "effect_allele", "other_allele"]]
    return hashlib.sha256(_table_text(rows).encode()).hexdigest()


def in_file_order(sites):
    """Return sites, a DataFrame as in `Scores`, in the order of the scoring files."""
    return sites.iloc[file_rows(sites)["row"]].reset_index(drop=True)


def file_stems(names):
    """Turn names of outcomes into names of files: safe on every system, and never two alike.

    Parameters
    ----------
    names : sequence of different str.

    Returns
    -------
    list of str of ASCII letters, digits, ``.``, ``_`` and ``-``. Names that would share a file, also where
    case is ignored, get a digest of theirs.

    Examples
    --------
    >>> file_stems(["height", "LDL/HDL ratio"])
    ['height', 'LDL_HDL_ratio']
    >>> file_stems(["a/b", "A b"])
    ['a_b-c14cddc0', 'A_b-a760b0e1']
    """
    stems = [_clean_stem(name) for name in names]
    n_alike = Counter(stem.casefold() for stem in stems)
    return [
        stem if n_alike[stem.casefold()] == 1 else f"{stem}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        for stem, name in zip(stems, names, strict=True)
    ]


def format_weight(weight):
    """Write a number as the shortest plain decimal that reads back as the same float64.

    Examples
    --------
    >>> format_weight(-1.5e-7), format_weight(-0.0)
    ('-0.00000015', '0')
    """
    return np.format_float_positional(weight + 0.0, unique=True, trim="-")  # + 0.0: no minus zero


def header_text(value):
    """Make a text fit for a header line: one line, and no ``=``, at which readers split."""
    printable = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in str(value))
    return " ".join(printable.replace("=", ":").split()) or NOT_REPORTED


def write_scoring_file(
    path, scores, index, *, pgs_id, citation, license_text, acknowledgement="", trait=None
):
    """Write the score of one outcome.

    Parameters
    ----------
    path : the file, ``.txt.gz``.
    scores : Scores
    index : int, which outcome.
    pgs_id : str, a name of the score, as the Catalog has given it none.
    citation, license_text, acknowledgement : str; no line is written for an empty acknowledgement.
    trait : dict of what the outcome is, from `dpgrs.release.traits.read_traits`, or None.
    """
    (table, places), trait = scores.rows(index), trait or {}
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
    table = table.assign(effect_weight=_column(scores.weights[index], places))
    if scores.frequency is not None:
        table = table.assign(allelefrequency_effect=_column(scores.frequency, places))
    if (table["rsID"] == ".").all():
        table = table.drop(columns="rsID")
    write_gzip(path, "\n".join(lines) + "\n" + _table_text(table, header=True))


def write_standard_errors(path, scores, index):
    """Write the standard errors of one outcome's weights, in the order of its scoring file.

    Parameters
    ----------
    path : the file, ``.tsv.gz``.
    scores : Scores, with standard errors.
    index : int, which outcome.
    """
    table, places = scores.rows(index)
    table = table.drop(columns="rsID")
    table = table.assign(standard_error=_column(scores.standard_errors[index], places))
    write_gzip(path, _table_text(table, header=True))


def _privacy(terms):
    """Return what a head says of privacy: the terms, or that there is none."""
    if terms is None:
        return {"dp_source": f"{BENCHMARK}: not private"}
    text = terms.as_text()
    told = {f"dp_{name}": text[name] for name in DP_TERMS}
    return told | {"privacy_statement": "privacy_statement.json"}


def file_rows(sites):
    """Return what scoring files say of sites, in their order, and the place of each in `sites`, ``row``."""
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
    place = chromosome.map({name: place for place, name in enumerate(CHROMOSOMES)}).to_numpy()
    by = ["place", "chr_position", "other_allele", "effect_allele"]
    return table.assign(place=place).sort_values(by, ignore_index=True).drop(columns="place")


def _column(numbers, order):
    return [format_weight(number) for number in np.asarray(numbers, dtype=float)[order]]


def _table_text(table, *, header=False):
    return table.to_csv(sep="\t", index=False, header=header, lineterminator="\n")


def write_gzip(path, text):
    """Write a text, gzipped without a name and a time."""
    with path.open("wb") as raw, gzip.GzipFile("", "wb", compresslevel=9, fileobj=raw, mtime=0) as file:
        file.write(text.encode())


def _clean_stem(name):
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9._-]+", "_", ascii_name).strip("._-")[:LONGEST_STEM] or "outcome"


def _require_names(outcomes):
    if not outcomes or len(set(outcomes)) < len(outcomes) or not all(outcomes):
        raise UsageError("A release must name its outcomes, each once and none empty. Rename the columns.")


def _require_finite(name, numbers, shape):
    if numbers.shape != shape:
        raise UsageError(
            f"The {name} must have shape {shape}, outcomes first, got {numbers.shape}. Fit again."
        )
    if not np.isfinite(numbers).all():
        raise DpgrsError(f"The {name} must be finite, got one that is not. Fit again with a larger lambda.")


def _require_chosen(chosen, weights):
    n_outcomes, n_variants = weights.shape
    if chosen.ndim != 2 or len(chosen) != n_outcomes or not np.issubdtype(chosen.dtype, np.integer):
        raise UsageError(
            f"The chosen variants must be rows of sites, as many for each of {n_outcomes} outcomes, got "
            f"{chosen.dtype} of shape {chosen.shape}. Fit again."
        )
    is_ascending = (np.diff(chosen, axis=1) > 0).all()
    if not chosen.size or not is_ascending or chosen.min() < 0 or chosen.max() >= n_variants:
        raise UsageError(
            f"The chosen variants must be at least one and ascend within 0 to {n_variants - 1}, each once. "
            "Sort them."
        )
    others = np.ones(weights.shape, dtype=bool)
    np.put_along_axis(others, chosen, False, axis=1)
    if weights[others].any():
        raise DpgrsError("A variant that was not chosen must have a weight of 0, got another. Fit again.")


def _require_sites(sites):
    if sites.empty:
        raise UsageError("A release must hold at least one variant, got none. Raise `variants.size`.")
    chromosome = sites["contig"].astype(str).str.removeprefix("chr")
    alleles = sites[["ref", "alt"]].astype(str)
    is_letters = alleles.apply(lambda column: column.str.fullmatch("[ACGT]+")).all(axis=1)
    pair = pd.Series(["/".join(sorted(pair)) for pair in alleles.itertuples(index=False)], index=sites.index)
    sites_of = pd.DataFrame({"chromosome": chromosome, "position": sites["position"], "pair": pair})
    problems = {
        "lie on chromosomes 1 to 22 or X": ~chromosome.isin(CHROMOSOMES),
        "have a position of at least 1": ~(sites["position"] >= 1),
        "have alleles of the letters A, C, G and T": ~is_letters,
        "have an ALT allele that differs from REF": alleles["ref"] == alleles["alt"],
        "be there once": sites_of.duplicated(),
    }
    for rule, is_bad in problems.items():
        if is_bad.any():
            first = sites[is_bad].iloc[0]
            raise DpgrsError(
                f"Every site of a scoring file must {rule}, got {first['contig']}:{first['position']}:"
                f"{first['ref']}:{first['alt']} ({is_bad.sum()} such). Leave it out of the public site list."
            )
