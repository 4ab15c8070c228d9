# Genotypes (simulated or real; VCF, BCF or PLINK) to bit-packed haplotypes per chromosome, perhaps to copies of
# these, then to the variants of the study.


rule simulate_cohort:
    output:
        vcf=in_place(f"{PRIVATE}/cohort/{{chrom}}.vcf.gz"),
        index=in_place(f"{PRIVATE}/cohort/{{chrom}}.vcf.gz.tbi"),
        populations=in_place(f"{PRIVATE}/cohort/{{chrom}}.populations.tsv"),
        reference=[f"{PUBLIC}/reference/{{chrom}}.vcf.gz"] if SITES else [],
    log:
        f"{LOGS}/simulate_cohort/{{chrom}}.log",
    benchmark:
        f"{BENCHMARKS}/simulate_cohort/{{chrom}}.tsv"
    group:
        GROUP_OF_CHROMOSOME
    conda:
        "../../envs/simulation.yaml"
    threads: 1
    resources:
        **resources_of("simulate-cohort", SHAPE),
    params:
        reference=lambda wildcards, output: flags(reference=list(output.reference)),
        settings=settings_of("simulate-cohort"),
        code=code_read("simulate-cohort"),
    shell:
        "python -m dpgrs simulate-cohort --settings {params.settings:q} --output {output.vcf}"
        " --populations {output.populations} {params.reference} 2> {log}"


# Runs only where not everybody is in the study. All files hold the same people, so the first header tells.
rule choose_people:
    input:
        genotypes=lambda wildcards: cohort_files(SETTINGS.cohort, CHROMOSOMES[0]),
        tables=lambda wildcards: tables_of(
            cohort_files(SETTINGS.cohort, CHROMOSOMES[0])
        ),
        lists=list(PEOPLE.paths.values()),
        stamps=lambda wildcards: [
            *stamps(cohort_files(SETTINGS.cohort, CHROMOSOMES[0]), is_genotypes=True),
            *stamps(PEOPLE.paths.values()),
        ],
    output:
        # Nobody asks for the other one.
        people=in_place(
            f"{PRIVATE}/{'chosen_before' if CHROMOSOMES[0] in STORED else 'people'}.txt"
        ),
        # Exact numbers of people, which a release may not show.
        counts=[] if IS_RELEASE else f"{PRIVATE}/people.json",
    log:
        f"{LOGS}/choose_people.log",
    benchmark:
        f"{BENCHMARKS}/choose_people.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("choose-people", SHAPE),
    params:
        counts=lambda wildcards, output: flags(counts=output.counts or None),
        settings=lambda wildcards: settings_read(SETTINGS, "choose-people", ["people"]),
        code=code_read("choose-people"),
    shell:
        "python -m dpgrs choose-people --settings {params.settings:q} --output {output.people} {params.counts}"
        " -- {input.genotypes:q} 2> {log}"


# Calls of people who are not in the study end here.
rule ingest_chromosome:
    input:
        genotypes=genotype_files,
        tables=genotype_tables,
        people=people_file(),
        sites=SITES if SETTINGS.cohort.fixed_sites else [],
        stamps=lambda wildcards: stamps(genotype_files(wildcards), is_genotypes=True),
    output:
        store=directory(
            in_place(f"{PRIVATE}/{'source' if IS_COPIED else 'store'}/{{chrom}}.zarr")
        ),
    log:
        f"{LOGS}/ingest_chromosome/{{chrom}}.log",
    benchmark:
        f"{BENCHMARKS}/ingest_chromosome/{{chrom}}.tsv"
    wildcard_constraints:
        chrom="|".join(re.escape(name) for name in CHROMOSOMES if name not in STORED)
        or "no chromosome",
    group:
        GROUP_OF_CHROMOSOME
    conda:
        "../../envs/dpgrs.yaml"
    # More read a chromosome faster, but not more chromosomes in an hour: --set-threads ingest_chromosome=8
    threads: 2
    resources:
        **resources_of("ingest-chromosome", SHAPE),
    params:
        people=lambda wildcards, input: flags(
            people=list(input.people),
            sites=list(input.get("sites", [])),
            is_copied=IS_COPIED,
        ),
        settings=settings_of("ingest-chromosome"),
        code=code_read("ingest-chromosome"),
    shell:
        "python -m dpgrs ingest-chromosome --settings {params.settings:q} --chromosome {wildcards.chrom} --output {output.store} --threads {threads}"
        " {params.people} -- {input.genotypes:q} 2> {log}"


if IS_COPIED:

    # From here on copies are the people of the study.
    rule resample_chromosome:
        input:
            source=f"{PRIVATE}/source/{{chrom}}.zarr",
            populations=source_populations_file(),
            genetic_map=lambda wildcards: map_files(SETTINGS, wildcards.chrom),
            stamps=lambda wildcards: stamps(
                [
                    *source_populations_file(),
                    *map_files(SETTINGS, wildcards.chrom),
                ]
            ),
        output:
            store=directory(in_place(f"{PRIVATE}/store/{{chrom}}.zarr")),
            table=(
                [f"{PRIVATE}/copies/{{chrom}}.populations.tsv"]
                if source_populations_file()
                else []
            ),
        log:
            f"{LOGS}/resample_chromosome/{{chrom}}.log",
        benchmark:
            f"{BENCHMARKS}/resample_chromosome/{{chrom}}.tsv"
        conda:
            "../../envs/dpgrs.yaml"
        threads: 2
        resources:
            **resources_of("resample-chromosome", SHAPE),
        params:
            files=lambda wildcards, input, output: flags(
                populations=list(input.populations),
                genetic_map=list(input.genetic_map),
                table=list(output.table),
            ),
            settings=settings_of("resample-chromosome"),
            code=code_read("resample-chromosome"),
        shell:
            "python -m dpgrs resample-chromosome --settings {params.settings:q} {input.source} --output {output.store}"
            " --threads {threads} {params.files} 2> {log}"


rule make_variants:
    input:
        stores=expand(f"{PRIVATE}/store/{{chrom}}.zarr", chrom=CHROMOSOMES),
        sites=SITES,
    output:
        variant_set=directory(in_place(f"{PRIVATE}/variants.zarr")),
        qc=[] if SITES else [QC],
    log:
        f"{LOGS}/make_variants.log",
    benchmark:
        f"{BENCHMARKS}/make_variants.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("make-variants", SHAPE),
    params:
        files=lambda wildcards, input, output: flags(
            sites=list(input.sites), qc=list(output.get("qc", []))
        ),
        settings=settings_of("make-variants"),
        code=code_read("make-variants"),
    shell:
        "python -m dpgrs make-variants --settings {params.settings:q} {input.stores} --output {output.variant_set} {params.files} 2> {log}"
