import numpy as np
import pytest

from dpgrs.simulation.outcomes import HIDDEN_STEP, Network, SimulatedOutcomes, simulate_outcomes
from random_cohorts import half_coded, random_alleles

N_ROWS, D = 3000, 20
X = half_coded(random_alleles(D, N_ROWS), rows="haplotypes")[:, :-1]
RANK = np.random.default_rng(3).permutation(D)


def simulate(X=X, **options):
    defaults = {"variant_rank": RANK, "n_outcomes": 3, "heritability": 0.5, "seed": 1, "key": (0,)}
    defaults["row_id"] = [f"row{i}" for i in range(len(X))]
    return simulate_outcomes(X, **defaults | options)


def test_simulate_outcomes__shapes_and_scale():
    Y, effects = simulate(n_outcomes=50)
    assert Y.shape == (50, N_ROWS)
    assert effects.shape == (50, D)
    # Standard error of a variance is about sqrt(2/3000) = 0.026, of the mean of 50 a seventh of that.
    assert Y.var(axis=1).mean() == pytest.approx(1.0, abs=0.03)


def test_simulate_outcomes__explained_variance_is_the_heritability():
    Y, effects = simulate(heritability=0.3)
    genetic = effects @ X.T
    np.testing.assert_allclose(genetic.var(axis=1), 0.3)
    residual = Y - genetic
    np.testing.assert_allclose(residual.var(axis=1), 0.7, rtol=0.15)


def test_simulate_outcomes__all_and_nothing_heritable():
    Y, effects = simulate(heritability=1.0)
    genetic = effects @ X.T
    np.testing.assert_allclose(Y, genetic - genetic.mean(axis=1, keepdims=True), atol=1e-12)
    _, effects = simulate(heritability=0.0)
    np.testing.assert_array_equal(effects, np.zeros((3, D)))


@pytest.mark.parametrize("options", [{}, {"n_factors": 2}, {"n_factors": 3, "prevalence": 0.1}, {"width": 4}])
def test_simulate_outcomes__outcome_does_not_depend_on_chunks(options):
    Y, effects = simulate(n_outcomes=7, **options)
    chunks = [simulate(n_outcomes=n, first=first, **options) for first, n in [(0, 2), (2, 1), (3, 4)]]
    assert np.vstack([chunk[0] for chunk in chunks]).tobytes() == Y.tobytes()
    assert np.vstack([chunk[1] for chunk in chunks]).tobytes() == effects.tobytes()


@pytest.mark.parametrize("options", [{}, {"n_factors": 2}, {"width": 4}])
def test_simulate_outcomes__memory_layout_does_not_matter(options):
    Y = simulate(np.asfortranarray(X), **options)[0]
    assert Y.tobytes() == simulate(np.ascontiguousarray(X), **options)[0].tobytes()


@pytest.mark.parametrize("n_factors", [None, 2])
def test_simulate_outcomes__nested_variant_sets_share_effects_and_noise(n_factors):
    small, options = RANK < 8, {"heritability": 0.5, "n_factors": n_factors}
    Y, effects = simulate(**options)
    Y_small, effects_small = simulate(X[:, small], variant_rank=RANK[small], **options)
    ratio = effects[:, small] / effects_small
    np.testing.assert_allclose(ratio, np.repeat(ratio[:, :1], 8, axis=1))
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(
        Y - effects @ centred.T, Y_small - effects_small @ centred[:, small].T, atol=1e-12
    )


def test_simulate_outcomes__replicates_differ():
    assert (simulate(key=(1,))[0] != simulate(key=(2,))[0]).all()


@pytest.mark.parametrize("options", [{}, {"width": 3}])
def test_simulate_outcomes__causal_share(options):
    _, effects = simulate(n_outcomes=200, causal_share=0.25, **options)
    # 4,000 draws: the limit is more than 5 standard errors wide.
    assert (effects != 0).mean() == pytest.approx(0.25, abs=0.04)


