"""One replicate of `errata`: draws of each recipe on two neighbours, and the wrong guesses counted."""

from pathlib import Path

import numpy as np

from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.public_random import generator
from dpgrs_papers.experiments import errata_choices, errata_sums, errata_tukey

PUBLISHED, OURS = "published", "ours"
# By part: what makes its `Defect`.
DEFECTS = {
    "tukey-check": errata_tukey.check_noise,
    "tukey-weights": errata_tukey.draw_weights,
    "groups": errata_choices.groups_of_rows,
    "tau-b": errata_choices.tied_ranks,
    "sis-scaling": errata_choices.scaling,
    "sis-classes": errata_choices.class_sizes,
    "boosting": errata_sums.boosting_rounds,
    "squares": errata_sums.squares,
    "squares-intercept": errata_sums.squares_with_an_intercept,
    "float": errata_sums.float_noise,
}


def run_replicate(defect_name: str, replicate: int, settings: dict, files: list[Path]) -> list[dict]:
    """Draw and count; `draws` are those of each input, of the published recipe and of ours."""
    defect, seed = DEFECTS[defect_name](), settings["seed"]
    guesses = {PUBLISHED: [], OURS: []}
    for is_second in (False, True):
        rng = generator(seed, "errata", defect_name, replicate, int(is_second))
        guesses[PUBLISHED].append(defect.published(rng, settings["draws"][PUBLISHED], is_second))
        n_ours = round(settings["draws"][OURS] * defect.share)
        noises = (
            BenchmarkNoise(seed, "errata", defect_name, replicate, int(is_second), draw)
            for draw in range(n_ours)
        )
        guesses[OURS].append(np.array([defect.ours(noise, is_second) for noise in noises]))
    return [
        {
            "recipe": recipe,
            "draws": len(first),
            "false_first": int(first.sum()),
            "false_second": int((~second).sum()),
        }
        for recipe, (first, second) in guesses.items()
    ]
