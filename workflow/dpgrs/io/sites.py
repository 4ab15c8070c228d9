"""Public sites: the variants that a release may use, with frequencies that do not come from its cohort."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError, shown
from dpgrs.genotypes.linkage import LinkageLimit
from dpgrs.io.chromosomes import chromosome_name
from dpgrs.io.files import read_table, write_table
from dpgrs.io.haplotype_store import HaplotypeStore
from dpgrs.io.selection import thin
from dpgrs.io.tables.tables import find_column, header_of, number_of, plain_name, rows_of
from dpgrs.io.variant_filters import (
    DROP,
    REASONS,
    USABLE,
    VariantFilters,
    count_reasons,
    drop_reasons,
    measured,
    too_few,
    with_records,
)
from dpgrs.io.variant_set_writer import alternate_frequency, site_names

SITE_COLUMNS = ("contig", "position", "ref", "alt")
LAST_POSITION = 2**31 - 1
SITE_FILE_COLUMNS = ["contig", "position", "id", "ref", "alt", "frequency", "rank"]
ALIASES = {
    "contig": {"contig", "chrom", "chromosome", "chr", "chr_name"},
    "position": {"position", "pos", "chr_position"},
    "ref": {"ref", "other_allele"},
    "alt": {"alt", "effect_allele"},
    "id": {"id", "rsid"},
    "frequency": {"frequency", "af", "alt_freqs", "alt_frequency"},
}
# What consumers of scores drop is never released.
RELEASED = {"ambiguous": DROP, "multiallelic": DROP, "classes": ("snp",)}


def read_sites(path: Path | str, *, frequencies: Path | str | None = None) -> pd.DataFrame:
    """Return public sites as in a file: contig, position, id, ref, alt and frequency (of ALT).

    The file has columns of these names, perhaps without `id` and `frequency`; common other names, such as
    in a VCF, are understood. `frequencies` is a table with the same columns, whose `frequency` is then
    used. A site that is listed twice or has no frequency is refused.
    """
    sites = _read(path, needs_frequency=frequencies is None)
    if frequencies is not None:
        table = _read(frequencies, needs_frequency=True)
        by_name = pd.Series(table["frequency"].to_numpy(), index=site_names(table))
        sites["frequency"] = by_name.reindex(site_names(sites)).to_numpy()
        unknown = int(sites["frequency"].isna().sum())
        if unknown:
            raise DpgrsError(
                "site-frequency-missing",
                f"`{frequencies}` must hold the frequency of every site of `{path}`, got none for {unknown}. "
                "Add them, or take the sites out.",
            )
    return sites


def reference_sites(
    stores: Sequence[HaplotypeStore], *, filters: VariantFilters | None = None
) -> pd.DataFrame:
    """Return sites and frequencies of the stores of a public reference panel, as `read_sites` does.

    The table also has the number of the `store` and the `row` in it, and the measures that the filters need;
    sites without any known allele are left out.
    """
    filters = filters or VariantFilters()
    tables = [
        measured(store, alternate_frequency(store), filters=filters).assign(
            store=number, row=range(store.n_variants)
        )
        for number, store in enumerate(stores)
    ]
    return pd.concat(tables, ignore_index=True).dropna(subset="frequency")


def choose_sites(
    sites: pd.DataFrame,
    *,
    chromosomes: Sequence[str],
    size: int,
    maf: float,
    seed: int,
    stores: Sequence[HaplotypeStore] = (),
    linkage: LinkageLimit | None = None,
    **filters: Any,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Choose the variant set of a release from public sites: it costs no privacy.

    Left out are rare sites (minor-allele frequency below `maf`), sites of more than two alleles, alleles that
    are not one letter, and pairs that read the same on both strands, which consumers of scores drop. The rest
    is thinned at random, by name and a public seed.

    Sites are from `read_sites`, or from `reference_sites` with their stores. Chromosomes are in genome order;
    sites elsewhere are left out. `filters` are other fields of `VariantFilters`, which the sites must have
    been measured for.

    Return `size` sites in genome order, with their `rank` in the thinning order, and the counts of all sites
    of the chromosomes by fate. Fewer sites than `size` raise a DpgrsError.
    """
    conditions = VariantFilters(maf=maf, **filters | RELEASED)
    if not stores and (linkage or conditions.missing < 1 or conditions.hwe > 0):
        raise UsageError(
            "filters-need-genotypes",
            "`missing`, `hwe` and `ld_r2` need genotypes, got a table of sites. Give stores of a reference.",
        )
    sites, reasons = usable_sites(sites, chromosomes, maf=maf, **filters)
    usable = sites[reasons == USABLE]
    rank, is_linked = thin(usable, stores, size=size, seed=seed, linkage=linkage)
    is_chosen = rank >= 0
    fate = np.zeros((2, len(sites)), dtype=bool)
    fate[:, reasons == USABLE] = is_linked, is_chosen
    counts = count_reasons(sites["contig"], reasons, is_linked=fate[0], is_kept=fate[1])
    if size > is_chosen.sum():
        what, never = "public sites on these chromosomes", ("class", "multiallelic", "ambiguous")
        raise DpgrsError(
            "too-few-variants", too_few(counts, size=size, what=what, fix="give more sites", fixed=never)
        )
    chosen = usable.assign(rank=rank)[is_chosen]
    names = [chromosome_name(str(chromosome)) for chromosome in chromosomes]
    order = chosen["contig"].map(chromosome_name).map(names.index)
    chosen = (
        chosen.assign(order=order).sort_values(["order", "position"], kind="stable").drop(columns="order")
    )
    return chosen, with_records(counts, stores) if stores else counts


