# A table of real numbers to the panel of the study: what follows takes its columns as it takes variants.


rule make_table_panel:
    input:
        table=SETTINGS["cohort"]["table"],
        ranges=SETTINGS["cohort"]["ranges"],
        stamps=stamps([SETTINGS["cohort"]["table"], SETTINGS["cohort"]["ranges"]]),
    output:
        panel=directory(in_place(f"{PRIVATE}/panel.zarr")),
        outcomes=in_place(outcomes_file()) if takes_columns(SETTINGS) else [],
    log:
        f"{LOGS}/make_table_panel.log",
    benchmark:
        f"{BENCHMARKS}/make_table_panel.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("make-table-panel", SHAPE),
    params:
        outcomes=lambda wildcards, output: flags(
            outcomes=list(output.get("outcomes", []))
        ),
        settings=settings_of("make-table-panel"),
        code=code_read("make-table-panel"),
    shell:
        "python -m dpgrs make-table-panel --settings {params.settings:q} {input.table:q} --ranges {input.ranges:q} --output {output.panel}"
        " {params.outcomes} 2> {log}"
