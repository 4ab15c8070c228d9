"""Records of public sites, whose alleles count by their letters in any order (docs/proofs/fixed_sites.md)."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from dpgrs.errors import DpgrsError
from dpgrs.io.chromosomes import chromosome_name
from dpgrs.io.variant_set_writer import site_names

# What files write for an allele that none of their people has.
_UNSEEN = ("0", ".")


def sites_of_chromosome(sites: pd.DataFrame, chromosome: str) -> pd.DataFrame:
    """Return the public sites on a chromosome, whatever the name of it."""
    return sites[sites["contig"].map(chromosome_name) == chromosome_name(chromosome)]


def rows_of_sites(records: pd.DataFrame, sites: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each record that has no other alleles than the two of a public site at its position.

    `records` of one chromosome have contig, position, id, ref and alt, and their number as index; `sites` are
    those of this chromosome. The result has record, contig, position, id, REF and ALT of the site, and as
    `allele` which allele of the record is that ALT: 0 the first, 1 the second. An allele that no person of
    the file has stands for the one of the site that the record does not name.
    """
    near = records[records["position"].isin(sites["position"])].rename_axis("record").reset_index()
    pairs = near.rename(columns={"ref": "first", "alt": "second"}).merge(
        sites[["position", "ref", "alt"]], on="position", validate="many_to_many"
    )
    number = alternate_of(*(pairs[name] for name in ("first", "second", "ref", "alt")))
    rows = pairs.assign(allele=number)[number >= 0].sort_values("record", kind="stable")
    return rows[["record", "contig", "position", "id", "ref", "allele", "alt"]].reset_index(drop=True)


def alternate_of(first: pd.Series, second: pd.Series, ref: pd.Series, alt: pd.Series) -> np.ndarray:
    """Return which allele of each record is ALT of its site, 0 or 1, or -1 if the record has another allele.

    Examples
    --------
    >>> records = pd.Series(["A", "C", "C", "C", "T"]), pd.Series(["C", "A", "0", "G", "G"])
    >>> alternate_of(*records, pd.Series(["A"] * 5), pd.Series(["C"] * 5)).tolist()
    [1, 0, 0, -1, -1]
    """
    first, second = first.str.upper(), second.str.upper()
    is_in_order = ((first == ref) | first.isin(_UNSEEN)) & ((second == alt) | second.isin(_UNSEEN))
    is_exchanged = ((first == alt) | first.isin(_UNSEEN)) & ((second == ref) | second.isin(_UNSEEN))
    # Where both are unseen all calls are missing, and either order will do.
    return np.select([is_in_order, is_exchanged], [1, 0], -1)


def require_one_record(paths: Iterable[Path], sites: pd.DataFrame, rows: pd.DataFrame) -> None:
    """Refuse files without a record of a public site, or with several, before genotypes are read."""
    site_key = ["position", "ref", "alt"]
    n_records = rows.groupby(site_key).size().reindex(pd.MultiIndex.from_frame(sites[site_key]), fill_value=0)
    for is_wrong, got, remedy in (
        (n_records == 0, "none", "Give unfiltered files, or public sites that are all in the files' list"),
        (n_records > 1, "several", "Leave all but one out, or take these out of the public sites"),
    ):
        if is_wrong.any():
            names = ", ".join(site_names(sites[is_wrong.to_numpy()])[:3])
            raise DpgrsError(
                "public-site-not-once",
                f"`{', '.join(map(str, paths))}` must have one record of each public site, without other "
                f"alleles, with `cohort.fixed_sites`, got {got} of {names} ({int(is_wrong.sum())} in all). "
                f"{remedy}.",
            )
