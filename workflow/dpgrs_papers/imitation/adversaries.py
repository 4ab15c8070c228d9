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

from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np

N_LATENT, N_HIDDEN, BATCH = 32, 128, 64
LEARNING_RATE, SLOPE_PENALTY, LEAK = 1e-3, 1.0, 0.2
# The generator that is kept is a mean of the last steps.
KEPT = 0.99
# Steps whose random numbers are drawn at once.
STRETCH = 100
RAREST = 1e-3


@cache
def library():
    """Return jax, jax.numpy as `jnp` and optax, on processors alone.

    Raises
    ------
    ModuleNotFoundError
        Where they are not installed, which the command line answers with the extra to install.
    """
    import jax
    import optax

    jax.config.update("jax_platforms", "cpu")
    return SimpleNamespace(jax=jax, jnp=jax.numpy, optax=optax, versions={"jax": jax.__version__})


def compiled(function):
    """Compile a function for one thread, since sums by several may be added in another order."""
    return library().jax.jit(function, compiler_options={"xla_cpu_multi_thread_eigen": False})


def train(alleles, conditions, *, steps, draws):
    """Train a generator of a window.

    Parameters
    ----------
    alleles : (n_haplotypes, n_variants) float32 of 0 and 1.
    conditions : (n_haplotypes, n_conditions) float32, what stands before each of them.
    steps : int, a multiple of `STRETCH`.
    draws : numpy.random.Generator, public.

    Returns
    -------
    list of pairs of arrays, weights and shifts of each layer.
    """
    n_haplotypes, n_variants = alleles.shape
    n_conditions = conditions.shape[1]
    made = _layers(draws, (N_LATENT + n_conditions, N_HIDDEN, N_HIDDEN, n_variants))
    # At first alleles have the frequencies of the source.
    frequency = np.clip(alleles.mean(axis=0), RAREST, 1 - RAREST)
    made[-1] = (made[-1][0], np.log(frequency / (1 - frequency)).astype(np.float32))
    critic = _layers(draws, (n_variants + n_conditions, N_HIDDEN, N_HIDDEN, 1))
    start, run = _training(steps)
    state = start(made, critic)
    for _ in range(steps // STRETCH):
        who = draws.integers(n_haplotypes, size=(STRETCH, BATCH))
        latent = draws.standard_normal((2, STRETCH, BATCH, N_LATENT), dtype=np.float32)
        state = run(state, who, *latent, alleles, conditions)
    return library().jax.tree.map(np.asarray, state["kept"])


def log_odds(layers, latent, conditions):
    """Return what a generator makes: (n_haplotypes, n_variants) float32.

    Parameters
    ----------
    layers : what `train` returned.
    latent : (n_haplotypes, N_LATENT) float32, standard normal.
    conditions : (n_haplotypes, n_conditions) float32
    """
    return np.asarray(_compiled_generator()(layers, latent, conditions))


def _layers(draws, sizes):
    """Draw layers whose outputs have the size of their inputs."""
    return [
        (
            draws.standard_normal((n_in, n_out), dtype=np.float32) * np.float32(np.sqrt(2 / n_in)),
            np.zeros(n_out, dtype=np.float32),
        )
        for n_in, n_out in pairwise(sizes)
    ]


def _output(layers, x):
    for weights, shift in layers[:-1]:
        x = library().jax.nn.leaky_relu(x @ weights + shift, LEAK)
    weights, shift = layers[-1]
    return x @ weights + shift


def _generate(layers, latent, conditions):
    return _output(layers, library().jnp.concatenate([latent, conditions], axis=1))


@cache
def _compiled_generator():
    return compiled(_generate)


@cache
def _training(steps):
    """Return two functions: the state at first, and that after a stretch of steps."""
    jax, jnp, optax = library().jax, library().jnp, library().optax
    optimiser = optax.adam(optax.cosine_decay_schedule(LEARNING_RATE, steps), b1=0.0, b2=0.99)

    def score(critic, alleles, conditions):
        return _output(critic, jnp.concatenate([alleles - 0.5, conditions], axis=1))[:, 0]

    def slope(critic, alleles, conditions):
        by_allele = jax.grad(lambda x: score(critic, x, conditions).sum())(alleles)
        return (by_allele**2).sum(axis=1).mean()

    def loss_of_critic(critic, layers, latent, real, conditions):
        made = jax.nn.sigmoid(_generate(layers, latent, conditions))
        lead = score(critic, real, conditions) - score(critic, made, conditions)
        slopes = slope(critic, real, conditions) + slope(critic, made, conditions)
        return jax.nn.softplus(-lead).mean() + SLOPE_PENALTY / 2 * slopes

    def loss_of_generator(layers, critic, latent, real, conditions):
        made = jax.nn.sigmoid(_generate(layers, latent, conditions))
        return jax.nn.softplus(score(critic, real, conditions) - score(critic, made, conditions)).mean()

    def moved(loss, own, other, moments, *batch):
        change, moments = optimiser.update(jax.grad(loss)(own, other, *batch), moments)
        return optax.apply_updates(own, change), moments

    def start(made, critic):
        moments = {"of_made": optimiser.init(made), "of_critic": optimiser.init(critic)}
        return {"made": made, "critic": critic, "kept": made} | moments

    def run(state, who, to_critic, to_generator, alleles, conditions):
        def step(state, drawn):
            rows, *latent = drawn
            batch = (alleles[rows], conditions[rows])
            critic, of_critic = moved(
                loss_of_critic, state["critic"], state["made"], state["of_critic"], latent[0], *batch
            )
            made, of_made = moved(
                loss_of_generator, state["made"], critic, state["of_made"], latent[1], *batch
            )
            kept = jax.tree.map(lambda old, new: KEPT * old + (1 - KEPT) * new, state["kept"], made)
            moments = {"of_made": of_made, "of_critic": of_critic}
            return {"made": made, "critic": critic, "kept": kept} | moments, None

        return jax.lax.scan(step, state, (who, to_critic, to_generator))[0]

    return start, compiled(run)
