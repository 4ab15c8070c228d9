"""Public files, what a release states, scores of other people, and jobs."""

from dataclasses import dataclass
from typing import Literal

from dpgrs.config.setting import Section, setting


@dataclass(frozen=True)
class PublicGenotypes(Section):
    """Statement that the genotypes of the study are public, for a release under label protection."""

    sha256: tuple[str, ...] = setting(
        (),
        "SHA-256 of each genotype file of `cohort` as it is published, in any order; for PLINK sets also of "
        "the tables beside them, and for a folder as docs/how-to/genotypes.md has it. For a release under "
        "`label` protection.",
        example=("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",),
        may_be_empty=True,
        max_items=10000,
        pattern=r"^[0-9a-f]{64}$",
        title="a SHA-256 in hexadecimal",
    )
    origin: str | None = setting(
        None,
        "Where anybody can get these files without asking, in words. Needed with them.",
        example="1000 Genomes Project phase 3",
    )


@dataclass(frozen=True)
class PublicOutcomes(Section):
    """Statement that the outcomes of the study are public, for a release under feature protection."""

    sha256: str | None = setting(
        None,
        "SHA-256 of `outcomes.file` as it is published. For a release under `feature` protection.",
        example="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        pattern=r"^[0-9a-f]{64}$",
        title="a SHA-256 in hexadecimal",
    )
    origin: str | None = setting(
        None,
        "Where anybody can get this table without asking, in words. Needed with it.",
        example="A public register of plant lines",
    )


@dataclass(frozen=True)
class Public(Section):
    """Public files that a release rests on. A release under `feature` or `label` protection takes the other
    side of the data as public and needs its `sha256` and `origin`, `privacy.neighbours: replace-one` and
    an account of that protection in the ledger; it takes no `people` lists, and under `label` no
    `covariates.file`. Under `feature` the table and the genotypes must be of the same people.
    """

    sites: str | None = setting(
        None,
        "Table of the public site list, with the columns contig, position, ref and alt, perhaps id and "
        "frequency. For `source: vcf`, this or `reference` is needed for a release.",
        example="sites.tsv",
        is_path=True,
    )
    frequencies: str | None = setting(
        None,
        "Table of public ALT allele frequencies, by contig, position, ref and alt, if `sites` has none.",
        example="frequencies.tsv",
        is_path=True,
    )
    reference: str | None = setting(
        None,
        "Path of the VCF, BCF, `.bed` or `.pgen` of a public reference panel, or a pattern as in "
        "`cohort.vcf`, from which sites and frequencies are taken, and linkage disequilibrium by `methods: "
        "blup-ld`. A simulated cohort brings its own.",
        example="reference/chr{chrom}.vcf.gz",
        is_path=True,
    )
    keep: str | None = setting(
        None,
        "Path of a list of sample ids, as `people.keep`, of the people of `reference` who are the public "
        "reference; null takes all of them. In a benchmark the cohort may be other people of the same files.",
        example="eur.txt",
        is_path=True,
    )
    same_ancestry: bool = setting(
        False,
        "Whether the people of `reference` are publicly known to be of the cohort's ancestry, as the "
        "reference of a simulated cohort is. If they are 500 or more, `blup-ld` models no difference between "
        "them and the cohort, `blup-genome` scales scores by their variance among them, and `methods: auto` "
        "releases no X'X.",
        example=True,
    )
    effects: tuple[str, ...] = setting(
        (),
        "Paths of public effects, from which `blup`, `blup-ld` and `blup-genome` start: scoring files of the "
        "PGS Catalog, not for `blup-genome`, or summary statistics in GWAS-SSF, not for `blup`. A file "
        "named after an outcome, such as `height.txt.gz`, is only for that outcome.",
        example=("PGS000001.txt.gz",),
        may_be_empty=True,
        max_items=10000,
        min_length=1,
        is_path=True,
    )
    subtract: tuple[str, ...] = setting(
        (),
        "Outcomes whose public score `blup-genome` subtracts from them before they are clipped, so that less "
        "noise is added. Each must have exactly one file of `effects` named after it, whose effects are per "
        "copy of an allele and in standard deviations of the outcome, as `outcomes.scales` states these. Not "
        "for 0/1 outcomes (docs/explanation/public_effects.md).",
        example=("height",),
        may_be_empty=True,
        max_items=1000,
        min_length=1,
    )
    origin: str | None = setting(
        None,
        "Source of the public sites and frequencies, in words. Needed with any of them.",
        example="1000 Genomes Project phase 3",
    )
    genotypes: PublicGenotypes
    outcomes: PublicOutcomes


