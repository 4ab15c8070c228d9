"""R^2 of private scores of a simulated whole genome, as one table.

A twentieth of a genome and of a biobank stand for the whole: accuracy depends on their ratio. Chromosomes are
simulated once, each release is measured once, and its rows are written at once.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.ticker import NullLocator

from dpgrs.linalg.genome_prior import SteeredNoise, genome_map, residual_deviation, steered_noise
from dpgrs.methods.public_scores import public_scores
from dpgrs.privacy.accounting.accountant import gdp_mu
from dpgrs.privacy.digests import json_digest
from dpgrs.public_random import generator
from dpgrs.reporting.svg import INK, PALETTE
from dpgrs_papers.experiments import genome_cohort
from dpgrs_papers.experiments.genome_cohort import LENGTH, CohortSizes, simulate_chromosome, write_chromosome
from dpgrs_papers.experiments.genome_labels import RandomisedBins, best_bins
from dpgrs_papers.experiments.genome_study import (
    APART,
    N_FACTORS,
    Architecture,
    GenomeCohort,
    MapFits,
    Phenotypes,
    ReferencePanel,
    accuracies,
    exact_sums,
    marginal_effects,
    noisy_moments,
    others_phenotypes,
    people_scores,
    public_part,
    reference_panel,
    simulate_phenotypes,
)
from dpgrs_papers.experiments.plots import new_figure, styled

FOLDER = Path("results", "genome")
DELTA = 1e-6
EPSILONS = (1.0, 3.0, 10.0)
TYPED = tuple(Architecture(share) for share in (0.01, 0.1, 1.0))
UNTYPED = tuple(architecture._replace(is_typed=False) for architecture in TYPED)
ARCHITECTURES = TYPED + UNTYPED
ALL_FITS = ("BLUP", "mixture", "stack")
OF_CAUSES = {"n_phenotypes": 10, "architectures": TYPED[:2]}
# Of the figure: protection, fit and how the line is drawn.
LINES = {
    "without privacy, mixture": ("none", "mixture", "--"),
    "full protection, add-remove, stack": ("add-remove", "stack", "o-"),
    "full protection, add-remove, BLUP": ("add-remove", "BLUP", "s-"),
    "full protection, replace-one, BLUP": ("replace-one", "BLUP", "D-"),
    "randomised phenotypes only, replace-one, BLUP": ("bins", "BLUP", "^:"),
}
# Of mu^2, for second moments. Relative to them their noise falls with the root of a genome's length, if there
# are as many people for a variant: it is that of a whole genome, of so many chromosomes of `LENGTH`.
LD_SHARE, WHOLE_GENOME = 0.1, 300
# People of a public GWAS, who are others, over those who are trained on.
GWAS_SHARE = 0.25
# Without noise: neither rows nor phenotypes are clipped, and all directions have a share.
NO_NOISE, NO_CLIP = 1e9, 100.0


class Setting(NamedTuple):
    """Terms of releases along one public map."""

    protection: str = "add-remove"  # "replace-one", "sign" or "bins" of phenotypes, "none"
    epsilon: float = np.inf
    n_phenotypes: int = 1
    panel: str = "2000"  # people of the cohort's population, or `OTHER_POPULATION`
    fits: tuple[str, ...] = ALL_FITS
    architectures: tuple[Architecture, ...] = TYPED
    ld_share: float = 0.0  # of mu^2, on second moments of rows within LD blocks
    public: str = ""  # how effects of a public GWAS are used: "", "started from" or "subtracted"
    is_shared: bool = False  # whether phenotypes share causes

    @property
    def name(self) -> str:
        """The terms as the name of a file."""
        terms = f"epsilon{self.epsilon:g}-phenotypes{self.n_phenotypes}-panel{self.panel}"
        moments = f"-moments{self.ld_share:g}" if self.ld_share else ""
        public = f"-effects {self.public}".replace(" ", "-") if self.public else ""
        causes = "-shared" * self.is_shared + f"-apart-{self.fits[0]}" * (
            f"{self.fits[0]}{APART}" in self.fits
        )
        return f"{self.protection}-{terms}{moments}{public}{causes}"

    @property
    def noise_name(self) -> str:
        """The terms of its noise, which releases share that use public effects or causes in other ways."""
        return self._replace(public="", is_shared=False, fits=ALL_FITS).name


PARTS = {
    "main": [
        *(Setting(epsilon=epsilon) for epsilon in EPSILONS),
        Setting("none", fits=("BLUP", "mixture")),
    ],
    "untyped": [Setting(epsilon=epsilon, architectures=UNTYPED) for epsilon in EPSILONS],
    "phenotypes": [Setting(epsilon=epsilon, n_phenotypes=10, fits=("BLUP",)) for epsilon in EPSILONS],
    "causes": [
        *(
            Setting(epsilon=epsilon, is_shared=is_shared, fits=("BLUP", f"BLUP{APART}"), **OF_CAUSES)
            for epsilon in EPSILONS
            for is_shared in (True, False)
        ),
        Setting(epsilon=3.0, is_shared=True, fits=("stack", f"stack{APART}"), **OF_CAUSES),
    ],
    "panels": [
        Setting(epsilon=epsilon, panel=panel, fits=("BLUP",))
        for panel in ("500", "100", genome_cohort.OTHER_POPULATION)
        for epsilon in EPSILONS
    ],
    "moments": [
        Setting(epsilon=epsilon, panel=panel, fits=("BLUP", "stack"), ld_share=LD_SHARE)
        for panel in ("2000", "100", genome_cohort.OTHER_POPULATION)
        for epsilon in EPSILONS
    ],
    "public": [
        Setting(epsilon=epsilon, fits=("BLUP", "stack"), architectures=TYPED[:2], public=public)
        for epsilon in EPSILONS
        for public in ("started from", "subtracted")
    ],
    "labels": [
        Setting(protection, epsilon, fits=("BLUP",))
        for epsilon in EPSILONS
        for protection in ("replace-one", "sign", "bins")
    ],
}


def simulated(given: argparse.Namespace) -> GenomeCohort:
    """Return the cohort, with the largest number of people to train on.

    Chromosomes that are there are not simulated again: their folder is named by what they are made of.
    """
    sizes = CohortSizes(max(given.train), given.panel, given.test, given.other_panel)
    terms = [given.seed, given.length, sizes, genome_cohort.MODEL_TERMS]
    folder, files = given.folder / f"cohort-{json_digest(terms).hex()[:12]}", []
    for number in range(1, given.only + 1):
        files.append(folder / f"{number}.npz")
        if not files[-1].exists():
            started = time.monotonic()
            chromosome = simulate_chromosome(number, seed=given.seed, sizes=sizes, length=given.length)
            write_chromosome(files[-1], chromosome)
            print(f"chromosome {number}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    return GenomeCohort(tuple(files), sizes, sizes.train)


def people_of_panel(cohort: GenomeCohort, panel: str) -> slice:
    """Return the places of the people of a panel."""
    if panel == genome_cohort.OTHER_POPULATION:
        return cohort.people.other_panel
    start, stop = cohort.people.panel.start, cohort.people.panel.stop
    return slice(start, min(start + int(panel), stop))


def noise_of(
    setting: Setting, cohort: GenomeCohort, panel: ReferencePanel, *, deviation: float = 1.0
) -> tuple[SteeredNoise, float, RandomisedBins | None]:
    """Return what a fit may expect of a release, the noise of an entry, and what randomises phenotypes."""
    spectrum, population, n = panel.prior.spectrum, panel.prior.population_spectrum, cohort.n_train
    if setting.protection in ("add-remove", "replace-one"):
        mu, sensitivity = gdp_mu(setting.epsilon, DELTA), 1.0 if setting.protection == "add-remove" else 2.0
        mu *= np.sqrt(1 - setting.ld_share)
        terms = {"n_phenotypes": setting.n_phenotypes, "sensitivity": sensitivity, "deviation": deviation}
        noise, planned = (steered_noise(each, n, mu=mu, **terms) for each in (spectrum, population))
        return replace(noise, expected_r2=planned.expected_r2), sensitivity * noise.clip / mu, None
    noise, bins = steered_noise(spectrum, n, mu=NO_NOISE, clip=NO_CLIP), None
    planned = steered_noise(population, n, mu=NO_NOISE, clip=NO_CLIP)
    noise = replace(noise, expected_r2=planned.expected_r2)
    if setting.protection != "none":
        bins = best_bins(setting.epsilon) if setting.protection == "bins" else None
        bins = bins or RandomisedBins(setting.epsilon, np.zeros(1))
        slope = bins.effective_share
        r2 = (population.variances**2 / (population.variances + 1 / (n * slope))).sum()
        noise = replace(noise, slope=slope, residual=1 / slope, expected_r2=float(r2))
    return noise, 0.0, bins


class Measurement:
    """Releases of a cohort, and what their scores explain of people."""

    def __init__(self, cohort: GenomeCohort, phenotypes: Phenotypes, *, seed: int) -> None:
        self._cohort, self._phenotypes, self._seed = cohort, phenotypes, seed
        others = slice(cohort.people.test.start, cohort.people.other_panel.stop)
        self._dosages = [np.ascontiguousarray(part.typed[:, others]) for part in cohort.chromosomes()]

    def rows(
        self, setting: Setting, panel: ReferencePanel, releases: list[tuple[Architecture, int]]
    ) -> Iterator[list[dict]]:
        """Yield the rows of each release: of an architecture, from a first replicate on."""
        if setting.public:
            for release in releases:
                yield from self._rows(setting, panel, [release])
        else:
            yield from self._rows(setting, panel, releases)

    def _rows(
        self, setting: Setting, panel: ReferencePanel, releases: list[tuple[Architecture, int]]
    ) -> Iterator[list[dict]]:
        """Do the work of `rows`; releases with a public score have maps of their own."""
        cohort, n_phenotypes, scores = self._cohort, setting.n_phenotypes, None
        effects = self._gwas(setting, panel, *releases[0]) if setting.public else None
        if setting.public == "subtracted":
            scores = public_scores(panel.prior, panel.chromosomes, {"phenotype": effects})
        residuals = () if scores is None else scores.residual_variances
        deviation = residual_deviation(residuals, n_phenotypes)
        noise, noise_sd, bins = noise_of(setting, cohort, panel, deviation=deviation)
        genome = genome_map(panel.prior, noise, panel.chromosomes, scores)
        is_clipped = setting.protection in ("add-remove", "replace-one")
        if not is_clipped:
            genome = replace(genome, attenuations=np.ones_like(genome.attenuations))
        values = [self._values(setting, *release) for release in releases]
        Y = np.stack(
            [
                self._of_train(setting, bins, of_train, *release)
                for (_, of_train), release in zip(values, releases, strict=True)
            ]
        ).astype(np.float64)
        if scores is not None:
            Y -= public_part(cohort, panel, genome, cohort.people.train)
        Y *= np.minimum(1, noise.clip / np.linalg.norm(Y, axis=1, keepdims=True))
        sums = exact_sums(cohort, panel, genome, Y.reshape(-1, cohort.n_train), is_clipped=is_clipped)
        fits = MapFits(cohort, panel, genome, noise, noise_sd=noise_sd)
        if effects is not None:
            fits.take_effects(effects)
        if setting.ld_share:
            mu = gdp_mu(setting.epsilon, DELTA) * np.sqrt(setting.ld_share * WHOLE_GENOME / len(cohort.files))
            fits.take_moments(*noisy_moments(cohort, panel, genome, mu=mu, seed=self._seed))
        for number, (architecture, first) in enumerate(releases):
            of_release = slice(number * n_phenotypes, (number + 1) * n_phenotypes)
            rng = generator(self._seed, "genome noise", setting.noise_name, *architecture, first)
            noisy = [S[of_release] + noise_sd * rng.standard_normal(S[of_release].shape) for S in sums]
            genetic, rows = values[number][0], []
            for score in fits.scores(noisy, setting.fits):
                in_test, in_others = self._accuracies(score.weights, panel, genetic)
                rows += [
                    {
                        "chromosomes": len(cohort.files),
                        "n_train": cohort.n_train,
                        "ld_share": setting.ld_share,
                        "public": setting.public or "none",
                        **{name: getattr(setting, name) for name in Setting._fields[:4]},
                        "is_shared": setting.is_shared,
                        **architecture._asdict(),
                        "replicate": first + place,
                        "fit": score.fit,
                        **in_test[place]._asdict(),
                        "r2_in_others": in_others[place].r2,
                        "planned_r2": noise.expected_r2,
                        "heritability": score.heritability[place],
                        "mixture_share": score.mixture_share,
                        "scale": score.scale,
                        "n_factors": score.n_factors,
                    }
                    for place in range(n_phenotypes)
                ]
            yield rows

    def _gwas(
        self, setting: Setting, panel: ReferencePanel, architecture: Architecture, first: int
    ) -> np.ndarray:
        """Return effects per allele from a GWAS of one phenotype of other people, (n_variants,)."""
        cohort, n_gwas = self._cohort, round(GWAS_SHARE * self._cohort.n_train)
        people = slice(cohort.n_train, cohort.n_train + n_gwas)
        Y = others_phenotypes(
            cohort, self._phenotypes, architecture, first, ARCHITECTURES, people, seed=self._seed
        )
        return marginal_effects(cohort, panel, Y, people)

    def _values(
        self, setting: Setting, architecture: Architecture, first: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return genetic values, and phenotypes of people to train on."""
        number, n = ARCHITECTURES.index(architecture), setting.n_phenotypes
        if setting.is_shared:
            return self._phenotypes.sharing_causes(number, first, n)
        own = number, slice(first, first + n)
        return self._phenotypes.genetic[own], self._phenotypes.of_train[own]

    def _of_train(
        self,
        setting: Setting,
        bins: RandomisedBins | None,
        Y: np.ndarray,
        architecture: Architecture,
        first: int,
    ) -> np.ndarray:
        if bins is None:
            return Y
        return bins.randomised(Y, generator(self._seed, "phenotypes", setting.name, *architecture, first))

    def _accuracies(
        self, weights: list[np.ndarray], panel: ReferencePanel, genetic: np.ndarray
    ) -> list[list]:
        pairs = zip(self._dosages, panel.variants, strict=True)
        scores = people_scores((X[variants] for X, variants in pairs), weights)
        n_test = self._cohort.sizes.test
        start = self._cohort.people.test.start
        halves = slice(0, n_test), slice(n_test, None)
        return [accuracies(scores[:, half], genetic[:, start:][:, half]) for half in halves]


