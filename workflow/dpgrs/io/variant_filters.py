"""The variants of a store that a study may take, and how many are left out for which reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpgrs.errors import UsageError
from dpgrs.genotypes.bits import bit_counts, genotype_counts, phases_swapped
from dpgrs.genotypes.hardy_weinberg import hardy_weinberg_p
from dpgrs.io.files import write_table
from dpgrs.io.haplotype_store import HaplotypeStore

CLASSES = ("snp", "indel")
DROP, KEEP = CHOICES = ("drop", "keep")
# Pairs for which no consumer can tell the strand of a file, and which most drop.
AMBIGUOUS = {"AT", "TA", "CG", "GC"}
# A variant counts for the first that holds.
REASONS = ("class", "multiallelic", "ambiguous", "missing", "maf", "hwe")
USABLE = len(REASONS)
# Where the setting has another name than the reason.
SETTINGS = {"class": "classes", "ld": "ld_r2"}
# As the reader of VCFs names what it skips.
SKIPPED = {
    "filtered": ("filtered",),
    "no_gt": ("no_gt",),
    "no_alt": ("no_alt",),
    "symbolic": ("symbolic_allele", "no_letters"),
    "star": ("star_allele",),
}

CALLS = ("call_rate", "least_call_rate", "half_calls")
# As much as a benchmark allows of a variant.
MUCH_MISSING = 0.05
HAPLOID = (
    "calls of one allele, as of males on X: with `cohort.rows: haplotypes` the second haplotype is missing; "
    "with `cohort.rows: people` a call `1` is whole, but half of `1/.` is missing "
    "(docs/explanation/ingest.md)"
)


@dataclass(frozen=True)
class VariantFilters:
    """The conditions of a variant that a study takes."""

    maf: float = 0.0  # in [0, 0.5], least minor-allele frequency
    missing: float = 1.0  # in [0, 1], largest share of unknown alleles; 1 allows any
    # In [0, 0.5], least mid-p of the exact test of Hardy-Weinberg equilibrium; 0 does not test
    hwe: float = 0.0
    ambiguous: str = KEEP  # `drop` or `keep` SNPs that read the same on both strands (A/T and C/G)
    multiallelic: str = KEEP  # `drop` or `keep` variants that share their position with another one
    # Of `snp` and `indel`; the latter is all that is longer than one letter
    classes: tuple[str, ...] = CLASSES

    def __post_init__(self) -> None:
        for name, top in (("maf", 0.5), ("missing", 1), ("hwe", 0.5)):
            setting = getattr(self, name)
            if not 0 <= setting <= top:
                raise UsageError(
                    "filter-out-of-range", f"`{name}` must be in [0, {top:g}], got {setting}. Correct it."
                )
        for name in ("ambiguous", "multiallelic"):
            setting = getattr(self, name)
            if setting not in CHOICES:
                raise UsageError(
                    "filter-choice-unknown",
                    f"`{name}` must be one of {', '.join(CHOICES)}, got {setting}. Take one of them.",
                )
        if not self.classes or not set(self.classes) <= set(CLASSES):
            got = ", ".join(self.classes) or "nothing"
            raise UsageError(
                "variant-class-unknown",
                f"`classes` must be among {', '.join(CLASSES)}, got {got}. Leave others out.",
            )


def measured(store: HaplotypeStore, frequency: np.ndarray, *, filters: VariantFilters) -> pd.DataFrame:
    """Return a store's variants with the measures that filters need.

    Columns: contig, position, id, ref, alt, frequency, `missing`, the share of unknown alleles, and, if the
    filters need them, `hwe`, mid-p values. The (n_variants,) frequency is of ALT among known alleles, NaN if
    none is known.
    """
    table = store.variants.assign(frequency=frequency, missing=missing_shares(store))
    if filters.hwe == 0:
        return table
    counts_by_chunk = [
        genotype_counts(store.haplotypes(chunk), store.missing(chunk), n_haplotypes=store.n_haplotypes)
        for chunk in store.chunks()
    ]
    return table.assign(hwe=np.concatenate([hardy_weinberg_p(counts) for counts in counts_by_chunk]))


def missing_shares(store: HaplotypeStore) -> np.ndarray:
    """Return the (n_variants,) float64 shares of a store's unknown alleles."""
    shares = np.zeros(store.n_variants)
    for chunk in store.chunks():
        missing = store.missing(chunk)
        if missing is not None:
            shares[chunk] = bit_counts(missing) / store.n_haplotypes
    return shares


