"""What cases of the frontier take beside settings of a study: files made of outcomes, and PRIMO's fits."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpgrs.io.outcomes import Outcomes
from dpgrs.io.variant_set import VariantSet
from dpgrs.linalg.statistics import coded_rows
from dpgrs.public_random import generator
from dpgrs_papers.experiments.primo_fits import NON_PRIVATE, PATH, TERMS, configuration, measure

OUTCOMES = "private/replicate1/outcomes.zarr"
# Clips no row: outcomes are bounded by 3. Rows of so many outcomes were clipped before the frontier, too.
UNCLIPPED, CLIPPED_BEFORE = {"outcome_clip": 3}, 10
ORIGIN = "Outcomes of the people of the public panel"


def write_if_new(path: Path | str, text: str) -> None:
    """Write text; a file that holds it already stays, as Snakemake looks at its time."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)


def first_replicate(folder: Path | str) -> tuple[VariantSet, Outcomes]:
    """Return the VariantSet and the Outcomes, in memory, of the first replicate of a study in a folder."""
    outcomes = Outcomes.load(Path(folder, OUTCOMES))
    arrays = {size: np.asarray(arrays) for size, arrays in outcomes.values.items()}
    return VariantSet.open(Path(folder, "private", "variants.zarr")), replace(outcomes, values=arrays)


def with_own_share(
    variant_set: VariantSet, shared: Outcomes, separate: Outcomes, *, own_share: float = 0.5
) -> Outcomes:
    """Return outcomes that share causes in part."""
    first, second = np.sqrt([1 - own_share, own_share])
    new_values, effects = (
        {size: first * shared_arrays[size] + second * separate_arrays[size] for size in shared_arrays}
        for shared_arrays, separate_arrays in (
            (shared.values, separate.values),
            (shared.effects, separate.effects),
        )
    )
    return replace(shared, values=new_values, effects=effects)


def with_residuals_of(variant_set: VariantSet, shared: Outcomes, separate: Outcomes) -> Outcomes:
    """Return outcomes whose genes are shared, and all else their own."""
    new_values = {}
    for size, effects in shared.effects.items():
        genotypes = variant_set.genotypes(variant_set.of_size(size))
        X = coded_rows(genotypes, n_haplotypes=variant_set.n_haplotypes, rows=shared.rows)
        genetic = (effects - separate.effects[size]) @ X.T
        new_values[size] = separate.values[size] + genetic - genetic.mean(axis=1, keepdims=True)
    return replace(shared, values=new_values)


def measured(
    terms_name: str,
    variant_set: VariantSet,
    outcomes: Outcomes,
    *,
    methods: list[str],
    seed: int,
    counts: list[int],
    epsilons: list[float],
    **privacy: Any,
) -> pd.DataFrame:
    """Measure methods as a study does, ReuseCov along the path of penalties of PRIMO's figures."""
    study_size = {"source": "vcf", "sizes": list(outcomes.values), "counts": counts, "epsilons": epsilons}
    config = configuration(TERMS[terms_name], methods=methods, **study_size, **privacy)
    return pd.DataFrame(
        measure(variant_set, outcomes, configs={terms_name: config}, seed=seed, key=("frontier",))
    )


def last_version(
    variant_set: VariantSet, outcomes: Outcomes, *, counts: list[int], **options: Any
) -> pd.DataFrame:
    """Measure BLUP as it was before the frontier: rows of fewer than ten outcomes are not clipped."""
    counts_by_clip = (
        [count for count in counts if count < CLIPPED_BEFORE],
        [c for c in counts if c >= CLIPPED_BEFORE],
    )
    options |= {"methods": ["blup"], "bounds": "tight"}
    return pd.concat(
        [
            measured("ours", variant_set, outcomes, counts=few, **options, **clip)
            for few, clip in zip(counts_by_clip, (UNCLIPPED, {}), strict=True)
            if few
        ]
    )


def measure_once(path: Path, folders: list[Path], function: Callable, *, mix: Callable | None = None) -> None:
    """Write what a function measures on what studies made, unless it is there and newer."""
    sources = [Path(folder, OUTCOMES) for folder in folders]
    if path.is_file() and all(path.stat().st_mtime > source.stat().st_mtime for source in sources):
        return
    variant_sets, outcomes = zip(*map(first_replicate, folders), strict=True)
    variant_set, outcomes = variant_sets[0], mix(variant_sets[0], *outcomes) if mix else outcomes[0]
    function(variant_set, outcomes).to_csv(path, sep="\t", index=False)


def at_penalty(rows: pd.DataFrame, penalty: float) -> pd.DataFrame:
    """Return the rows of a path's one penalty for ridge, and those of all that has none."""
    is_on_path = rows["which"] == PATH
    is_ridge = (rows["method"] == NON_PRIVATE) & np.isclose(rows["penalty"], penalty)
    return rows[~is_on_path | is_ridge]


def write_loadings(path: Path | str, outcomes: Outcomes, *, n_components: int) -> None:
    """Write loadings of outcomes on the first principal components of their correlations."""
    (values,) = outcomes.values.values()
    spread, axes = np.linalg.eigh(np.corrcoef(values))
    loadings = axes[:, ::-1][:, :n_components] * np.sqrt(spread[::-1][:n_components])
    names = [f"c{number}" for number in range(1, n_components + 1)]
    table = pd.DataFrame(loadings, columns=names)
    table.insert(0, "outcome", outcomes.names)
    table["origin"] = ORIGIN
    write_if_new(path, table.to_csv(sep="\t", index=False, lineterminator="\n"))


def write_scores(
    folder: Path, variant_set: VariantSet, outcomes: Outcomes, *, correlation: float, seed: int
) -> list[str]:
    """Write public effects of each outcome, as far as they go with the true ones."""
    ((size, effects),) = outcomes.effects.items()
    sites, paths = variant_set.variants.iloc[variant_set.of_size(size)], []
    for name, true in zip(outcomes.names, effects, strict=True):
        other = generator(seed, "frontier scores", name).standard_normal(size) * true.std()
        weights = correlation * true + np.sqrt(1 - correlation**2) * other
        table = pd.DataFrame(
            {
                "chr_name": sites["contig"].str.removeprefix("chr"),
                "chr_position": sites["position"],
                "effect_allele": sites["alt"],
                "other_allele": sites["ref"],
                "effect_weight": weights,
            }
        )
        paths.append(str(Path(folder, f"{name}.txt")))
        text = table.to_csv(sep="\t", index=False, lineterminator="\n")
        write_if_new(paths[-1], "#genome_build=GRCh37\n" + text)
    return paths
