"""The settings that name files."""

# Patterns of genotype files, one for each `cohort.source` that is read from such files.
SOURCES = ("vcf", "plink", "bgen")
PATTERN_KEYS = tuple(f"cohort.{source}" for source in SOURCES)
PATHS = (
    *PATTERN_KEYS,
    "cohort.sums",
    "cohort.table",
    "cohort.ranges",
    "cohort.populations",
    "cohort.copies.map",
    "people.keep",
    "people.remove",
    "people.consent.file",
    "people.related",
    "outcomes.file",
    "outcomes.scales",
    "outcomes.loadings",
    "outcomes.traits",
    "covariates.file",
    "covariates.scales",
    "evaluation.outcomes",
    "evaluation.covariates",
    "privacy.ledger",
    "public.sites",
    "public.frequencies",
    "public.reference",
    "public.keep",
    "public.effects",
    "score.target",
    "score.release",
    "score.reference",
    "score.populations",
    "score.frequencies",
)
