"""Public sites: which variants a release may use, with frequencies that do not come from its cohort."""

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError, UsageError, shown
from dpgrs.io.chromosomes import chromosome_name
from dpgrs.io.files import read_table, write_table
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
from dpgrs.io.variant_set import alternate_frequency, site_names

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


def read_sites(path, *, frequencies=None):
    """Read a table of public sites.

    Parameters
    ----------
    path : the file, with columns `contig`, `position`, `ref`, `alt`, perhaps `id` and `frequency` (of ALT);
        common other names, such as those of a VCF, are understood.
    frequencies : path of a table with the same columns and `frequency`, which it is then taken from.

    Returns
    -------
    DataFrame of contig, position, id, ref, alt and frequency, as in the file.

    Raises
    ------
    DpgrsError
        Missing or unreadable file, missing columns, a cell that is no position or no frequency, a site that
        is listed twice or has no frequency.
    """
    sites = _read(path, needs_frequency=frequencies is None)
    if frequencies is not None:
        known = _read(frequencies, needs_frequency=True)
        known = pd.Series(known["frequency"].to_numpy(), index=site_names(known))
        sites["frequency"] = known.reindex(site_names(sites)).to_numpy()
        unknown = int(sites["frequency"].isna().sum())
        if unknown:
            raise DpgrsError(
                f"`{frequencies}` must hold the frequency of every site of `{path}`, got none for {unknown}. "
                "Add them, or take the sites out."
            )
    return sites


def reference_sites(stores, *, filters=None):
    """Take sites and frequencies from the stores of a public reference panel.

    Parameters
    ----------
    stores : list of HaplotypeStore
    filters : VariantFilters, which may ask for more than frequencies.

    Returns
    -------
    DataFrame as from `read_sites`, with the place of the `store` and the `row` in it, and what the filters
    ask for; sites without any known allele are left out.
    """
    filters = filters or VariantFilters()
    tables = [
        measured(store, alternate_frequency(store), filters=filters).assign(
            store=place, row=range(store.n_variants)
        )
        for place, store in enumerate(stores)
    ]
    return pd.concat(tables, ignore_index=True).dropna(subset="frequency")


def choose_sites(sites, *, chromosomes, size, maf, seed, stores=(), linkage=None, **filters):
    """Choose the variant set of a release from public sites: it costs no privacy.

    Left out are rare sites, sites of more than two alleles, alleles that are not one letter, and pairs that
    read the same on both strands, which consumers of scores drop. The rest is thinned at random, by name.

    Parameters
    ----------
    sites : DataFrame as from `read_sites` or `reference_sites`.
    chromosomes : list of str, in genome order; sites elsewhere are left out.
    size : int >= 1
    maf : float, least public minor-allele frequency.
    seed : int, public.
    stores : list of HaplotypeStore, of the public reference, where the sites are from one.
    linkage : LinkageLimit on these stores, or None.
    **filters : other fields of `VariantFilters`, which the sites must have been measured for.

    Returns
    -------
    chosen : DataFrame of `size` sites in genome order, with their `rank` in the thinning order.
    counts : DataFrame, what became of all sites of the chromosomes.

    Raises
    ------
    DpgrsError
        If fewer sites are left than `size`.
    UsageError
        A filter that needs genotypes, of sites without.
    """
    filters = VariantFilters(maf=maf, **filters | RELEASED)
    if not stores and (linkage or filters.missing < 1 or filters.hwe > 0):
        raise UsageError(
            "`missing`, `hwe` and `ld_r2` need genotypes, got a table of sites. Give stores of a reference."
        )
    names = [chromosome_name(str(chromosome)) for chromosome in chromosomes]
    sites = sites[sites["contig"].map(chromosome_name).isin(names)]
    reasons = drop_reasons(sites, filters=filters)
    is_plain = (sites["ref"] + sites["alt"]).str.fullmatch("[ACGT]{2}").to_numpy()
    reasons[~is_plain] = REASONS.index("class")
    usable = sites[reasons == USABLE]
    rank, is_linked = thin(usable, stores, size=size, seed=seed, linkage=linkage)
    is_chosen = rank >= 0
    fate = np.zeros((2, len(sites)), dtype=bool)
    fate[:, reasons == USABLE] = is_linked, is_chosen
    counts = count_reasons(sites["contig"], reasons, is_linked=fate[0], is_kept=fate[1])
    if size > is_chosen.sum():
        what, never = "public sites on these chromosomes", ("class", "multiallelic", "ambiguous")
        raise DpgrsError(too_few(counts, size=size, what=what, fix="give more sites", fixed=never))
    chosen = usable.assign(rank=rank)[is_chosen]
    order = chosen["contig"].map(chromosome_name).map(names.index)
    chosen = (
        chosen.assign(order=order).sort_values(["order", "position"], kind="stable").drop(columns="order")
    )
    return chosen, with_records(counts, stores) if stores else counts


def write_sites(path, sites):
    """Write chosen sites as a table."""
    write_table(path, sites[SITE_FILE_COLUMNS])


def read_chosen_sites(path):
    """Read what `write_sites` wrote."""
    text = dict.fromkeys(("contig", "id", "ref", "alt"), "str")
    return read_table(path, needed=SITE_FILE_COLUMNS, dtype=text, keep_default_na=False)


def _read(path, *, needs_frequency):
    rows = rows_of(path)
    header = [plain_name(name) for name in header_of(rows, path)]
    places = {name: find_column(header, aliases) for name, aliases in ALIASES.items()}
    needed = (*SITE_COLUMNS, "frequency") if needs_frequency else SITE_COLUMNS
    missing = [name for name in needed if places[name] is None]
    if missing:
        raise DpgrsError(
            f"`{path}`, line 1: must name the columns {', '.join(needed)}, got none for "
            f"{', '.join(missing)}. Add them."
        )
    found, lines = [], {}
    for line, cells in rows:
        site = {name: "." if place is None else cells[place] for name, place in places.items()}
        site["position"] = _number(site["position"], "a position above 0", 1, LAST_POSITION, path, line)
        if needs_frequency:
            site["frequency"] = _number(site["frequency"], "a frequency from 0 to 1", 0, 1, path, line)
        if site["ref"].upper() == site["alt"].upper():
            raise DpgrsError(
                f"`{path}`, line {line}: must have an ALT other than REF, got the same. Mend the line."
            )
        key = tuple(site[name] for name in SITE_COLUMNS)
        if lines.setdefault(key, line) != line:
            raise DpgrsError(f"`{path}`, line {line}: lists the site of line {lines[key]} again. Remove one.")
        found.append(site)
    table = pd.DataFrame(found, columns=["contig", "position", "id", "ref", "alt", "frequency"])
    return table.astype({"position": "int64", "contig": "str", "ref": "str", "alt": "str", "id": "str"})


def _number(cell, domain, low, high, path, line):
    number = number_of(cell)
    if not low <= number <= high or (high == LAST_POSITION and not number.is_integer()):
        raise DpgrsError(f"`{path}`, line {line}: must hold {domain}, got `{shown(cell)}`. Correct the cell.")
    return number
