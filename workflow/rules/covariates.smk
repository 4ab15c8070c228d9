# Covariates: from a table, and principal components of the genotypes by public loadings.


# Of the public reference; a benchmark takes the cohort's own people as a stand-in.
rule make_loadings:
    input:
        variant_set=f"{PUBLIC if IS_RELEASE else PRIVATE}/variants.zarr",
    output:
        loadings=LOADINGS_FILE,
    log:
        f"{LOGS}/make_loadings.log",
    benchmark:
        f"{BENCHMARKS}/make_loadings.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("make-loadings", REFERENCE if IS_RELEASE else SHAPE),
    params:
        settings=settings_of("make-loadings"),
        code=code_read("make-loadings"),
    shell:
        "python -m dpgrs make-loadings --settings {params.settings:q} {input.variant_set} --output {output.loadings} 2> {log}"


# Exact counts of people, for the operator; in a benchmark its pages show them too.
COVARIATE_COUNTS = (
    [f"{PRIVATE}/covariate_counts.tsv"] if SETTINGS.covariates.file else []
)


rule make_covariates:
    input:
        variant_set=f"{PRIVATE}/variants.zarr",
        table=covariates_file("covariates", "file"),
        scales=covariates_file("covariates", "scales"),
        loadings=LOADINGS,
        stamps=stamps(
            [
                *covariates_file("covariates", "file"),
                *covariates_file("covariates", "scales"),
            ]
        ),
    output:
        covariates=in_place(f"{PRIVATE}/covariates.npz"),
        counts=COVARIATE_COUNTS,
    log:
        f"{LOGS}/make_covariates.log",
    benchmark:
        f"{BENCHMARKS}/make_covariates.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("make-covariates", SHAPE),
    params:
        files=lambda wildcards, input: flags(
            table=list(input.table),
            scales=list(input.scales),
            loadings=list(input.loadings),
        ),
        counts=lambda wildcards, output: flags(
            people_counts=list(output.get("counts", []))
        ),
        settings=settings_of("make-covariates"),
        code=code_read("make-covariates"),
    shell:
        "python -m dpgrs make-covariates --settings {params.settings:q} {input.variant_set} --output {output.covariates} {params.files} {params.counts}"
        " 2> {log}"


if ADJUSTS:

    rule adjust_outcomes:
        input:
            outcomes=OUTCOMES,
            covariates=COVARIATES,
            drawn=[f"{REPLICATE}/drawn/{REGRESSION}.npz"],
        output:
            outcomes=directory(in_place(DRAWN_OUTCOMES)),
        log:
            f"{LOGS}/adjust_outcomes/{{replicate}}.log",
        benchmark:
            f"{BENCHMARKS}/adjust_outcomes/{{replicate}}.tsv"
        group:
            GROUP_OF_REPLICATE
        conda:
            "../../envs/dpgrs.yaml"
        threads: 1
        resources:
            **resources_of("adjust-outcomes", SHAPE),
        params:
            files=lambda wildcards, input: flags(drawn=list(input.drawn)),
            settings=settings_of("adjust-outcomes"),
            code=code_read("adjust-outcomes"),
        shell:
            "python -m dpgrs adjust-outcomes --settings {params.settings:q} {input.outcomes} {input.covariates} {params.files}"
            " --output {output.outcomes} 2> {log}"

    # Without privacy, as a reference: benchmarks alone ask for it.
    use rule adjust_outcomes as adjust_outcomes_exactly with:
        input:
            outcomes=OUTCOMES,
            covariates=COVARIATES,
            drawn=[],
        output:
            outcomes=directory(in_place(EXACT_OUTCOMES)),
        log:
            f"{LOGS}/adjust_outcomes_exactly/{{replicate}}.log",
        benchmark:
            f"{BENCHMARKS}/adjust_outcomes_exactly/{{replicate}}.tsv"
