"""Public sites: which variants a release may use, with frequencies that do not come from its cohort."""

import math

import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.files import write_table
from dpgrs.io.panel import alternate_frequency, site_names, thinning_rank
from dpgrs.io.tables import find_column, header_of, plain_name, rows_of

SITE_COLUMNS = ("contig", "position", "ref", "alt")
ALIASES = {
    "contig": {"contig", "chrom", "chromosome", "chr", "chr_name"},
    "position": {"position", "pos", "chr_position"},
    "ref": {"ref", "other_allele"},
    "alt": {"alt", "effect_allele"},
    "id": {"id", "rsid"},
    "frequency": {"frequency", "af", "alt_freqs", "alt_frequency"},
}
# Of these pairs no consumer can tell which strand a file means, and most drop them.
AMBIGUOUS = {"AT", "TA", "CG", "GC"}


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


def reference_sites(stores):
    """Take sites and frequencies from the stores of a public reference panel.

    Parameters
    ----------
    stores : list of HaplotypeStore

    Returns
    -------
    DataFrame as from `read_sites`; sites without any known allele are left out.
    """
    tables = [store.variants.assign(frequency=alternate_frequency(store)) for store in stores]
    return pd.concat(tables, ignore_index=True).dropna(subset="frequency")


def choose_sites(sites, *, chromosomes, size, maf, seed):
    """Choose the panel of a release from public sites: it costs no privacy.

    Left out are rare sites, sites of more than two alleles, alleles that are not one letter, and pairs that
    read the same on both strands, which consumers of scores drop. The rest is thinned at random, by name.

    Parameters
    ----------
    sites : DataFrame as from `read_sites`.
    chromosomes : list of str, in genome order; sites elsewhere are left out.
    size : int >= 1
    maf : float, least public minor-allele frequency.
    seed : int, public.

    Returns
    -------
    DataFrame of `size` sites in genome order, with their `rank` in the thinning order.

    Raises
    ------
    DpgrsError
        If fewer sites are left than `size`.
    """
    names = [str(chromosome).removeprefix("chr") for chromosome in chromosomes]
    contig = sites["contig"].str.removeprefix("chr")
    is_biallelic = ~pd.DataFrame({"contig": contig, "position": sites["position"]}).duplicated(keep=False)
    pair = sites["ref"] + sites["alt"]
    is_plain = pair.str.fullmatch("[ACGT]{2}") & ~pair.isin(AMBIGUOUS)
    is_common = sites["frequency"].between(maf, 1 - maf)
    usable = sites[contig.isin(names) & is_biallelic & is_plain & is_common]
    if size > len(usable):
        raise DpgrsError(
            f"`panel.size` must be at most {len(usable)}, the public sites on these chromosomes with two "
            f"plain alleles and a frequency of at least {maf:g}, got {size}. Lower it, or give more sites."
        )
    usable = usable.assign(rank=thinning_rank(site_names(usable), seed=seed))
    chosen = usable[usable["rank"] < size]
    order = chosen["contig"].str.removeprefix("chr").map(names.index)
    return chosen.assign(order=order).sort_values(["order", "position"], kind="stable").drop(columns="order")


def write_sites(path, sites):
    """Write chosen sites as a table."""
    write_table(path, sites[["contig", "position", "id", "ref", "alt", "frequency", "rank"]])


def read_chosen_sites(path):
    """Read what `write_sites` wrote."""
    text = dict.fromkeys(("contig", "id", "ref", "alt"), "str")
    return pd.read_csv(path, sep="\t", dtype=text, keep_default_na=False)


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
        site["position"] = _number(site["position"], "a position above 0", 1, math.inf, path, line)
        if needs_frequency:
            site["frequency"] = _number(site["frequency"], "a frequency from 0 to 1", 0, 1, path, line)
        key = tuple(site[name] for name in SITE_COLUMNS)
        if lines.setdefault(key, line) != line:
            raise DpgrsError(f"`{path}`, line {line}: lists the site of line {lines[key]} again. Remove one.")
        found.append(site)
    table = pd.DataFrame(found, columns=["contig", "position", "id", "ref", "alt", "frequency"])
    return table.astype({"position": "int64", "contig": "str", "ref": "str", "alt": "str", "id": "str"})


def _number(cell, domain, low, high, path, line):
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    if not low <= number <= high or math.isinf(number):
        raise DpgrsError(f"`{path}`, line {line}: must hold {domain}, got `{cell}`. Correct the cell.")
    return number