def measured_before(path: Path) -> set[tuple[float, bool, int]]:
    """Return the shares, kinds and replicates whose rows a file has; releases write all rows at once."""
    if not path.exists():
        return set()
    table = pd.read_csv(path, sep="\t")
    return set(table[["share", "is_typed", "replicate"]].itertuples(index=False, name=None))


def in_markdown(table: pd.DataFrame) -> list[str]:
    """Return means over replicates, as lines."""
    terms = [
        "n_train",
        "ld_share",
        "public",
        "protection",
        "panel",
        "n_phenotypes",
        "is_shared",
        "is_typed",
        "epsilon",
        "share",
        "fit",
    ]
    values = ["r2", "slope", "r2_in_others", "planned_r2"]
    means = table.groupby(terms)[values].mean().reset_index()
    counts = table.groupby(terms).size().to_numpy()
    lines = [f"| {' | '.join([*terms, *values, 'replicates'])} |", "|" + " --- |" * 16]
    for row, count in zip(means.itertuples(index=False), counts, strict=True):
        texts = [f"{value:g}" if isinstance(value, float) else f"{value}" for value in row[: len(terms)]]
        texts += [f"{value:.3f}" for value in row[len(terms) :]]
        lines.append(f"| {' | '.join([*texts, str(count)])} |")
    return lines


