# The record of how the results came about.


# A second each: a job of its own on a cluster would take ten times that.
localrules:
    write_settings,
    write_provenance,


rule write_settings:
    output:
        settings=SETTINGS_FILE,
    log:
        f"{LOGS}/write_settings.log",
    benchmark:
        f"{BENCHMARKS}/write_settings.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("write-settings", SHAPE),
    params:
        # A function, since the settings may hold {chrom}, which is no wildcard here.
        settings=lambda wildcards: json.dumps(
            without_scoring(SETTINGS).as_dict(), indent=2, sort_keys=True
        ),
        code=code_read("write-settings"),
    shell:
        "python -m dpgrs write-settings {params.settings:q} --output {output.settings} 2> {log}"


rule write_provenance:
    input:
        settings=SETTINGS_FILE,
        metrics=f"{RESULTS}/metrics.tsv",
        report=f"{RESULTS}/report/index.html",
    output:
        provenance=PROVENANCE_FILE,
    log:
        f"{LOGS}/write_provenance.log",
    benchmark:
        f"{BENCHMARKS}/write_provenance.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("write-provenance", SHAPE),
    params:
        code=code_read("write-provenance"),
    shell:
        "python -m dpgrs write-provenance {input.settings} {input.metrics}"
        " --output {output.provenance} 2> {log}"
