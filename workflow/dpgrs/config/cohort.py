"""The people and their genotypes, and which variants enter the score."""

from dataclasses import dataclass
from typing import Literal

from dpgrs.config.setting import Section, setting
from dpgrs.types import (
    Rows,
)


@dataclass(frozen=True)
class Dataset(Section):
    """The data that a release is about. The ledger counts by accession and consent group."""

    accession: str | None = setting(
        None, "Accession or name of the cohort, without a version. Needed for a release.", example="phs000001"
    )
    consent: str | None = setting(None, "Consent group. Needed for a release.", example="c1")
    version: str | None = setting(
        None,
        "Public label of the state of the data, genotypes and outcomes. Data that change need a new label, "
        "and are charged again. Needed for a release.",
        example="2026-11-01",
    )
    data_use: str | None = setting(
        None,
        "Data use limitation of the consent group, as dbGaP abbreviates it. Codes from `HMB` on (only health "
        "research) allow no results by population: `cohort.populations` is refused.",
        example="HMB-IRB",
    )
    sensitive: bool | None = setting(
        None,
        "Whether summary results of these data may not be public. `true` keeps a release from starting. "
        "Needed for a release of dbGaP data.",
        example=True,
    )
    approved_by: str | None = setting(
        None,
        "Data access committee that approved the use. Needed for a release of dbGaP data.",
        example="a data access committee",
    )
    dar_id: str | None = setting(
        None,
        "Number of the approved data access request. Needed for a release of dbGaP data.",
        example="12345",
    )
    approval_date: str | None = setting(
        None,
        "Date of the approval. Needed for a release of dbGaP data.",
        example="2026-01-31",
        pattern=r"^\d{4}-\d{2}-\d{2}$",
        title="a date such as 2026-11-21",
    )
    acknowledgement: str | None = setting(
        None,
        "Acknowledgement that the study asks for, printed in the statement, scores and pages. Needed for a "
        "release of dbGaP data.",
        example="The data were given by the study",
    )


@dataclass(frozen=True)
class Fetch(Section):
    """Addresses of public files that are not there yet. A release fetches nothing."""

    vcf: str | None = setting(
        None,
        "Address from which `cohort.vcf` is fetched if it is absent, with `{chrom}` if `cohort.vcf` has it.",
        example="https://example.org/phased/chr{chrom}.vcf.gz",
    )
    populations: str | None = setting(
        None,
        "Address from which `cohort.populations` is fetched if it is absent. If `cohort.populations` is "
        "null, the file is fetched to the folder of the fetched genotypes.",
        example="https://example.org/phased/samples.panel",
    )
    manifest: str | None = setting(
        None,
        "Address of the publisher's list of checksums. Only files on this list are fetched.",
        example="https://example.org/phased/md5sums.txt",
    )


@dataclass(frozen=True)
class Simulation(Section):
    """The simulated cohort, used only for `source: simulate`."""

    model: Literal[
        "OutOfAfrica_3G09",
        "OutOfAfrica_4J17",
        "OutOfAfrica_2T12",
        "Africa_1T12",
        "Africa_1B08",
        "AmericanAdmixture_4B18",
        "AshkSub_7G19",
        "OutOfAfricaArchaicAdmixture_5R19",
        "PapuansOutOfAfrica_10J19",
        "AncientEurasia_9K19",
    ] = setting(
        "OutOfAfrica_3G09",
        "Human demographic model of the stdpopsim catalogue with people sampled today.",
        example="OutOfAfrica_4J17",
    )
    people: int = setting(
        2504,
        "Number of people, spread evenly over the model's populations; each has two haplotypes.",
        example=500,
        minimum=2,
        maximum=10_000_000,
    )
    reference_people: int = setting(
        1000,
        "Number of people of a second, disjoint cohort under the same demography. A release takes its sites "
        "and frequencies from them; a benchmark does not use them.",
        example=500,
        minimum=2,
        maximum=10_000_000,
    )
    length: int = setting(
        1_000_000,
        "Number of bases simulated of each chromosome.",
        example=2_000_000,
        minimum=1000,
        maximum=10_000_000,
    )


@dataclass(frozen=True)
class Copies(Section):
    """For a benchmark, many people made from the few of the genotypes: mosaics of their haplotypes, which
    take their place in all that follows.
    """

    people: int | None = setting(
        None,
        "Number of people to make as copies of the people of the genotypes; null makes none and takes the "
        "people themselves.",
        example=100_000,
        minimum=2,
        maximum=10_000_000,
    )
    effective_size: float = setting(
        10_000,
        "Effective size of the populations. The larger it is, the shorter the stretches that are copied.",
        example=20_000,
        above=0,
        maximum=1_000_000_000,
    )
    mutation: float | None = setting(
        None,
        "Probability of another allele at a variant; null takes the value of Li and Stephens.",
        example=1e-05,
        minimum=0,
        below=1,
    )
    map: str | None = setting(
        None,
        "Path of a genetic map with the columns `position` and `cM`, or a pattern in which `{chrom}` stands "
        "for the chromosome; null assumes 1 cM a megabase.",
        example="maps/chr{chrom}.map",
        is_path=True,
    )


