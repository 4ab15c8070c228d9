# What the genotypes of a benchmark look like. It knows single people, so no release may ask for it.


rule summarise_genotypes:
    input:
        stores=expand(f"{PRIVATE}/store/{{chrom}}.zarr", chrom=CHROMOSOMES),
        populations=populations_file(),
        stamps=stamps(populations_file()),
    output:
        summary=GENOTYPE_SUMMARY,
    log:
        f"{LOGS}/summarise_genotypes.log",
    benchmark:
        f"{BENCHMARKS}/summarise_genotypes.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("summarise-genotypes", SHAPE),
    params:
        populations=lambda wildcards, input: flags(populations=list(input.populations)),
        settings=settings_of("summarise-genotypes"),
        code=code_read("summarise-genotypes"),
    shell:
        "python -m dpgrs summarise-genotypes --settings {params.settings:q} {input.stores} --output {output.summary}"
        " {params.populations} 2> {log}"
