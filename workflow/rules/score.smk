# Scores applied to people, who need not be those of the study: a target of its own, that nothing else asks for.
from itertools import chain

SCORED = scored_folder(RESULTS)
# This study's own: a bundle, by its last file, or what a benchmark has in its place.
OWN_SCORES = f"{RESULTS}/release" if IS_RELEASE else f"{PRIVATE}/scores"
OWN_FILE = f"{OWN_SCORES}/SHA256SUMS" if IS_RELEASE else OWN_SCORES


if not IS_RELEASE:

    # Exact, or of seeded noise.
    rule write_scores:
        input:
            weights=f"{PRIVATE}/replicate1/weights.npz",
            variant_set=f"{PRIVATE}/variants.zarr",
            outcomes=f"{PRIVATE}/replicate1/outcomes.zarr",
        output:
            scores=directory(OWN_SCORES),
        log:
            f"{PRIVATE}/logs/write_scores.log",
        benchmark:
            f"{PRIVATE}/benchmarks/write_scores.tsv"
        conda:
            "../../envs/dpgrs.yaml"
        threads: 1
        resources:
            **resources_of("write-scores", SHAPE),
        params:
            settings=settings_of("write-scores"),
            code=code_read("write-scores"),
        shell:
            "python -m dpgrs write-scores --settings {params.settings:q} {input.weights} {input.variant_set} {input.outcomes}"
            " --output {output.scores} 2> {log}"


# What tells of them, logs too, is as private as they are.
rule score:
    input:
        unpack(lambda wildcards: scoring_inputs(SETTINGS, own_scores=OWN_FILE)),
        stamps=lambda wildcards: stamps(
            chain(*scoring_inputs(SETTINGS, own_scores=OWN_FILE).values()),
            is_genotypes=True,
        ),
    output:
        scored=report(
            directory(SCORED),
            patterns=["figures/{category}/{figure}.svg"],
            caption="../report/figure.rst",
            category="{category}",
            labels={"figure": "{figure}"},
        ),
    log:
        f"{PRIVATE}/logs/score.log",
    benchmark:
        f"{PRIVATE}/benchmarks/score.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 2
    resources:
        **resources_of("score", ScoringShape(SETTINGS)),
    params:
        options=lambda wildcards: scoring_flags(SETTINGS, own_scores=OWN_SCORES),
        code=code_digest("steps/score.py"),
    shell:
        "python -m dpgrs score {input.target:q} {params.options} --threads {threads} --output {output.scored}"
        " > {log} 2>&1"
