from types import SimpleNamespace

import numpy as np
import pytest

from dpgrs.genotypes.bits import pack
from dpgrs.io.outcomes import Outcomes
from dpgrs.io.replicates import save_labelled
from dpgrs.reporting.screening_data import read_screening
from random_cohorts import random_alleles

SETTINGS = SimpleNamespace(methods=["ridge", "k-tukey", "k-ols"], screening=SimpleNamespace(share=0.1))
SMALL, LARGE = np.array([1, 2, 3]), np.arange(5)
ALLELES = random_alleles(5, 300)
ALLELES[2] = ALLELES[1]  # perfect partners
VARIANTS = SimpleNamespace(
    haplotypes=lambda: pack(ALLELES),
    of_size={3: SMALL, 5: LARGE}.__getitem__,
    n_haplotypes=300,
    n_variants=5,
)
EXACT = [
    (
        {"n_variants": 3, "selector": "kendall"},
        {"chosen": np.array([[0, 2], [1, 2]]), "scores": np.zeros((2, 3))},
    ),
    (
        {"n_variants": 5, "selector": "kendall"},
        {"chosen": np.array([[4, 0], [1, 3]]), "scores": np.arange(10.0).reshape(2, 5)},
    ),
]
# Of the variant set of three, the first is causal for both outcomes; of the variant set of five, its second.
EFFECTS = {3: np.array([[0.5, 0, 0], [0.5, 0, 0]]), 5: np.array([[0, 0.5, 0, 0, 0], [0, 0.5, 0, 0, 0.1]])}


def private(size, count, chosen, epsilon=1.0, selector="kendall"):
    request = {"n_variants": size, "n_outcomes": count, "accounting": "gdp", "epsilon": epsilon}
    label = {"request": request, "n_outcomes": count, "events": [], "selector": selector}
    return label, {"chosen": np.array(chosen)}


def screening(path, items, effects):
    save_labelled(path / "choices.npz", items)
    is_training = np.arange(300) < 240
    outcomes = Outcomes(("a", "b"), {}, effects, is_training, "haplotypes")
    return read_screening([path / "choices.npz"], VARIANTS, outcomes, SETTINGS)


def test_read_screening__every_design_against_its_own_exact_choice(tmp_path):
    items = [
        *EXACT,
        private(3, 1, [[1, 2]]),
        private(3, 2, [[1, 2], [1, 2]]),
        private(5, 2, [[2, 0], [4, 2]]),
    ]

    found = screening(tmp_path, items, EFFECTS)

    assert found.methods == ("k-ols", "k-tukey")
    assert found.n_choices == 2
    assert [(choice.epsilon, choice.chosen.tolist()) for choice in found.choices] == [
        (None, [[4, 0], [1, 3]]),
        (1.0, [[2, 0], [4, 2]]),
    ]
    np.testing.assert_array_equal(found.scores, EXACT[1][1]["scores"])
    rows = {(row.n_variants, row.n_outcomes, row.epsilon): row[4:9] for row in found.rows}
    # shared; causal, causal or partner, found, and causal ones there are.
    assert rows == {
        (5, 2, None): (2.0, 0.5, 0.5, 0.5, 1.5),
        (5, 2, 1.0): (0.5, 0.5, 1.5, 1.5, 1.5),
        (3, 2, None): (2.0, 0.5, 1.0, 1.0, 1.0),
        (3, 2, 1.0): (1.5, 0.0, 1.0, 1.0, 1.0),
        (3, 1, None): (2.0, 1.0, 1.0, 1.0, 1.0),
        (3, 1, 1.0): (1.0, 0.0, 1.0, 1.0, 1.0),
    }
    assert [row.n_variants for row in found.rows] == sorted(
        (row.n_variants for row in found.rows), reverse=True
    )
    # Of the variants that were chosen.
    assert [sorted(own) for own in found.causal_r2] == [[0, 2, 4], [1, 2, 3, 4]]
    assert (found.causal_r2[0][2], found.causal_r2[1][1]) == (pytest.approx(1), 1)
    assert found.causal_r2[0][4] < 0.8


@pytest.mark.parametrize("effects", [{}, {3: np.ones((2, 3)), 5: np.ones((2, 5))}])
def test_read_screening__no_hits_where_none_or_all_are_causal(tmp_path, effects):
    found = screening(tmp_path, EXACT, effects)

    assert found.causal_r2 is None
    # Without private choices, all outcomes.
    assert [(row.n_variants, row.n_outcomes, row.shared) for row in found.rows] == [(5, 2, 2.0), (3, 2, 2.0)]
    assert all(np.isnan(row.found) for row in found.rows)


def test_read_screening__every_selector_has_rows_and_the_first_is_shown(tmp_path):
    by_sis = ({"n_variants": 5, "selector": "sis"}, {"chosen": np.array([[2, 0], [2, 3]])})
    chosen = [[2, 0], [4, 2]]
    items = [EXACT[1], by_sis, private(5, 2, chosen), private(5, 2, chosen, selector="sis")]

    found = screening(tmp_path, items, EFFECTS)

    assert [(choice.selector, choice.epsilon) for choice in found.choices] == [
        ("kendall", None),
        ("kendall", 1.0),
    ]
    # Each is held against the exact choice of its own selector.
    rows = {(row.selector, row.epsilon): row.shared for row in found.rows}
    assert rows == {("kendall", None): 2, ("kendall", 1.0): 0.5, ("sis", None): 2, ("sis", 1.0): 1.5}


def test_read_screening__of_another_selector_alone(tmp_path):
    (label, arrays), chosen = EXACT[1], [[2, 0], [4, 2]]
    items = [(label | {"selector": "sis"}, arrays), private(5, 2, chosen, selector="sis")]

    found = screening(tmp_path, items, EFFECTS)

    assert [(choice.selector, choice.chosen.tolist()) for choice in found.choices] == [
        ("sis", arrays["chosen"].tolist()),
        ("sis", chosen),
    ]
    np.testing.assert_array_equal(found.scores, arrays["scores"])


def test_read_screening__noise_in_the_papers_scaling_claims_no_privacy(tmp_path):
    label, arrays = private(5, 1, [[2, 0]], selector="sis")
    noted = {"note": "paper scaling, gdp noise of epsilon 1"}
    exact = (EXACT[1][0] | {"selector": "sis"}, EXACT[1][1])

    found = screening(tmp_path, [exact, (label | noted, arrays)], EFFECTS)

    # No page of an outcome shows it among private choices.
    assert [choice.epsilon for choice in found.choices] == [None]
    rows = [(row.note, row.accounting, row.epsilon, row.n_outcomes, row.shared) for row in found.rows]
    assert rows == [("", "", None, 1, 2), (noted["note"], "", None, 1, 1)]
