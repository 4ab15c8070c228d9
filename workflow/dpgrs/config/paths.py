"""The settings that name files, by their dotted paths."""

from dpgrs.config.study import StudyConfig

PATHS = tuple(StudyConfig.marks("is_path"))
# Patterns of genotype files, one for each `cohort.source` that is read from such files.
SOURCES = ("vcf", "plink", "bgen")
PATTERN_KEYS = tuple(f"cohort.{source}" for source in SOURCES)
