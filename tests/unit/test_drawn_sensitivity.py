"""What mechanisms hand to their noise moves between neighbours by what it is scaled to, no more or less.

Tight bounds of few outcomes: one person among 300 is replaced, or left out, on the way that a study takes.
"""

import numpy as np
import pytest

from dpgrs.methods.mechanisms import mechanism_of
from dpgrs.privacy.noise.sources import BenchmarkNoise
from dpgrs.steps import compute_statistics as statistics_step
from dpgrs.study.draws import draws_of
from dpgrs.study.training_data import TrainingData
from outcome_files import changed_outcomes
from step_settings import settings_for
from step_studies import N_VARIANTS, HaplotypeStudy, Study

# A factor of 8 bits may leave a row shorter than its norm by so much (docs/proofs/clipped_gram.md).
SHRUNK = 1 / 128
# Outcomes of the person: one alone or all far beyond their bound, beyond the norm, and within it.
ALONE, OPPOSED = (9, 0, 0), (-9, 0, 0)
OTHERS = [(1, OPPOSED), (1, (9, 9, 9)), (0, (-9, -9, -9)), (1, (0, 1.6, np.nan)), (0, (0.5, -1, 0.25))]


class ExactNoise(BenchmarkNoise):
    """Notes every statistic with its event; chooses the first variants."""

    def __init__(self):
        super().__init__(1)
        self.drawn = []

    def _draw(self, statistic, event):
        self.drawn.append((statistic, event))
        return super()._draw(statistic, event)

    def _choose(self, event, digest):
        yield from ()
        return self._choose_set(None, event)

    def _choose_set(self, scores, event):
        return np.arange(event.n_choices), event


class Worlds:
    """A study of which one person changes."""

    def __init__(self, kind, root, monkeypatch, method, **privacy):
        self.study, self.method = kind(root, monkeypatch), method
        self.config = self.study.settings(method, bounds="tight", missing="counted", unit="person", **privacy)
        # Of the variant set that all steps open.
        self.bits = statistics_step.VariantSet.open("variant_set").genotypes()
        self.n_rows = 1 if self.study.rows == "people" else 2

    def drawn(self, alleles, outcomes, *, is_there=True):
        """Return what is drawn where the person has these alleles, all alike, and outcomes: a list."""
        self.bits[:, 0] = self.bits[:, 0] & ~np.uint64(3) | np.uint64(3 * alleles)
        path = self.study.root / "outcomes.zarr"
        with changed_outcomes(path) as known:
            known.values[N_VARIANTS][:, : self.n_rows] = np.reshape(outcomes, (-1, 1))
            known.is_training[: self.n_rows] = is_there
        mechanism, noise = mechanism_of(self.method), ExactNoise()
        data = TrainingData(path, statistics=self.study.sum_up(self.config), variant_set="variant_set")
        settings = settings_for("draw", self.config.changed(mode="benchmark"))
        (one,) = draws_of(settings, mechanism, mechanism.drawn_for([self.method]), data)
        one.draw(noise)
        return noise.drawn


def furthest(first, others):
    """Return by how much of its sensitivity each statistic moves at most, a dict."""
    found = {}
    for other in others:
        for (before, event), (after, same) in zip(first, other, strict=True):
            assert event == same
            moved = np.linalg.norm((after - before).astype(float)) * event.step / event.sensitivity.value
            found[event.statistic] = max(found.get(event.statistic, 0.0), moved)
    return found


@pytest.mark.parametrize("budget", ["joint", "separate"])
@pytest.mark.parametrize("method", ["blup", "naive", "adassp", "k-blup"])
@pytest.mark.parametrize(("kind", "neighbours"), [(Study, "add-remove"), (HaplotypeStudy, "replace-one")])
def test_draws__move_by_their_sensitivity(tmp_path, monkeypatch, kind, neighbours, method, budget):
    worlds = Worlds(kind, tmp_path, monkeypatch, method, neighbours=neighbours, outcome_budget=budget)
    first = worlds.drawn(1, ALONE, is_there=neighbours == "replace-one")
    found = furthest(first, (worlds.drawn(*other) for other in OTHERS))
    assert max(found.values()) <= 1 + 1e-12
    assert found["cross product"] >= 1 - SHRUNK


@pytest.mark.parametrize(("protection", "other"), [("label", OTHERS[0]), ("feature", (0, ALONE))])
def test_draws__move_by_their_sensitivity_where_one_side_is_public(tmp_path, monkeypatch, protection, other):
    worlds = Worlds(Study, tmp_path, monkeypatch, "blup", protection=protection)
    found = furthest(worlds.drawn(1, ALONE), [worlds.drawn(*other)])
    # No two genotypes are exactly opposite.
    assert (1 - SHRUNK if protection == "label" else 0.95) <= found["cross product"] <= 1 + 1e-12
