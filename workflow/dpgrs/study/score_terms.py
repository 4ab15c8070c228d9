"""What the target `score` of a study reads, and how large that is."""

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpgrs.errors import UsageError, must
from dpgrs.study.cohort_files import PEOPLE_UNKNOWN, UNREADABLE, reference_files_of, tables_of
from dpgrs.study.settings import resolve
from dpgrs.study.shape import Shape
from dpgrs.study.verbs import flags

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

TARGET = "score.target"
# Options of `dpgrs score` that are keys by the same name.
SAME = (
    *("components", "populations", "frequencies", "genome_build", "field", "min_matched", "duplicates"),
    "drop_ambiguous",
)
# Bytes of a row of a scoring file: few, so that what follows is an upper bound of most files.
ROW_BYTES, PACKED_ROW_BYTES = 15, 4


def genotypes_to_score(settings: "StudyConfig", name: str = "target") -> list[Path]:
    """Return the genotype files or stores of a key of the section `score`, ``target`` or ``reference``.

    They are of all chromosomes, each once, in the order of the settings; a pattern that matches none is
    refused.
    """
    chromosomes = settings.cohort.chromosomes
    paths = (
        path
        for pattern in getattr(settings.score, name)
        for chromosome in (chromosomes if "{chrom}" in pattern else chromosomes[:1])
        for path in reference_files_of(pattern, chromosome)
    )
    return list(dict.fromkeys(paths))


def scoring_inputs(settings: "StudyConfig", *, own_scores: Path | str) -> dict[str, list[Any]]:
    """Return the paths that the rule `score` reads.

    `own_scores` is the path of this study's own scores, a folder or its last file, which is read if no other
    is named. Settings without people to score, and missing files, are refused.
    """
    from dpgrs.scoring.score_files import files_of_scores

    score = settings.score
    if not score.target:
        fix = "Say `score: {target: others.vcf.gz}`; the manual's page `settings` lists the other keys."
        raise UsageError(
            "target-not-given", must(TARGET, "name genotype files for the target `score`", "none", fix)
        )
    genotypes = {name: genotypes_to_score(settings, name) for name in ("target", "reference")}
    named = [path for path in (score.populations, score.frequencies) if path]
    return genotypes | {
        "scores": files_of_scores(score.release) if score.release else [own_scores],
        "tables": [*tables_of([path for paths in genotypes.values() for path in paths]), *named],
    }


def scoring_flags(settings: "StudyConfig", *, own_scores: Path | str) -> str:
    """Return the options of `dpgrs score`, without its inputs and outputs, as text for a shell.

    `own_scores` is the folder of this study's own scores.
    """
    score = settings.score
    reference = genotypes_to_score(settings, "reference")
    return flags(
        score=score.release or [own_scores],
        reference=reference,
        **{name: getattr(score, name) for name in SAME},
    )


def scored_folder(results: Path | str) -> str:
    """Return the folder that the target `score` writes for a study, as private as the people in it."""
    return f"{results}/private/scored"


def without_scoring(settings: "StudyConfig") -> "StudyConfig":
    """Return settings as a study records them: later applications of its scores are no part of it."""
    return settings.changed(score=resolve({}).score)


class ScoringShape(Shape):
    """The size of a target, its reference, and the applied scores, which for the study's own are expected
    ones."""

    @cached_property
    def n_people(self) -> int:
        return self._n_people("target")

    @cached_property
    def n_reference_people(self) -> int:
        return self._n_people("reference") if self._config.score.reference else 0

    @property
    def n_outcomes(self) -> int:
        # A benchmark's method has a score for each of its terms.
        return len(self._scores) or super().n_outcomes * self.n_requests

    @property
    def n_variants(self) -> int:
        return max(self._scores, default=0) or super().n_variants

    @cached_property
    def _scores(self) -> list[int]:
        """The variants of each score that is named, at most."""
        from dpgrs.scoring.score_files import files_of_scores

        with suppress(*UNREADABLE):
            return [_n_rows(path) for path in files_of_scores(self._config.score.release)]
        return []

    def _n_people(self, name: str) -> int:
        from dpgrs.io.target import Target  # brings pandas

        with suppress(*UNREADABLE):
            return len(Target(genotypes_to_score(self._config, name)).samples)
        return PEOPLE_UNKNOWN


def _n_rows(path: Path) -> int:
    return Path(path).stat().st_size // (PACKED_ROW_BYTES if path.suffix == ".gz" else ROW_BYTES)
