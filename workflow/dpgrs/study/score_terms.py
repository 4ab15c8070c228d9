"""What the target `score` of a study reads, and how large that is."""

from contextlib import suppress
from functools import cached_property
from pathlib import Path

from dpgrs.errors import UsageError, must
from dpgrs.study.cohort_files import reference_files_of, tables_of
from dpgrs.study.reference_size import PEOPLE_UNKNOWN, UNREADABLE
from dpgrs.study.rule_options import flags
from dpgrs.study.settings import resolve
from dpgrs.study.shape import Shape

TARGET = "score.target"
# Options of `dpgrs score` that are keys by the same name.
SAME = (
    *("components", "populations", "frequencies", "genome_build", "field", "min_matched", "duplicates"),
    "drop_ambiguous",
)
# Bytes of a row of a scoring file: few, so that what follows is an upper bound of most files.
ROW_BYTES, PACKED_ROW_BYTES = 15, 4


def genotypes_to_score(settings, name="target"):
    """Return the genotype files or stores that a key of the section `score` names, of all chromosomes.

    Parameters
    ----------
    settings : StudyConfig; here and below.
    name : ``target`` or ``reference``.

    Returns
    -------
    list of pathlib.Path, each once, in the order of the settings.

    Raises
    ------
    DpgrsError
        If a pattern matches none.
    """
    chromosomes = settings.cohort.chromosomes
    found = (
        path
        for pattern in getattr(settings.score, name)
        for chromosome in (chromosomes if "{chrom}" in pattern else chromosomes[:1])
        for path in reference_files_of(pattern, chromosome)
    )
    return list(dict.fromkeys(found))


def scoring_inputs(settings, *, own):
    """Return what the rule `score` reads, a dict of lists of paths.

    Parameters
    ----------
    own : path of this study's own scores, a folder or its last file, which is read where no other is named.

    Raises
    ------
    DpgrsError
        If nobody is to be scored, or a file is missing.
    """
    from dpgrs.scoring.score_files import files_of_scores

    score = settings.score
    if not score.target:
        fix = "Say `score: {target: others.vcf.gz}`; the manual's page `settings` lists the other keys."
        raise UsageError(must(TARGET, "name genotype files for the target `score`", "none", fix))
    genotypes = {name: genotypes_to_score(settings, name) for name in ("target", "reference")}
    named = [path for path in (score.populations, score.frequencies) if path]
    return genotypes | {
        "scores": files_of_scores(score.release) if score.release else [own],
        "tables": [*tables_of([path for paths in genotypes.values() for path in paths]), *named],
    }


def scoring_flags(settings, *, own):
    """Return the options of `dpgrs score`, but for what it scores and writes, as text for a shell.

    Parameters
    ----------
    own : path of the folder of this study's own scores.
    """
    score = settings.score
    reference = genotypes_to_score(settings, "reference")
    return flags(
        score=score.release or [own], reference=reference, **{name: getattr(score, name) for name in SAME}
    )


def scored_folder(results):
    """Return where the target `score` writes, as private as the people there, by the folder of a study."""
    return f"{results}/private/scored"


def without_scoring(settings):
    """Return settings as a study records them: whom its scores are applied to later is no part of it."""
    return settings.changed(score=resolve({}).score)


class ScoringShape(Shape):
    """The size of a target, its reference, and the scores that are applied.

    Of this study's own the scores are those that it will have.
    """

    @cached_property
    def n_people(self):
        return self._n_people("target")

    @cached_property
    def n_reference_people(self):
        return self._n_people("reference") if self._config.score.reference else 0

    @property
    def n_outcomes(self):
        # Of a benchmark's method there is a score for each of its terms.
        return len(self._scores) or super().n_outcomes * self.n_requests

    @property
    def n_variants(self):
        return max(self._scores, default=0) or super().n_variants

    @cached_property
    def _scores(self):
        """The variants of each score that is named, at most, a list."""
        from dpgrs.scoring.score_files import files_of_scores

        with suppress(*UNREADABLE):
            return [_n_rows(path) for path in files_of_scores(self._config.score.release)]
        return []

    def _n_people(self, name):
        from dpgrs.io.target import Target  # brings pandas

        with suppress(*UNREADABLE):
            return len(Target(genotypes_to_score(self._config, name)).samples)
        return PEOPLE_UNKNOWN


def _n_rows(path):
    return Path(path).stat().st_size // (PACKED_ROW_BYTES if path.suffix == ".gz" else ROW_BYTES)
