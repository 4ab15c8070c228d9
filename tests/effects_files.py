"""Files of public effects, as the PGS Catalog and the GWAS Catalog hand them out."""

import gzip

HEADER = """###PGS CATALOG SCORING FILE - see https://www.pgscatalog.org/downloads/#dl_ftp_scoring
#format_version=2.0
##POLYGENIC SCORE (PGS) INFORMATION
#pgs_id=PGS999999
#genome_build={build}
#weight_type=beta
"""
SCORE = "rsID\tchr_name\tchr_position\teffect_allele\tother_allele\teffect_weight\n"
STATISTICS = (
    "chromosome\tbase_pair_location\teffect_allele\tother_allele\tbeta\tstandard_error"
    "\teffect_allele_frequency\tp_value\n"
)


def write_score(path, sites, weights, *, build="GRCh38"):
    """Write a scoring file of sites, a data frame of contig, position, ref and alt; weights are of ALT."""
    lines = [
        f".\t{one.contig.removeprefix('chr')}\t{one.position}\t{one.alt}\t{one.ref}\t{weight!r}\n"
        for one, weight in zip(sites.itertuples(), map(float, weights), strict=True)
    ]
    with gzip.open(path, "wt") if str(path).endswith(".gz") else open(path, "w") as file:  # noqa: PTH123
        file.write(HEADER.format(build=build) + SCORE + "".join(lines))


def write_statistics(path, sites, betas):
    """Write summary statistics of sites, whose betas are of ALT, as those of REF."""
    lines = [
        f"{one.contig.removeprefix('chr')}\t{one.position}\t{one.ref}\t{one.alt}\t{-beta!r}\t0.1\t0.5\t0.5\n"
        for one, beta in zip(sites.itertuples(), map(float, betas), strict=True)
    ]
    with open(path, "w") as file:  # noqa: PTH123
        file.write(STATISTICS + "".join(lines))