@dataclass(frozen=True)
class Cohort(Section):
    """The people and their genotypes."""

    source: Literal["simulate", "vcf", "plink", "bgen", "table"] = setting(
        "simulate",
        "Source of the rows: genotypes of a simulated cohort, of VCF or BCF files, of PLINK files or of BGEN "
        "files, or in a benchmark a `table` of real numbers.",
        example="vcf",
    )
    vcf: str | None = setting(
        None,
        "Path of the phased VCF, BCF or VCF Zarr, or a pattern in which `{chrom}` stands for the chromosome "
        "and `*` for any text, for a chromosome in several parts. Needed for `source: vcf`.",
        example="genotypes/chr{chrom}.vcf.gz",
        is_path=True,
    )
    plink: str | None = setting(
        None,
        "Path of the `.bed` (PLINK 1) or `.pgen` (PLINK 2), with or without that ending, or a pattern with "
        "`{chrom}` and `*` as in `cohort.vcf`. Needed for `source: plink`.",
        example="genotypes/chr{chrom}",
        is_path=True,
    )
    bgen: str | None = setting(
        None,
        "Path of the `.bgen` (BGEN 1.2 or 1.3), or a pattern with `{chrom}` and `*` as in `cohort.vcf`. "
        "Needed for `source: bgen`, which a release takes with `fixed_sites`.",
        example="genotypes/chr{chrom}.bgen",
        is_path=True,
    )
    part: bool = setting(
        False,
        "Whether these are the people of one centre of several. Such a release ends with their exact sums, "
        "for `dpgrs centre export`; it draws nothing, and needs neither ledger nor study key.",
        example=True,
    )
    sums: str | None = setting(
        None,
        "Path of the sums of several centres, from `dpgrs centre combine`, instead of genotypes and "
        "outcomes, in a release.",
        example="sums.npz",
        is_path=True,
    )
    table: str | None = setting(
        None,
        "Path of a table of numbers, one row a unit, as CSV, TSV, Parquet, `.npy` or `.npz`. Needed for "
        "`source: table`.",
        example="abalone.csv",
        is_path=True,
    )
    ranges: str | None = setting(
        None,
        "Path of a table of public ranges, with the columns `column`, `low` and `high`, and optionally "
        "`centre`. A `*` in a name stands for any text. Needed for `source: table`.",
        example="ranges.tsv",
        is_path=True,
    )
    id: str | None = setting(
        None, "Name of the table's column of row ids; null numbers the rows from 1.", example="sample"
    )
    arrays: tuple[str, ...] | None = setting(
        None, "Names of the arrays of an `.npz` to use; null uses all.", example=("x_test",), max_items=1000
    )
    one_hot: tuple[str, ...] | None = setting(
        None,
        "Columns of labels of a table in text or Parquet; each level becomes a column of 0 and 1.",
        example=("sex",),
        max_items=1000,
    )
    drop: tuple[str, ...] | None = setting(
        None,
        "Columns of the table to leave out, by names or patterns with `*`.",
        example=("note*",),
        max_items=1000,
    )
    chromosomes: tuple[str, ...] = setting(
        ("21", "22"),
        "Chromosomes to use, in this order. Names as in the VCF; a `chr` prefix is tolerated on either side. "
        "A simulated cohort has chromosomes 1 to 22.",
        example=("1", "2", "22"),
        max_items=1000,
        pattern=r"^[A-Za-z0-9._-]+$",
        title="a name of letters, digits, `.`, `_` and `-`",
    )
    rows: Rows = setting(
        "haplotypes",
        "One row of the genotype matrix: one haplotype (0/1) or one person (dosage 0/1/2).",
        example="people",
    )
    field: Literal["GT", "DS"] = setting(
        "GT",
        "Field that is read of a genotype: its call (`GT`) or its imputed dosage (`DS`; of a `.pgen`, its "
        "dosages). Dosages need `rows: people` and `privacy.bounds: tight`.",
        example="DS",
    )
    fixed_sites: bool = setting(
        False,
        "Statement of the curator, for a release from PLINK or BGEN files: these hold a fixed public list of "
        "variants, and each person's genotypes were written whatever those of the others. Nothing was "
        "filtered or chosen by these people: no frequency, Hardy-Weinberg, INFO or missingness, no pair of "
        "alleles. Alleles then count by their letters, and every public site must be in the files. It is "
        "printed in the bundle.",
        example=True,
    )
    in_turn: bool = setting(
        False,
        "Whether genotype files are there in turn. The files of a chromosome are needed until its store is "
        "made, and may then be removed. Otherwise all files must be there at every start. The path names "
        "one file for each chromosome, with its ending and without `*`.",
        example=True,
    )
    planned_people: int | None = setting(
        None,
        "Number of people that the curator plans for: a public choice, to be made before anything is "
        "counted, never the private number itself. `dpgrs plan` assumes it, `methods: auto` chooses by it, "
        "and the map of `blup-genome` is made for it. null takes the number of people of a simulated cohort "
        "or of copies, which is public.",
        example=80_000,
        minimum=2,
        maximum=10_000_000,
    )
    keep_filtered: bool = setting(
        False,
        "Keep records whose FILTER is neither `PASS` nor `.`; otherwise they are skipped and counted. A "
        "release keeps them, as its public sites decide.",
        example=True,
    )
    populations: str | None = setting(
        None,
        "Path of a table that gives the population of each sample, for R^2 by population. A simulated cohort "
        "brings its own table.",
        example="integrated_call_samples_v3.20130502.ALL.panel",
        is_path=True,
    )
    fetch: Fetch
    simulation: Simulation
    copies: Copies


