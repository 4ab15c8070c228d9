# A table of real numbers to the variants of the study: what follows takes its columns as it takes variants.


rule make_table_variants:
    input:
        table=SETTINGS.cohort.table,
        ranges=SETTINGS.cohort.ranges,
        stamps=stamps([SETTINGS.cohort.table, SETTINGS.cohort.ranges]),
    output:
        variant_set=directory(in_place(f"{PRIVATE}/variants.zarr")),
        outcomes=in_place(outcomes_file()) if takes_columns(SETTINGS) else [],
    log:
        f"{LOGS}/make_table_variants.log",
    benchmark:
        f"{BENCHMARKS}/make_table_variants.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("make-table-variants", SHAPE),
    params:
        outcomes=lambda wildcards, output: flags(
            outcomes=list(output.get("outcomes", []))
        ),
        settings=settings_of("make-table-variants"),
        code=code_read("make-table-variants"),
    shell:
        "python -m dpgrs make-table-variants --settings {params.settings:q} {input.table:q} --ranges {input.ranges:q} --output {output.variant_set}"
        " {params.outcomes} 2> {log}"
