# Variants chosen for each outcome without privacy, to compare with. Private choices are drawn: draw.smk.


rule choose_exactly:
    input:
        variant_set=f"{PRIVATE}/variants.zarr",
        outcomes=EXACT_OUTCOMES,
    output:
        choices=in_place(f"{REPLICATE}/exact_choices.npz"),
    log:
        f"{LOGS}/choose_exactly/{{replicate}}.log",
    benchmark:
        f"{BENCHMARKS}/choose_exactly/{{replicate}}.tsv"
    group:
        GROUP_OF_REPLICATE
    conda:
        "../../envs/dpgrs.yaml"
    # Of many variants, people and outcomes more are of use: --set-threads choose_exactly=8
    threads: 1
    resources:
        **resources_of("choose-exactly", SHAPE),
    params:
        settings=settings_of("choose-exactly"),
        code=code_read("choose-exactly"),
    shell:
        "python -m dpgrs choose-exactly --settings {params.settings:q} {input.variant_set} {input.outcomes}"
        " --threads {threads} --output {output.choices} 2> {log}"