@dataclass(frozen=True)
class Consent(Section):
    """Consent codes of people. A person who is not in the table, or has code 0 or none, is left out."""

    file: str | None = setting(
        None,
        "Path of a table of sample ids and consent codes, with names in its first line. Comments above it, "
        "as dbGaP writes them, are skipped.",
        example="consent.tsv",
        is_path=True,
    )
    column: str = setting("consent", "Name of the column of codes; case does not matter.", example="CONSENT")
    allow: tuple[str, ...] | None = setting(
        None,
        "Codes that let a person in. Needed with `file`; without it for `cohort.sums`, where each centre has "
        "a table.",
        example=("1", "2"),
        max_items=1000,
    )


@dataclass(frozen=True)
class People(Section):
    """Who of the people with genotypes is in the study, by fixed lists; without a list everybody is. The data
    of others never enter the store. docs/how-to/people.md says how.
    """

    keep: str | None = setting(
        None,
        "Path of a list of sample ids, one a line or in a column `sample` or `IID`; all other people are "
        "left out.",
        example="keep.txt",
        is_path=True,
    )
    remove: str | None = setting(
        None, "Path of such a list of people to leave out.", example="withdrawn.txt", is_path=True
    )
    consent: Consent
    related: str | None = setting(
        None,
        "Path of a list of people to leave out as relatives, or in a benchmark of a table of pairs as KING "
        "and `plink2 --make-king-table` write it, with columns `ID1` or `IID1`, `ID2` or `IID2`, and "
        "`KINSHIP`.",
        example="cohort.kin0",
        is_path=True,
    )
    kinship: float = setting(
        0.0884,
        "One person of each pair above this kinship is left out; 0.354, 0.177 and 0.0884 screen for twins, "
        "first and second degree.",
        example=0.177,
        above=0,
        maximum=0.5,
    )


@dataclass(frozen=True)
class Variants(Section):
    """The variants that enter the score, in the order of filters of docs/how-to/qc.md. In a release the
    filters use only the public reference; with `public.sites` in its place there are no public genotypes,
    and `missing`, `hwe` and `ld_r2` are refused.
    """

    size: tuple[int, ...] = setting(
        (100,),
        "Number of variants, or a list of numbers; smaller sets are part of larger ones. With `public.sites` "
        "the default is all of its sites that pass the filters.",
        example=(100, 400),
        max_items=100,
        minimum=1,
        maximum=10_000_000,
    )
    maf: float = setting(
        0.01,
        "Least minor-allele frequency, in the cohort or, for a release, in the public reference.",
        example=0.05,
        minimum=0,
        below=0.5,
    )
    missing: float = setting(
        0.05,
        "Largest share of missing alleles of a variant, in the cohort or, for a release, in the public "
        "reference; 1 allows any. Missing alleles of the variants that stay are filled with the more "
        "frequent allele. The default of a release is 1: only its public sites decide.",
        example=0.02,
        minimum=0,
        maximum=1,
    )
    hwe: float = setting(
        0,
        "Smallest mid-p value of the exact test of Hardy-Weinberg equilibrium over all people together; 0 "
        "does not test. A mixture of populations departs from equilibrium by itself, for which a very small "
        "value is right.",
        example=1e-50,
        minimum=0,
        below=0.5,
    )
    ld_r2: float | None = setting(
        None,
        "Largest r^2 between two variants of the study within `ld_window`, of alleles if rows are "
        "haplotypes, of allele counts if rows are people; null sets no limit.",
        example=0.2,
        minimum=0,
        maximum=1,
    )
    ld_window: float = setting(
        250, "Distance up to which `ld_r2` holds, in kilobases.", example=1000, above=0, maximum=1_000_000
    )
    ambiguous: Literal["drop", "keep"] = setting(
        "drop",
        "Whether SNPs that read the same on both strands (A/T and C/G) are left out (`drop`) or may enter "
        "(`keep`). A release drops them.",
        example="keep",
    )
    multiallelic: Literal["drop", "keep"] = setting(
        "drop",
        "Whether variants that share their position with another one, such as the variants of records with "
        "several ALT alleles, are left out (`drop`) or may enter (`keep`). A release drops them.",
        example="keep",
    )
    classes: tuple[Literal["snp", "indel"], ...] = setting(
        ("snp", "indel"),
        "Which variants may enter: single letters (`snp`) or longer alleles (`indel`); symbolic alleles are "
        "never read. A release takes only `snp`.",
        example="snp",
        max_items=100,
    )