@pytest.mark.parametrize(
    "options",
    [{"X": np.full((N_ROWS, D), 0.5)}, {"causal_share": 0.0}, {"causal_share": 0.0, "width": 4}],
)
def test_simulate_outcomes__without_genetic_variance_is_noise(options):
    Y, effects = simulate(**options)
    np.testing.assert_allclose(Y.var(axis=1), 1.0, rtol=0.15)
    np.testing.assert_array_equal(effects, np.zeros((3, D)))


@pytest.mark.parametrize("options", [{}, {"n_factors": 2}, {"width": 4}])
def test_simulate_outcomes__no_outcomes(options):
    Y, effects = simulate(n_outcomes=0, **options)
    assert Y.shape == (0, N_ROWS)
    assert effects.shape == (0, D)


@pytest.mark.parametrize("n_factors", [1, 4])
def test_simulate_outcomes__factors_are_the_rank_of_effects_and_of_noise(n_factors):
    Y, effects = simulate(n_outcomes=200, n_factors=n_factors, heritability=0.3)
    genetic = effects @ (X - X.mean(axis=0)).T
    np.testing.assert_allclose(genetic.var(axis=1), 0.3)
    for found in (effects, Y - genetic):
        sizes = np.linalg.svd(found, compute_uv=False)
        assert (sizes > 1e-9 * sizes[0]).sum() == n_factors
    # A loading has few values of its own: of 200 outcomes a standard error is 0.05 and less.
    assert (Y - genetic).var(axis=1).mean() == pytest.approx(0.7, abs=0.1)


def test_simulate_outcomes__factors_share_their_causal_variants():
    _, effects = simulate(n_outcomes=50, n_factors=3, causal_share=0.5)
    is_causal = effects != 0
    assert (is_causal == is_causal[0]).all()
    assert 0 < is_causal[0].sum() < D


@pytest.mark.parametrize("prevalence", [0.05, 0.5])
def test_simulate_outcomes__prevalence_cuts_the_liability(prevalence):
    liability, effects = simulate(n_outcomes=50, heritability=0.5)
    Y, slopes = simulate(n_outcomes=50, heritability=0.5, prevalence=prevalence)
    sd = np.sqrt(prevalence * (1 - prevalence))
    cases = Y > 0
    np.testing.assert_allclose(Y[cases], (1 - prevalence) / sd)
    np.testing.assert_allclose(Y[~cases], -prevalence / sd)
    assert np.where(cases, liability, np.inf).min() > np.where(cases, -np.inf, liability).max()
    # 150,000 draws, of which those of an outcome share its effects.
    assert cases.mean() == pytest.approx(prevalence, abs=0.02)
    # Genetic values of liabilities tell as much of them as their effects say.
    values = effects @ (X - X.mean(axis=0)).T
    fitted = (values * Y).sum(axis=1) / (values**2).sum(axis=1)
    assert fitted.mean() == pytest.approx((slopes / effects).mean(), abs=0.05)


@pytest.mark.parametrize("others", [{}, {"n_factors": 2}, {"width": 4}, {"prevalence": 0.2}])
def test_simulate_outcomes__public_moments_make_rows_independent(others):
    p = np.linspace(0.1, 0.9, D)
    options = {"public_moments": (p - 0.5, p * (1 - p)), "row_id": [f"row{i}" for i in range(N_ROWS)]}
    options |= others
    Y, effects = simulate(**options)
    kept = np.r_[5:40, 100:N_ROWS]
    fewer = options | {"row_id": [options["row_id"][i] for i in kept]}
    Y_kept, effects_kept = simulate(X[kept], **fewer)
    assert Y_kept.tobytes() == Y[:, kept].tobytes()
    np.testing.assert_array_equal(effects_kept, effects)


def test_simulate_outcomes__public_moments_give_the_stated_scale():
    p = np.linspace(0.1, 0.9, D)
    rows = (np.random.default_rng(5).random((20_000, D)) < p) - 0.5
    Y, effects = simulate(
        rows,
        public_moments=(p - 0.5, p * (1 - p)),
        row_id=[str(i) for i in range(20_000)],
        heritability=0.3,
    )
    # Five standard errors: a mean within 5/sqrt(20,000), a variance within 5 sqrt(2/20,000).
    np.testing.assert_allclose(Y.mean(axis=1), 0, atol=0.036)
    np.testing.assert_allclose(Y.var(axis=1), 1, atol=0.05)
    np.testing.assert_allclose((effects @ rows.T).var(axis=1), 0.3, rtol=0.05)