def draw(table: pd.DataFrame, path: Path) -> None:
    """Draw R^2 against epsilon, a panel for each share of causal variants, and write it as PNG."""
    table = table[table["is_typed"] & (table["n_phenotypes"] == 1) & (table["ld_share"] == 0)]
    table = table[table["public"] == "none"]
    table = table[table["panel"].astype(str) == "2000"]
    table = table[table["n_train"] == table["n_train"].max()]
    shares = sorted(table["share"].unique())
    if not shares:
        return
    with styled():
        figure, (axes,) = new_figure(
            640, 290, left=40, right=12, top=24, bottom=92, ncols=len(shares), sharey=True
        )
        for axis, share in zip(axes, shares, strict=True):
            here = table[table["share"] == share]
            for (name, (protection, fit, style)), colour in zip(LINES.items(), (INK, *PALETTE), strict=False):
                line = here[(here["protection"] == protection) & (here["fit"] == fit)]
                means = line.groupby("epsilon")["r2"].mean()
                if protection == "none":
                    means = pd.Series(means.mean(), index=EPSILONS)
                axis.plot(means.index, means, style, color=colour, label=name, markersize=4)
            axis.set(xscale="log", title=f"{100 * share:g} % causal", xlabel="epsilon", ylim=(0, 0.45))
            axis.xaxis.set_minor_locator(NullLocator())
            axis.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
        axes[0].set_ylabel("R² in other people")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=2, fontsize=7)
        figure.savefig(path, dpi=200)


