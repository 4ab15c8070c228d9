# Phased VCFs (simulated or real) to bit-packed haplotypes per chromosome, then to the panel of the study.


rule simulate_cohort:
    output:
        vcfs=expand(f"{PRIVATE}/cohort/{{chrom}}.vcf.gz", chrom=CHROMOSOMES),
        indexes=expand(f"{PRIVATE}/cohort/{{chrom}}.vcf.gz.tbi", chrom=CHROMOSOMES),
        populations=f"{PRIVATE}/cohort/populations.tsv",
        reference=(
            expand(f"{PUBLIC}/reference/{{chrom}}.vcf.gz", chrom=CHROMOSOMES)
            if IS_RELEASE
            else []
        ),
    log:
        f"{LOGS}/simulate_cohort.log",
    conda:
        "../../envs/simulation.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        directory=subpath(output.populations, parent=True),
        options=flags(
            chromosome=CHROMOSOMES,
            seed=SEED,
            reference=f"{PUBLIC}/reference" if IS_RELEASE else None,
            **SETTINGS["cohort"]["simulation"],
        ),
        code=code_digest("simulation/cohorts.py"),
    shell:
        "python -m dpgrs simulate-cohort {params.directory} {params.options} 2> {log}"


rule ingest_chromosome:
    input:
        vcf=genotype_file,
    output:
        store=directory(f"{PRIVATE}/store/{{chrom}}.zarr"),
    log:
        f"{LOGS}/ingest_chromosome/{{chrom}}.log",
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=240,
    params:
        options=flags(
            phased="required" if ROWS == "haplotypes" else "any",
            keep_filtered=SETTINGS["cohort"]["keep_filtered"],
        ),
        code=code_digest("io"),
    shell:
        "python -m dpgrs ingest-chromosome {input.vcf:q} --chromosome {wildcards.chrom} --output {output.store}"
        " {params.options} 2> {log}"


rule make_panel:
    input:
        stores=expand(f"{PRIVATE}/store/{{chrom}}.zarr", chrom=CHROMOSOMES),
        sites=SITES,
    output:
        panel=directory(f"{PRIVATE}/panel.zarr"),
    log:
        f"{LOGS}/make_panel.log",
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        sites=lambda wildcards, input: flags(sites=list(input.sites)),
        options="" if IS_RELEASE else PANEL_OPTIONS,
        code=code_digest("io", "steps/panel.py"),
    shell:
        "python -m dpgrs make-panel {input.stores} --output {output.panel} {params.sites} {params.options} 2> {log}"