def test_simulate_outcomes__network_explains_its_share_and_its_best_line_less():
    Y, effects = simulate(n_outcomes=200, width=8, heritability=1.0)
    np.testing.assert_allclose(Y.var(axis=1), 1.0)
    lines = np.linalg.lstsq(X - X.mean(axis=0), Y.T, rcond=None)[0].T
    explained = (lines @ (X - X.mean(axis=0)).T).var(axis=1)
    # pi/(2 (pi - 1)) = 0.734 of a unit; of 200 outcomes the mean has a standard error below 0.01.
    assert explained.mean() == pytest.approx(np.pi / (2 * (np.pi - 1)), abs=0.05)
    # By Stein's lemma, of 20 coins in place of normal variants; 3,000 rows leave chance in a line of its own.
    assert np.corrcoef(lines.ravel(), effects.ravel())[0, 1] > 0.97
    assert np.vdot(lines, effects) / np.vdot(effects, effects) == pytest.approx(1, abs=0.03)


def test_simulate_outcomes__network_by_public_moments_has_the_stated_scale():
    p = np.full(D, 0.5)
    rows = (np.random.default_rng(5).random((20_000, D)) < p) - 0.5
    moments = {"public_moments": (p - 0.5, p * (1 - p)), "row_id": [str(i) for i in range(20_000)]}
    Y, _ = simulate(rows, **moments, n_outcomes=40, width=8, heritability=1.0)
    # Twenty coins are nearly normal: what is left of the arc-cosine law is within a tenth.
    np.testing.assert_allclose(Y.mean(axis=1), 0, atol=0.1)
    np.testing.assert_allclose(Y.var(axis=1), 1, atol=0.1)


def test_network__one_unit_is_the_part_above_the_mean():
    inner, outer = np.zeros((1, D)), np.array([2.0])
    inner[0, 3] = 1.5
    network = Network(inner, outer)
    centred = 1.5 * (X[:, 3] - X[:, 3].mean())
    found = network.values(network.inner @ X.T, centres=np.array([1.5 * X[:, 3].mean()]))
    np.testing.assert_allclose(found, 2 * np.maximum(centred, 0), atol=4 * HIDDEN_STEP)
    np.testing.assert_array_equal(network.slopes, np.where(np.arange(D) == 3, 1.5, 0))


def test_network__public_terms_are_those_of_normal_units():
    """Against a plain average over normal draws."""
    draws = np.random.default_rng(2)
    network = Network(draws.standard_normal((3, D)), np.array([1.0, -0.5, 2.0]))
    means, variances = draws.standard_normal(D), draws.random(D)
    rows = means + np.sqrt(variances) * draws.standard_normal((100_000, D))
    centres, mean, sd = network.public_terms(means, variances)
    values = network.values(network.inner @ rows.T, centres=centres)
    # 1e5 draws: the limits are more than five standard errors wide.
    assert mean == pytest.approx(values.mean(), abs=0.02 * sd)
    assert sd == pytest.approx(values.std(), rel=0.02)


@pytest.mark.parametrize("options", [{}, {"n_factors": 2}, {"width": 4}, {"prevalence": 0.2}])
@pytest.mark.parametrize("n_part", [1, 700, N_ROWS])
def test_simulated_outcomes__parts_of_the_rows_change_last_digits_alone(options, n_part):
    terms = {"variant_rank": RANK, "n_outcomes": 3, "heritability": 0.5, "seed": 1, "key": (0,)} | options
    parts = [slice(first, first + n_part) for first in range(0, N_ROWS, n_part)]
    simulated = SimulatedOutcomes(**terms)
    simulated.measure(lambda: (X[part] for part in parts))
    names = [f"row{i}" for i in range(N_ROWS)]
    Y = np.hstack([simulated.of_rows(X[part], row_id=names[part]) for part in parts])
    whole, effects = simulate(**options)
    np.testing.assert_allclose(Y, whole, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(simulated.effects, effects, rtol=1e-11)