def main(arguments: list[str] | None = None) -> int:
    """Simulate, measure what is not measured yet, print the table and draw it; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    # Effects are of people who are not trained on: with --only there are some.
    parts = [part for part in PARTS if part != "public"]
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=parts)
    parser.add_argument("--epsilon", type=float, nargs="+", help="only these")
    parser.add_argument("--replicates", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--chromosomes", type=int, default=15)
    parser.add_argument("--only", type=int, help="measure the first of them, on people in proportion")
    parser.add_argument("--length", type=int, default=LENGTH, help="of a chromosome, in base pairs")
    parser.add_argument("--train", type=int, nargs="+", default=[20_000], help="people, of all chromosomes")
    for name, size in (("panel", 2_000), ("test", 2_800), ("other-panel", 2_000)):
        parser.add_argument(f"--{name}", type=int, default=size, help="people")
    given = parser.parse_args(arguments)
    given.only = given.only or given.chromosomes
    if "public" in given.parts and (1 + GWAS_SHARE) * given.only > given.chromosomes:
        parser.error("--parts public must leave people for a GWAS: give --only fewer chromosomes")
    cohort = simulated(given)
    for n_people in given.train:
        measure(replace(cohort, n_train=round(n_people * given.only / given.chromosomes)), given)
    paths = sorted(given.folder.glob("chromosomes*/*.tsv"))
    table = pd.concat([pd.read_csv(path, sep="\t") for path in paths], ignore_index=True)
    # Files of earlier releases lack the columns.
    table["ld_share"] = table.get("ld_share", pd.Series(0.0, table.index)).fillna(0.0)
    table["public"] = table.get("public", pd.Series("none", table.index)).fillna("none")
    table["is_shared"] = table.get("is_shared", pd.Series(False, table.index)).fillna(False).astype(bool)
    table.to_csv(given.folder / "table.tsv", sep="\t", index=False)
    print(*in_markdown(table), sep="\n")
    draw(table, given.folder / "genome.png")
    return 0


def measure(cohort: GenomeCohort, given: argparse.Namespace) -> None:
    """Write the rows of all settings that are not measured yet."""
    measurement, panels = None, {}
    for setting in (setting for part in given.parts for setting in PARTS[part]):
        if given.epsilon and setting.epsilon not in (*given.epsilon, np.inf):
            continue
        path = given.folder / f"chromosomes{given.only}" / f"{setting.name}-people{cohort.n_train}.tsv"
        done = measured_before(path)
        releases = [
            (architecture, first)
            for first in range(0, given.replicates, setting.n_phenotypes)
            for architecture in setting.architectures
            if (*architecture, first) not in done
        ]
        if not releases:
            continue
        if measurement is None:
            # With the factors of each ten.
            n_replicates = max(given.replicates, 10) + N_FACTORS * -(-given.replicates // 10)
            phenotypes = simulate_phenotypes(
                cohort, ARCHITECTURES, seed=given.seed, n_replicates=n_replicates
            )
            measurement = Measurement(cohort, phenotypes, seed=given.seed)
        if setting.panel not in panels:
            panels = {setting.panel: reference_panel(cohort, people_of_panel(cohort, setting.panel))}
        path.parent.mkdir(parents=True, exist_ok=True)
        for rows in measurement.rows(setting, panels[setting.panel], releases):
            pd.DataFrame(rows).to_csv(path, sep="\t", index=False, mode="a", header=not path.exists())


if __name__ == "__main__":
    sys.exit(main())
