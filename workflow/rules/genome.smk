# Sums of people along a public map of the genome, chromosome by chromosome, for methods that draw from these.


rule measure_people:
    input:
        variant_set=f"{PRIVATE}/variants.zarr",
        ld=f"{PUBLIC}/ld.npz",
    output:
        people=in_place(f"{PRIVATE}/genome_people.npz"),
    log:
        f"{LOGS}/measure_people.log",
    benchmark:
        f"{BENCHMARKS}/measure_people.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("measure-people", SHAPE),
    params:
        code=code_read("measure-people"),
    shell:
        "python -m dpgrs measure-people {input.variant_set} --ld {input.ld} --threads {threads} --output {output.people}"
        " 2> {log}"


# What is summed is exact, and is removed once noise was drawn on it.
rule sum_genome:
    input:
        variant_set=f"{PRIVATE}/variants.zarr",
        outcomes=DRAWN_OUTCOMES,
        people=f"{PRIVATE}/genome_people.npz",
        ld=f"{PUBLIC}/ld.npz",
    output:
        sums=temp(in_place(GENOME_SHARD)),
    log:
        f"{LOGS}/sum_genome/{{replicate}}.{{shard}}.log",
    benchmark:
        f"{BENCHMARKS}/sum_genome/{{replicate}}.{{shard}}.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("sum-genome", SHAPE),
    params:
        shards=len(CHROMOSOMES),
        settings=settings_of("sum-genome"),
        code=code_read("sum-genome"),
    shell:
        "python -m dpgrs sum-genome --settings {params.settings:q} {input.variant_set} {input.outcomes} {input.people}"
        " --ld {input.ld} --shard {wildcards.shard} --shards {params.shards} --threads {threads}"
        " --output {output.sums} 2> {log}"
