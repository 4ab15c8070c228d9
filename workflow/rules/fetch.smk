# Public files that are not there yet, from their publisher. These rules, and no others, use the network: they run on
# the machine that runs Snakemake, and are there only for absent files, so that no file of the user's is ever replaced.
import re

FETCH = SETTINGS.cohort.fetch
GENOTYPES = SETTINGS.cohort.vcf or ""
MANIFEST = f"{RESULTS}/manifest.txt"
CHROMOSOMES_FETCHED = [
    name for name in CHROMOSOMES if GENOTYPES.replace("{chrom}", name) in FETCHED
]
BY_CHROMOSOME = "{chrom}" if "{chrom}" in GENOTYPES else "all"


if FETCHED:

    rule fetch_manifest:
        output:
            manifest=temp(MANIFEST),
        log:
            f"{LOGS}/fetch_manifest.log",
        benchmark:
            f"{BENCHMARKS}/fetch_manifest.tsv"
        localrule: True
        conda:
            "../../envs/dpgrs.yaml"
        threads: 1
        resources:
            **resources_of("fetch-manifest", SHAPE),
        params:
            url=FETCH.manifest,
        message:
            "Fetching checksums from {params.url}"
        shell:
            "python -m dpgrs fetch-manifest {params.url:q} --output {output.manifest} 2> {log}"


if CHROMOSOMES_FETCHED:

    rule fetch_genotypes:
        input:
            manifest=MANIFEST,
        output:
            vcf=GENOTYPES,
        log:
            f"{LOGS}/fetch_genotypes/{BY_CHROMOSOME}.log",
        benchmark:
            f"{BENCHMARKS}/fetch_genotypes/{BY_CHROMOSOME}.tsv"
        wildcard_constraints:
            chrom="|".join(map(re.escape, CHROMOSOMES_FETCHED)),
        localrule: True
        conda:
            "../../envs/dpgrs.yaml"
        threads: 1
        resources:
            **resources_of("fetch", SHAPE),
        params:
            url=lambda wildcards, output: FETCHED[output.vcf],
        message:
            "Fetching {output.vcf} from {params.url}"
        shell:
            "python -m dpgrs fetch {params.url:q} --manifest {input.manifest} --output {output.vcf:q} 2> {log}"


if SETTINGS.cohort.populations in FETCHED:

    rule fetch_populations:
        input:
            manifest=MANIFEST,
        output:
            table=SETTINGS.cohort.populations,
        log:
            f"{LOGS}/fetch_populations.log",
        benchmark:
            f"{BENCHMARKS}/fetch_populations.tsv"
        localrule: True
        conda:
            "../../envs/dpgrs.yaml"
        threads: 1
        resources:
            **resources_of("fetch", SHAPE),
        params:
            url=FETCH.populations,
        message:
            "Fetching {output.table} from {params.url}"
        shell:
            "python -m dpgrs fetch {params.url:q} --manifest {input.manifest} --output {output.table:q} 2> {log}"
