# What a study takes from public files: its sites, people to measure on, linkage disequilibrium, effects.


# Runs only where a part of its files is the public reference.
use rule choose_people as choose_reference_people with:
    input:
        genotypes=lambda wildcards: reference_files_of(
            SETTINGS.public.reference, CHROMOSOMES[0]
        ),
        tables=lambda wildcards: tables_of(
            reference_files_of(SETTINGS.public.reference, CHROMOSOMES[0])
        ),
        lists=list(REFERENCE_PEOPLE.paths.values()),
        stamps=lambda wildcards: [
            *stamps(
                reference_files_of(SETTINGS.public.reference, CHROMOSOMES[0]),
                is_genotypes=True,
            ),
            *stamps(REFERENCE_PEOPLE.paths.values()),
        ],
    output:
        people=f"{PUBLIC}/people.txt",
    log:
        f"{LOGS}/choose_reference_people.log",
    benchmark:
        f"{BENCHMARKS}/choose_reference_people.tsv"
    resources:
        **resources_of("choose-people", REFERENCE),
    params:
        counts="--is-reference",
        settings=lambda wildcards: settings_read(
            SETTINGS, "choose-people", ["public.keep"]
        ),
        code=code_read("choose-people"),


use rule ingest_chromosome as ingest_reference with:
    input:
        genotypes=reference_files,
        tables=reference_tables,
        people=reference_people_file(),
        stamps=lambda wildcards: stamps(reference_files(wildcards), is_genotypes=True),
    output:
        store=directory(f"{PUBLIC}/store/{{chrom}}.zarr"),
    log:
        f"{LOGS}/ingest_reference/{{chrom}}.log",
    benchmark:
        f"{BENCHMARKS}/ingest_reference/{{chrom}}.tsv"
    wildcard_constraints:
        chrom="[A-Za-z0-9_.-]+",
    resources:
        **resources_of("ingest-chromosome", REFERENCE),
    params:
        people=lambda wildcards, input: flags(
            people=list(input.people), is_reference=True
        ),
        settings=settings_of_reference("ingest-chromosome"),
        code=code_read("ingest-chromosome"),


rule choose_sites:
    input:
        stores=reference_stores(),
        tables=public_tables(),
        stamps=stamps(public_tables()),
    output:
        sites=f"{PUBLIC}/sites.tsv",
        qc=QC,
    log:
        f"{LOGS}/choose_sites.log",
    benchmark:
        f"{BENCHMARKS}/choose_sites.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("choose-sites", REFERENCE),
    params:
        settings=settings_of("choose-sites"),
        code=code_read("choose-sites"),
    shell:
        "python -m dpgrs choose-sites --settings {params.settings:q} {input.stores} --output {output.sites} --qc {output.qc}"
        " 2> {log}"


# People to measure on in public, or whose linkage disequilibrium a fit takes; jobs run only where there are such.
use rule make_variants as make_reference_variants with:
    input:
        stores=reference_stores(),
        sites=SITES,
    output:
        variant_set=directory(f"{PUBLIC}/variants.zarr"),
    log:
        f"{LOGS}/make_reference_variants.log",
    benchmark:
        f"{BENCHMARKS}/make_reference_variants.tsv"
    resources:
        **resources_of("make-variants", REFERENCE),
    params:
        settings=settings_of_reference("make-variants"),


rule measure_ld:
    input:
        variant_set=f"{PUBLIC}/variants.zarr",
        effects=EFFECTS if SETTINGS.public.subtract else [],
    output:
        ld=f"{PUBLIC}/ld.npz",
    log:
        f"{LOGS}/measure_ld.log",
    benchmark:
        f"{BENCHMARKS}/measure_ld.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("measure-ld", REFERENCE),
    params:
        # Noise steers the map of a genome, of a public number of people.
        options=lambda wildcards, input: flags(
            without_matrix=not takes_matrix(SETTINGS.methods),
            effects=list(input.effects),
            **(
                {
                    "planned_rows": training_rows(SETTINGS, planned_people(SETTINGS)),
                    "outcomes_together": outcome_counts_ahead(SETTINGS),
                }
                if takes_map(SETTINGS.methods)
                else {}
            ),
        ),
        settings=lambda wildcards: settings_read(
            SETTINGS,
            "measure-ld",
            reads_of_ld(has_maps=takes_map(SETTINGS.methods)),
        ),
        code=code_read("measure-ld"),
    shell:
        "python -m dpgrs measure-ld --settings {params.settings:q} {input.variant_set} {params.options}"
        " --output {output.ld} 2> {log}"


rule match_effects:
    input:
        effects=SETTINGS.public.effects,
        stamps=stamps(SETTINGS.public.effects or []),
        sites=SITES,
        variant_set=[] if SITES else [f"{PRIVATE}/variants.zarr"],
    output:
        effects=EFFECTS[0] if EFFECTS else f"{PUBLIC}/effects.npz",
    log:
        f"{LOGS}/match_effects.log",
    benchmark:
        f"{BENCHMARKS}/match_effects.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("match-effects", SHAPE),
    params:
        files=lambda wildcards, input: flags(
            sites=list(input.sites), variant_set=list(input.variant_set)
        ),
        settings=settings_of("match-effects"),
        code=code_read("match-effects"),
    shell:
        "python -m dpgrs match-effects --settings {params.settings:q} {input.effects:q} {params.files}"
        " --output {output.effects} 2> {log}"