def drop_reasons(variants: pd.DataFrame, *, filters: VariantFilters) -> np.ndarray:
    """Return for each variant the index of its first reason in `REASONS`, or `USABLE`, (n_variants,) int64.

    Variants have contig, position, ref, alt and frequency, as from `measured`; all records of a position must
    be there, or those of several ALT alleles cannot be recognised.
    """
    contig = variants["contig"].str.removeprefix("chr")
    pair = (variants["ref"] + variants["alt"]).str.upper()
    is_snp = pair.str.len() == 2
    of_class = {"snp": is_snp, "indel": ~is_snp}
    frequency = variants["frequency"].to_numpy()
    nothing = np.zeros(len(variants), dtype=bool)
    is_dropped = {
        "class": ~np.any([of_class[name] for name in filters.classes], axis=0),
        "multiallelic": _several(contig, variants["position"]) if filters.multiallelic == DROP else nothing,
        "ambiguous": pair.isin(AMBIGUOUS).to_numpy() if filters.ambiguous == DROP else nothing,
        "missing": variants["missing"].to_numpy() > filters.missing if "missing" in variants else nothing,
        # Where no allele is known, neither comparison holds.
        "maf": ~((frequency >= filters.maf) & (frequency <= 1 - filters.maf)),
        "hwe": variants["hwe"].to_numpy() < filters.hwe if "hwe" in variants else nothing,
    }
    return np.argmax([*(is_dropped[name] for name in REASONS), ~nothing], axis=0)


def _several(contig: pd.Series, position: pd.Series) -> np.ndarray:
    """Return which variants share their position with another one."""
    return pd.DataFrame({"contig": contig, "position": position}).duplicated(keep=False).to_numpy()


def count_reasons(
    contigs: Any, reasons: np.ndarray, *, is_linked: np.ndarray, is_kept: np.ndarray
) -> pd.DataFrame:
    """Count the fates of variants by chromosome, in the order of appearance.

    `contigs` are (n_variants,) str, `reasons` are from `drop_reasons`, and `is_linked` and `is_kept` are
    bool, of usable variants only. Columns: chromosome, rows, those of `REASONS`, ld, thinned and kept; `rows`
    is the sum of all that follow.
    """
    fate = np.where(is_kept, "kept", np.where(is_linked, "ld", "thinned"))
    fate = np.where(np.asarray(reasons) == USABLE, fate, np.array([*REASONS, ""])[reasons])
    chromosome = pd.Series(contigs, dtype="str").str.removeprefix("chr").to_numpy()
    columns = [*REASONS, "ld", "thinned", "kept"]
    counts = pd.crosstab(chromosome, fate).reindex(columns=columns, fill_value=0)
    counts = counts.reindex(pd.unique(pd.Series(chromosome)))
    counts.insert(0, "rows", counts.sum(axis=1))
    return counts.rename_axis("chromosome", axis=0).rename_axis(None, axis=1).reset_index()


