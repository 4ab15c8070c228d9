"""Public effects of variants: scoring files of the PGS Catalog, and summary statistics (GWAS-SSF).

Effects are matched by position and alleles, in the genome build of the study, and turned to the ALT allele.
Columns are known by the names of the two formats [1]_ [2]_.

References
----------
.. [1] https://www.pgscatalog.org/downloads/#dl_ftp_scoring
.. [2] https://github.com/EBISPOT/gwas-summary-statistics-standard
"""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.genome_builds import LENGTHS, BuildCheck
from dpgrs.io.known_positions import POSITIONS
from dpgrs.io.tables.tables import find_column, header_of, number_of, plain_name, remarks_of, rows_of

COLUMNS = {
    "contig": {"chr_name", "chromosome", "chrom", "chr"},
    "position": {"chr_position", "base_pair_location", "position", "pos"},
    "effect_allele": {"effect_allele"},
    "other_allele": {"other_allele", "reference_allele"},
    "weight": {"effect_weight"},
    "beta": {"beta"},
    "ratio": {"odds_ratio", "or", "hazard_ratio", "hr"},
    "id": {"rsid", "rs_id", "hm_rsid"},
}
# Of a harmonised file, in another build than its own.
HARMONISED = {"contig": {"hm_chr"}, "position": {"hm_pos"}}
NEEDED = {"contig": "chr_name", "position": "chr_position", "effect_allele": "effect_allele"}
BUILDS = {"hg19": "GRCh37", "hg38": "GRCh38", **{build.lower(): build for build in LENGTHS}}
# What a row may say of how its effect adds up; no score of single alleles has it.
NOT_ADDITIVE = ("is_haplotype", "is_diplotype", "is_interaction", "is_dominant", "is_recessive")
NOT_REPORTED = "NR"
COMPLEMENT = str.maketrans("ACGT", "TGCA")


@dataclass(frozen=True)
class EffectsFile:
    """A file whose names of columns are understood.

    Attributes
    ----------
    path : of the file.
    build : ``GRCh37``, ``GRCh38`` or None, of the study.
    columns : dict of the keys of `COLUMNS` to places.
    flags : list of int, places of the columns of `NOT_ADDITIVE`.
    """

    path: str
    build: str | None
    columns: dict
    flags: list

    @property
    def is_marginal(self):
        """Whether effects are of one variant at a time: a score alone has weights that go together."""
        return "weight" not in self.columns

    def rows(self):
        """Yield a dict for each row, of the cells of `columns`; those that are not additive are None."""
        rows = rows_of(self.path)
        header_of(rows, self.path)
        for _, cells in rows:
            if any(cells[place].lower() == "true" for place in self.flags):
                yield None
            else:
                yield {name: cells[place] for name, place in self.columns.items()}


def open_effects(path, *, build):
    """Look at the head of a file of effects.

    Parameters
    ----------
    path : the file, plain or gzipped.
    build : ``GRCh37``, ``GRCh38`` or None, where that of the study is not known.

    Returns
    -------
    EffectsFile

    Raises
    ------
    DpgrsError
        Missing or unreadable file, no column of a place, an allele or an effect, or another genome build.
    """
    remarks, columns = remarks_of(path), {}
    header = [plain_name(name) for name in header_of(rows_of(path), path)]
    named = COLUMNS
    if build and BUILDS.get(remarks.get("hmpos_build", "").lower()) == build:
        named = COLUMNS | HARMONISED
    else:
        stated = remarks.get("genome_build", "")
        if build and stated not in ("", NOT_REPORTED) and BUILDS.get(stated.lower()) != build:
            raise DpgrsError(
                f"`{path}` must be of the study's genome build, {build}, got {stated}. Take the file that is "
                "harmonised to that build."
            )
    for name, aliases in named.items():
        place = find_column(header, aliases)
        if place is not None:
            columns[name] = place
    lacking = [example for name, example in NEEDED.items() if name not in columns]
    lacking += [] if columns.keys() & {"weight", "beta", "ratio"} else ["effect_weight, beta or odds_ratio"]
    if lacking:
        raise DpgrsError(
            f"`{path}`: must name columns of place, allele and effect, got none for {', '.join(lacking)}. "
            "Take a scoring file of the PGS Catalog, or summary statistics in GWAS-SSF."
        )
    return EffectsFile(path, build, columns, [header.index(name) for name in NOT_ADDITIVE if name in header])


