# Sums over the training rows as exact integers: of all rows at once, or of shards of people, which are added.


rule compute_statistics:
    input:
        variant_set=f"{PRIVATE}/variants.zarr",
        outcomes=DRAWN_OUTCOMES,
        covariates=[] if ADJUSTS else COVARIATES,
    output:
        statistics=(
            in_place(f"{REPLICATE}/statistics.npz")
            if N_SHARDS == 1
            else temp(in_place(SHARD))
        ),
    log:
        f"{LOGS}/compute_statistics/{OF_SHARD}.log",
    benchmark:
        f"{BENCHMARKS}/compute_statistics/{OF_SHARD}.tsv"
    group:
        GROUP_OF_REPLICATE
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("compute-statistics", SHAPE),
    params:
        # Of a benchmark others take X'X, too.
        options=lambda wildcards, input: flags(
            covariates=list(input.covariates),
            without_gram=not any(mechanism_named(name).draws_gram for name in DRAWS),
            shard=wildcards.get("shard"),
            shards=None if N_SHARDS == 1 else N_SHARDS,
        ),
        settings=settings_of("compute-statistics"),
        code=code_read("compute-statistics"),
    shell:
        "python -m dpgrs compute-statistics --settings {params.settings:q} {input.variant_set} {input.outcomes}"
        " --output {output.statistics} {params.options} 2> {log}"


if N_SHARDS > 1:

    rule add_statistics:
        input:
            shards=expand(SHARD, shard=range(1, N_SHARDS + 1), allow_missing=True),
        output:
            statistics=in_place(f"{REPLICATE}/statistics.npz"),
        log:
            f"{LOGS}/add_statistics/{{replicate}}.log",
        benchmark:
            f"{BENCHMARKS}/add_statistics/{{replicate}}.tsv"
        conda:
            "../../envs/dpgrs.yaml"
        threads: 1
        resources:
            **resources_of("add-statistics", SHAPE),
        params:
            code=code_read("add-statistics"),
        shell:
            "python -m dpgrs add-statistics {input.shards} --output {output.statistics} 2> {log}"


if ADJUSTS:

    # Of outcomes adjusted without privacy, for fits without any: benchmarks alone ask for it.
    use rule compute_statistics as compute_exact_statistics with:
        input:
            variant_set=f"{PRIVATE}/variants.zarr",
            outcomes=EXACT_OUTCOMES,
            covariates=[],
        output:
            statistics=in_place(EXACT_STATISTICS),
        log:
            f"{LOGS}/compute_exact_statistics/{{replicate}}.log",
        benchmark:
            f"{BENCHMARKS}/compute_exact_statistics/{{replicate}}.tsv"
        params:
            options="",