def too_few(counts: pd.DataFrame, *, size: int, what: str, fix: str, fixed: Sequence[str] = ()) -> str:
    """Return the message that fewer variants are left than a study needs, with the settings to loosen.

    `counts` are from `count_reasons`; `what` passes the filters, `fix` helps beside loosening them, and no
    setting changes the reasons in `fixed`.
    """
    total = counts.drop(columns="chromosome").sum()
    n_kept, n_rows = int(total["kept"]), int(total["rows"])
    left_out = {name: int(total[name]) for name in (*REASONS, "ld") if total[name]}
    n_never = sum(left_out.pop(name, 0) for name in fixed)
    by = [f"{n:,} by `variants.{SETTINGS.get(name, name)}`" for name, n in left_out.items()]
    by += [f"{n_never:,} that no release takes (docs/how-to/qc.md)"] * (n_never > 0)
    sentences = [f"Left out are {', '.join(by)}."] * bool(by)
    sentences.append(f"Lower it, {'loosen these filters, ' if left_out else ''}or {fix}.")
    return (
        f"`variants.size` must be at most the number of {what} that pass all filters, {n_kept or 'none'} of "
        f"{n_rows:,}, got {size}. {' '.join(sentences)}"
    )


def with_records(counts: pd.DataFrame, stores: Sequence[HaplotypeStore]) -> pd.DataFrame:
    """Put the counts of records and of what was skipped while reading in front, and call rates last.

    `counts` are from `count_reasons`, of the chromosomes of the stores. A store without such counts has empty
    cells. The last columns are `CALLS`: the share of known alleles, the smallest of a variant, and the share
    of calls with one known allele of two.
    """
    records, calls = {}, {}
    for store in stores:
        ingest_counts = store.attributes.get("counts", {})
        skipped = ingest_counts.get("skipped", {})
        read = {
            name: sum(skipped.get(reason, 0) for reason in reasons) if ingest_counts else None
            for name, reasons in SKIPPED.items()
        }
        chromosome = store.variants["contig"].iloc[0].removeprefix("chr")
        n_records = ingest_counts.get("n_records")
        records[chromosome] = {"records": n_records, **read, "stored": store.n_variants}
        shares = missing_shares(store)
        rates = (1 - shares.mean(), 1 - shares.max(), _half_calls(store))
        calls[chromosome] = dict(zip(CALLS, rates, strict=True))
    table = pd.DataFrame.from_dict(records, orient="index").astype("Int64").rename_axis("chromosome")
    table = table.reset_index().merge(counts, on="chromosome")
    # Variants without any known allele may have been left out before they were counted.
    table["missing"] += table["stored"] - table["rows"]
    table = table.assign(rows=table["stored"]).drop(columns="stored")
    rates_by_chromosome = pd.DataFrame.from_dict(calls, orient="index").rename_axis("chromosome")
    return table.merge(rates_by_chromosome.reset_index(), on="chromosome")


def _half_calls(store: HaplotypeStore) -> float:
    """Return the share of calls of a store that have one known allele and one that is not."""
    planes = (store.missing(chunk) for chunk in store.chunks())
    n_alleles = sum(
        int(bit_counts(plane ^ phases_swapped(plane)).sum()) for plane in planes if plane is not None
    )
    return n_alleles / (store.n_variants * store.n_haplotypes)


def poorly_called(counts: pd.DataFrame) -> list[str]:
    """Return a line for each chromosome with more missing alleles than `MUCH_MISSING`, and the likely cause.

    `counts` are from `with_records`. These are exact numbers: only for benchmarks.
    """
    lines = []
    for row in counts[counts["call_rate"] < 1 - MUCH_MISSING].to_dict("records"):
        share = 1 - row["call_rate"]
        cause = HAPLOID if row["half_calls"] > share else "calls that were not made, or were masked"
        of_all = f"{100 * share:.0f} % of the alleles of chromosome {row['chromosome']}"
        lines.append(f"Missing: {of_all}. Likely cause: {cause}.")
    return lines


def write_counts(path: Path | str, counts: pd.DataFrame) -> None:
    """Write the fates of variants, with a last row of sums, and of all variants' call rates."""
    total = counts.drop(columns="chromosome").sum()
    if "call_rate" in counts:
        for name in ("call_rate", "half_calls"):
            total[name] = np.average(counts[name], weights=counts["rows"].astype(float))
        total["least_call_rate"] = counts["least_call_rate"].min()
    write_table(path, pd.concat([counts, pd.DataFrame([{"chromosome": "all", **total}])], ignore_index=True))