def match_effects(file, sites):
    """Read the effects of sites.

    Parameters
    ----------
    file : EffectsFile
    sites : DataFrame of n_sites rows: contig, position, ref and alt.

    Returns
    -------
    values : (n_sites,) float64, per copy of ALT, 0 where none is told. Odds and hazard ratios are logarithms.
    counts : dict of ``matched`` and, of what was left out at the place of a site, ``other alleles``,
        ``ambiguous`` (the same on both strands), ``repeated`` and ``without effect``.

    Raises
    ------
    DpgrsError
        As in `open_effects`; no site is matched, or known SNPs lie where another genome build has them.
    """
    places, known = defaultdict(list), []
    contigs = sites["contig"].astype(str).str.removeprefix("chr")
    for place, site in enumerate(zip(contigs, sites["position"].tolist(), strict=True)):
        places[site].append(place)
    alleles = list(zip(sites["ref"].str.upper(), sites["alt"].str.upper(), strict=True))
    values, times, counts = np.zeros(len(sites)), np.zeros(len(sites), dtype=int), Counter()
    for row in file.rows():
        if row is None or not row["position"].isdecimal():
            continue
        contig, position = row["contig"].removeprefix("chr"), int(row["position"])
        if position in POSITIONS and "id" in row:
            known.append((contig, position, row["id"]))
        for place in places.get((contig, position), ()):
            sign, effect = _sign(row, *alleles[place]), _effect(row)
            if isinstance(sign, str):
                counts[sign] += 1
            elif math.isnan(effect):
                counts["without effect"] += 1
            else:
                values[place], times[place] = sign * effect, times[place] + 1
    _check_build(file, known)
    counts |= {"matched": int((times == 1).sum()), "repeated": int((times > 1).sum())}
    if not counts["matched"]:
        raise DpgrsError(
            f"`{file.path}` must hold effects of the study's variants, got those of none of {len(sites)}. "
            "Take a file of the same chromosomes and genome build."
        )
    return np.where(times == 1, values, 0.0), dict(counts)


def describe_counts(counts, n_sites):
    """Say in words what was matched, from the counts of `match_effects`."""
    left_out = [f"{number} {name}" for name, number in sorted(counts.items()) if number and name != "matched"]
    words = f"{counts['matched']} of {n_sites} variants matched"
    return words + (f" (left out: {', '.join(left_out)})" if left_out else "")


def _sign(row, ref, alt):
    """Return 1 or -1 where the effect is of ALT or REF, or the reason why it is of neither."""
    effect, other = row["effect_allele"].upper(), row.get("other_allele", "").upper()
    if alt == ref.translate(COMPLEMENT):
        return "ambiguous"
    for ours in ((ref, alt), tuple(allele.translate(COMPLEMENT)[::-1] for allele in (ref, alt))):
        if effect in ours and other in (ours[effect == ours[0]], ""):
            return 1 if effect == ours[1] else -1
        if not other:
            break  # a single allele tells no strand
    return "other alleles"


def _effect(row):
    """Return the effect of a row, NaN where it has none."""
    for name in ("weight", "beta"):
        number = number_of(row.get(name, ""))
        if not math.isnan(number):
            return number
    ratio = number_of(row.get("ratio", ""))
    return math.log(ratio) if ratio > 0 else math.nan


def _check_build(file, known):
    """Refuse positions of another genome build."""
    if file.build not in LENGTHS or not known:
        return
    check = BuildCheck(file.path, file.build)
    check.add(dict(zip(("contig", "position", "id"), map(list, zip(*known, strict=True)), strict=True)))
    check.finish()