def usable_sites(
    sites: pd.DataFrame, chromosomes: Sequence[str], **filters: Any
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the public sites of some chromosomes, and for each the index of the reason to leave it out, or
    `USABLE`.

    Sites and filters are as in `choose_sites`; the reasons are (n_sites,) int64.
    """
    names = [chromosome_name(str(chromosome)) for chromosome in chromosomes]
    sites = sites[sites["contig"].map(chromosome_name).isin(names)]
    reasons = drop_reasons(sites, filters=VariantFilters(**filters | RELEASED))
    is_plain = (sites["ref"] + sites["alt"]).str.fullmatch("[ACGT]{2}").to_numpy()
    reasons[~is_plain] = REASONS.index("class")
    return sites, reasons


def write_sites(path: Path | str, sites: pd.DataFrame) -> None:
    """Write chosen sites as a table."""
    write_table(path, sites[SITE_FILE_COLUMNS])


def read_chosen_sites(path: Path | str) -> pd.DataFrame:
    """Read what `write_sites` wrote."""
    text = dict.fromkeys(("contig", "id", "ref", "alt"), "str")
    return read_table(path, required=SITE_FILE_COLUMNS, dtype=text, keep_default_na=False)


def _read(path: Path | str, *, needs_frequency: bool) -> pd.DataFrame:
    rows = rows_of(path)
    header = [plain_name(name) for name in header_of(rows, path)]
    columns = {name: find_column(header, aliases) for name, aliases in ALIASES.items()}
    required = (*SITE_COLUMNS, "frequency") if needs_frequency else SITE_COLUMNS
    missing = [name for name in required if columns[name] is None]
    if missing:
        raise DpgrsError(
            "site-columns-missing",
            f"`{path}`, line 1: must name the columns {', '.join(required)}, got none for "
            f"{', '.join(missing)}. Add them.",
        )
    sites, lines = [], {}
    for line, cells in rows:
        site = {name: "." if column is None else cells[column] for name, column in columns.items()}
        site["position"] = _number(site["position"], "a position above 0", 1, LAST_POSITION, path, line)
        if needs_frequency:
            site["frequency"] = _number(site["frequency"], "a frequency from 0 to 1", 0, 1, path, line)
        if site["ref"].upper() == site["alt"].upper():
            raise DpgrsError(
                "alleles-equal",
                f"`{path}`, line {line}: must have an ALT other than REF, got the same. Mend the line.",
            )
        key = tuple(site[name] for name in SITE_COLUMNS)
        if lines.setdefault(key, line) != line:
            raise DpgrsError(
                "site-twice", f"`{path}`, line {line}: lists the site of line {lines[key]} again. Remove one."
            )
        sites.append(site)
    table = pd.DataFrame(sites, columns=["contig", "position", "id", "ref", "alt", "frequency"])
    return table.astype({"position": "int64", "contig": "str", "ref": "str", "alt": "str", "id": "str"})


def _number(cell: str, domain: str, low: int, high: int, path: Path | str, line: int) -> float:
    number = number_of(cell)
    if not low <= number <= high or (high == LAST_POSITION and not number.is_integer()):
        raise DpgrsError(
            "cell-out-of-domain",
            f"`{path}`, line {line}: must hold {domain}, got `{shown(cell)}`. Correct the cell.",
        )
    return number
