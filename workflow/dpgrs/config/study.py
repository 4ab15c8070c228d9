"""All settings of a study, and those that other packages add."""

from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from dpgrs.config.cohort import Cohort, Dataset, People, Variants
from dpgrs.config.outcomes import Covariates, Outcomes
from dpgrs.config.privacy import Evaluation, Privacy, Regression, Screening
from dpgrs.config.release import Public, Release, Scale, Score
from dpgrs.config.setting import Section, setting
from dpgrs.errors import UsageError
from dpgrs.plugins import points

AUTO = "auto"  # the method that public settings speak for


@dataclass(frozen=True)
class StudyConfig(Section):
    """The settings of one study. A key that is left out has its default; all defaults are the demo study."""

    study: str = setting(
        "demo",
        "Name of the study; its results go to `results/<study>/`.",
        example="height-2026",
        pattern=r"^[A-Za-z0-9_-]{1,100}$",
        title="a name of at most 100 letters, digits, `_` and `-`",
    )
    seed: int = setting(
        1,
        "Seed of all public choices (simulation, thinning, split) and, in benchmark mode, of the noise. Same "
        "seed, same results.",
        example=7,
        minimum=0,
        maximum=9_223_372_036_854_775_807,
    )
    mode: Literal["benchmark", "release"] = setting(
        "benchmark",
        '`benchmark` draws seeded noise and marks everything "not private": open or simulated data only. '
        "`release` draws secret noise and keeps a ledger.",
        example="benchmark",
    )
    dataset: Dataset
    cohort: Cohort
    people: People
    variants: Variants
    outcomes: Outcomes
    covariates: Covariates
    privacy: Privacy
    screening: Screening
    regression: Regression
    evaluation: Evaluation
    public: Public
    release: Release
    score: Score
    methods: tuple[str, ...] = setting(
        ("ols", "gblup", "reusecov-gauss", "reusecov-proj", "reusecov-ellipsoid", "blup", "k-blup"),
        "Methods to compare. `ols`, `gblup` and `ridge` are not private and are not released; the first of "
        "`gblup`, `ols` and `ridge` is the reference of pages, and `gblup` tunes itself on the training "
        "rows. `auto` is the one that public settings speak for (docs/reference/methods.md). The default of "
        "a release is `blup`.",
        example=("ridge", "blup"),
        max_items=100,
    )
    scale: Scale
    replicates: int = setting(
        2,
        "Number of repetitions, each with its own simulated outcomes, split and noise. A release has one.",
        example=10,
        minimum=1,
        maximum=10_000,
    )

    @classmethod
    @cache
    def types(cls) -> dict[str, Any]:
        """Map keys to types; other installed packages add keys to sections (`dpgrs.settings`)."""
        types = dict(super().types())
        for point in points("settings"):
            types[point.name] = _extended(types[point.name], point.load())
        return types


def _extended(section: type[Section], addition: type[Section]) -> type[Section]:
    """Join the keys of a section and the keys of a subclass from another package."""
    if repeated := sorted(section.types().keys() & vars(addition)["__annotations__"]):
        raise UsageError(
            "setting-added-twice",
            f"`{addition.__module__}` must add settings of other names, got {', '.join(repeated)} again. "
            "Remove the package, or ask its authors.",
        )
    if section in addition.__bases__:
        return addition
    # Another package has extended the section before.
    joined = dataclass(frozen=True)(type(section.__name__, (addition, section), {}))
    joined.__doc__ = None
    return joined


PATHS = tuple(StudyConfig.marks("is_path"))
# Patterns of genotype files, one for each `cohort.source` that is read from such files.
SOURCES = ("vcf", "plink", "bgen")
PATTERN_KEYS = tuple(f"cohort.{source}" for source in SOURCES)