@dataclass(frozen=True)
class Release(Section):
    """What the curator states of a release, printed in the bundle. Each key but `title` and `citation` is
    needed for a release, `preprocessing` if the data are real, `genome_build` if the cohort is not
    simulated.
    """

    title: str | None = setting(
        None, "Name of the release; null takes the name of the study.", example="Scores of height"
    )
    curator: str | None = setting(
        None,
        "Institution that answers for the release. Needed for a release.",
        example="University of Somewhere",
    )
    statistics: bool = setting(
        True,
        "Whether the bundle also holds the noisy statistics, to which anybody can fit other scores at no "
        "cost; for methods that have such statistics.",
        example=True,
    )
    preprocessing: str | None = setting(
        None,
        "Earlier processing of the data, with knowledge of them: calling, phasing, imputation, quality "
        "control, choice of people, outcomes and settings. The guarantee does not cover it. Needed for a "
        "release of real data.",
        example="Called jointly and phased with SHAPEIT5; no settings were tried on these people",
    )
    intended_use: str | None = setting(
        None,
        "Intended use of the scores. Needed for a release.",
        example="Research into the prediction of height",
    )
    data_use_terms: str | None = setting(
        None, "Terms that come with the data. Needed for a release.", example="General research use"
    )
    license: str | None = setting(None, "License of the scores. Needed for a release.", example="CC-BY-4.0")
    citation: str | None = setting(
        None, "Work that users of the scores are to cite.", example="doi:10.1000/example"
    )
    region: str | None = setting(
        None,
        "Region where the people come from, or whose law applies. Needed for a release.",
        example="Norway",
    )
    publication_date: str | None = setting(
        None,
        "Date of publication that the curator sets, never the date of a run. Needed for a release.",
        example="2026-11-21",
        pattern=r"^\d{4}-\d{2}-\d{2}$",
        title="a date such as 2026-11-21",
    )
    genome_build: Literal["GRCh37", "GRCh38"] | None = setting(
        None,
        "Genome build of the positions. Needed for a release of `source: vcf` or `plink`; a simulated cohort "
        "is GRCh38.",
        example="GRCh37",
    )
    audit_draws: int = setting(
        4000,
        "How often each mechanism of a release is run on each of two neighbouring synthetic inputs, to see "
        "that its noise is large enough, before anything is charged; 0 leaves this audit out.",
        example=16_000,
        minimum=0,
        maximum=1_000_000,
    )


@dataclass(frozen=True)
class Score(Section):
    """Scores applied to people by the target `score`, who need not be in the study
    (docs/how-to/score.md).
    """

    target: tuple[str, ...] = setting(
        (),
        "Paths of the genotypes to score, as VCF, BCF, `.bed` or `.pgen`, or patterns in which `{chrom}` "
        "stands for each of `cohort.chromosomes` and `*` for any text. Needed for the target `score`.",
        example=("others/chr*.vcf.gz",),
        may_be_empty=True,
        max_items=10000,
        min_length=1,
        is_path=True,
    )
    release: tuple[str, ...] = setting(
        (),
        "Paths of bundles of releases, of scoring files as of the PGS Catalog, or of folders of these. "
        "Without it, the study's own release, or the scores of `score.weights_of`.",
        example=("results/height/release",),
        may_be_empty=True,
        max_items=10000,
        min_length=1,
        is_path=True,
    )
    weights_of: str | None = setting(
        None,
        "Method of a benchmark whose weights of replicate 1 are applied, of the most variants and all "
        "outcomes. Needed for a benchmark without `score.release`.",
        example="ridge",
    )
    reference: tuple[str, ...] = setting(
        (),
        "Paths of a public panel, or patterns as in `score.target`, or the stores of a study. Scores are "
        "shown beside those of these people, as they are and adjusted for ancestry.",
        example=("panel/chr*.vcf.gz",),
        may_be_empty=True,
        max_items=10000,
        min_length=1,
        is_path=True,
    )
    components: int = setting(
        4,
        "Number of principal components of `score.reference` that adjust scores.",
        example=10,
        minimum=1,
        maximum=100,
    )
    populations: str | None = setting(
        None,
        "Path of a table that gives the population of each person to score, for the page.",
        example="others/samples.panel",
        is_path=True,
    )
    frequencies: str | None = setting(
        None,
        "Path of a table of public ALT allele frequencies, with which missing calls are filled.",
        example="results/height/public/sites.tsv",
        is_path=True,
    )
    genome_build: Literal["GRCh37", "GRCh38"] | None = setting(
        None, "Genome build of `score.target`, if its header does not state it.", example="GRCh37"
    )
    field: Literal["GT", "DS"] = setting(
        "GT", "Field that is read of a genotype: its call (`GT`) or its imputed dosage (`DS`).", example="DS"
    )
    duplicates: Literal["refuse", "first", "sum"] = setting(
        "refuse",
        "What counts if a score lists a variant again, also with its alleles swapped or from the other "
        "strand: `first`, its first row; `sum`, all its rows; `refuse` refuses the score.",
        example="sum",
    )
    min_matched: float = setting(
        0.75,
        "Least share of a score's variants that must be in the target.",
        example=0.5,
        minimum=0,
        maximum=1,
    )
    drop_ambiguous: bool = setting(
        False, "Leave A/T and C/G out, rather than take them as given.", example=True
    )


@dataclass(frozen=True)
class Scale(Section):
    """How a large study is cut into jobs (docs/measurements/scale.md). No result depends on it."""

    memory_per_job: int | None = setting(
        None,
        "Megabytes that a job may ask for, such as the memory of the largest node. A study with jobs that "
        "would ask for more is refused before any job, with their names. null takes the memory of the "
        "machine if jobs run on it, or the value of `--resources mem_mb=N`; on a cluster it refuses none. It "
        "changes the memory of no job.",
        example=64_000,
        minimum=1,
        maximum=1_000_000_000,
    )
    rows_per_shard: int = setting(
        262_144,
        "Largest number of rows whose statistics one job sums; the statistics of more rows are summed by "
        "several jobs, and added. Memory is bounded whatever the value.",
        example=65_536,
        minimum=64,
        maximum=8_388_608,
    )
