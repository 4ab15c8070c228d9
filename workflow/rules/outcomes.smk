# Outcomes, simulated or from a table, and the split of people into training and test rows.


rule make_outcomes:
    input:
        variant_set=f"{PRIVATE}/variants.zarr",
        table=outcomes_file(),
        scales=scales_file(),
        loadings=outcome_loadings_file(),
        stamps=stamps([*outcomes_file(), *scales_file(), *outcome_loadings_file()]),
    output:
        outcomes=directory(in_place(f"{REPLICATE}/outcomes.zarr")),
        counts=outcome_counts(REPLICATE),
    log:
        f"{LOGS}/make_outcomes/{{replicate}}.log",
    benchmark:
        f"{BENCHMARKS}/make_outcomes/{{replicate}}.tsv"
    group:
        GROUP_OF_REPLICATE
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("make-outcomes", SHAPE),
    params:
        table=lambda wildcards, input: flags(
            table=list(input.table),
            scales=list(input.scales),
            loadings=list(input.get("loadings", [])),
        ),
        counts=lambda wildcards, output: flags(
            people_counts=list(output.get("counts", []))
        ),
        settings=settings_of("make-outcomes"),
        code=code_read("make-outcomes"),
    shell:
        "python -m dpgrs make-outcomes --settings {params.settings:q} {input.variant_set} --replicate {wildcards.replicate} --output {output.outcomes}"
        " {params.table} {params.counts} 2> {log}"
