"""A generator of haplotypes and a critic of them, small networks that are trained against each other.

The generator turns random numbers z and a condition c (alleles before a window, and a population) into log
odds of alleles; the critic D scores alleles under the same condition. With x real and y made, whose alleles
are between 0 and 1, the critic lowers

    E softplus(D(y, c) - D(x, c)) + gamma / 2 (E |dD(x, c)/dx|^2 + E |dD(y, c)/dy|^2),

and the generator E softplus(D(x, c) - D(y, c)): pairs of a real and a made haplotype of one condition, with
a penalty of slopes at both, which converges where older losses go around.

Goodfellow et al. (2014), NeurIPS 27; Mescheder, Geiger and Nowozin (2018), ICML; Jolicoeur-Martineau (2019),
ICLR; Huang et al. (2024), NeurIPS 37.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.random import Generator

Layers = list[tuple[np.ndarray, np.ndarray]]  # weights and shifts of each
N_LATENT, N_HIDDEN, BATCH = 32, 128, 64
LEARNING_RATE, SLOPE_PENALTY, LEAK = 1e-3, 1.0, 0.2
# The generator that is kept is a mean of the last steps.
KEPT = 0.99
# Steps whose random numbers are drawn at once.
STRETCH = 100
RAREST = 1e-3


@cache
def library() -> SimpleNamespace:
    """Return jax, jax.numpy as `jnp` and optax, only on processors.

    The command line answers a ModuleNotFoundError with the extra to install.
    """
    import jax
    import optax

    jax.config.update("jax_platforms", "cpu")
    return SimpleNamespace(jax=jax, jnp=jax.numpy, optax=optax, versions={"jax": jax.__version__})


def compiled(function: Callable) -> Callable:
    """Compile a function for one thread, since sums by several may be added in another order."""
    return library().jax.jit(function, compiler_options={"xla_cpu_multi_thread_eigen": False})


def train(alleles: np.ndarray, conditions: np.ndarray, *, steps: int, draws: Generator) -> Layers:
    """Train a generator of a window, in a multiple of `STRETCH` steps.

    Alleles are (n_haplotypes, n_variants) float32 of 0 and 1, conditions (n_haplotypes, n_conditions)
    float32.
    """
    n_haplotypes, n_variants = alleles.shape
    n_conditions = conditions.shape[1]
    layers = _layers(draws, (N_LATENT + n_conditions, N_HIDDEN, N_HIDDEN, n_variants))
    # At first alleles have the frequencies of the source.
    frequency = np.clip(alleles.mean(axis=0), RAREST, 1 - RAREST)
    layers[-1] = (layers[-1][0], np.log(frequency / (1 - frequency)).astype(np.float32))
    critic = _layers(draws, (n_variants + n_conditions, N_HIDDEN, N_HIDDEN, 1))
    start, run = _training(steps)
    state = start(layers, critic)
    for _ in range(steps // STRETCH):
        who = draws.integers(n_haplotypes, size=(STRETCH, BATCH))
        latent = draws.standard_normal((2, STRETCH, BATCH, N_LATENT), dtype=np.float32)
        state = run(state, who, *latent, alleles, conditions)
    return library().jax.tree.map(np.asarray, state["kept"])


def log_odds(layers: Layers, latent: np.ndarray, conditions: np.ndarray) -> np.ndarray:
    """Return the log odds of alleles from a trained generator: (n_haplotypes, n_variants) float32.

    Latent numbers are (n_haplotypes, N_LATENT) float32, standard normal.
    """
    return np.asarray(_compiled_generator()(layers, latent, conditions))


def _layers(draws: Generator, sizes: tuple[int, ...]) -> Layers:
    """Draw layers whose outputs have the size of their inputs."""
    return [
        (
            draws.standard_normal((n_in, n_out), dtype=np.float32) * np.float32(np.sqrt(2 / n_in)),
            np.zeros(n_out, dtype=np.float32),
        )
        for n_in, n_out in pairwise(sizes)
    ]


def _output(layers: Layers, x: Any) -> Any:
    for weights, shift in layers[:-1]:
        x = library().jax.nn.leaky_relu(x @ weights + shift, LEAK)
    weights, shift = layers[-1]
    return x @ weights + shift


def _generate(layers: Layers, latent: Any, conditions: Any) -> Any:
    return _output(layers, library().jnp.concatenate([latent, conditions], axis=1))


@cache
def _compiled_generator() -> Callable:
    return compiled(_generate)


@cache
def _training(steps: int) -> tuple[Callable, Callable]:
    """Return two functions: the state at first, and that after a stretch of steps."""
    jax, jnp, optax = library().jax, library().jnp, library().optax
    optimiser = optax.adam(optax.cosine_decay_schedule(LEARNING_RATE, steps), b1=0.0, b2=0.99)

    def score(critic: Layers, alleles: Any, conditions: Any) -> Any:
        return _output(critic, jnp.concatenate([alleles - 0.5, conditions], axis=1))[:, 0]

    def slope(critic: Layers, alleles: Any, conditions: Any) -> Any:
        by_allele = jax.grad(lambda x: score(critic, x, conditions).sum())(alleles)
        return (by_allele**2).sum(axis=1).mean()

    def loss_of_critic(critic: Layers, layers: Layers, latent: Any, real: Any, conditions: Any) -> Any:
        generated = jax.nn.sigmoid(_generate(layers, latent, conditions))
        lead = score(critic, real, conditions) - score(critic, generated, conditions)
        slopes = slope(critic, real, conditions) + slope(critic, generated, conditions)
        return jax.nn.softplus(-lead).mean() + SLOPE_PENALTY / 2 * slopes

    def loss_of_generator(layers: Layers, critic: Layers, latent: Any, real: Any, conditions: Any) -> Any:
        generated = jax.nn.sigmoid(_generate(layers, latent, conditions))
        return jax.nn.softplus(score(critic, real, conditions) - score(critic, generated, conditions)).mean()

    def moved(loss: Callable, network: Layers, opponent: Layers, moments: Any, *batch: Any) -> tuple:
        change, moments = optimiser.update(jax.grad(loss)(network, opponent, *batch), moments)
        return optax.apply_updates(network, change), moments

    def start(generator: Layers, critic: Layers) -> dict:
        moments = {"of_made": optimiser.init(generator), "of_critic": optimiser.init(critic)}
        return {"made": generator, "critic": critic, "kept": generator} | moments

    def run(state: dict, who: Any, to_critic: Any, to_generator: Any, alleles: Any, conditions: Any) -> dict:
        def step(state: dict, draws: tuple) -> tuple:
            rows, *latent = draws
            batch = (alleles[rows], conditions[rows])
            critic, of_critic = moved(
                loss_of_critic, state["critic"], state["made"], state["of_critic"], latent[0], *batch
            )
            generator, of_made = moved(
                loss_of_generator, state["made"], critic, state["of_made"], latent[1], *batch
            )
            mean_generator = jax.tree.map(
                lambda old, new: KEPT * old + (1 - KEPT) * new, state["kept"], generator
            )
            moments = {"of_made": of_made, "of_critic": of_critic}
            return {"made": generator, "critic": critic, "kept": mean_generator} | moments, None

        return jax.lax.scan(step, state, (who, to_critic, to_generator))[0]

    return start, compiled(run)
