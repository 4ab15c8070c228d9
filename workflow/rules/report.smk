# Pages for people, one figure for Snakemake's own report, and the record of how the results came about.


localrules:
    write_settings,


rule write_settings:
    output:
        settings=f"{RESULTS}/settings.json",
    log:
        f"{LOGS}/write_settings.log",
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        mem_mb=100,
        runtime=5,
    params:
        # A function, since the settings may hold {chrom}, which is no wildcard here.
        settings=lambda wildcards: json.dumps(SETTINGS, indent=2, sort_keys=True),
    shell:
        "printf '%s\\n' {params.settings:q} > {output.settings} 2> {log}"


rule render_report:
    input:
        settings=f"{RESULTS}/settings.json",
        metrics=f"{RESULTS}/metrics.tsv",
        population_metrics=f"{PRIVATE}/population_metrics.tsv",
        panel=f"{PRIVATE}/panel.zarr",
        outcomes=f"{PRIVATE}/trial1/outcomes.npz",
        weights=f"{PRIVATE}/trial1/weights.npz",
    output:
        pages=directory(f"{RESULTS}/report"),
    log:
        f"{LOGS}/render_report.log",
    conda:
        "../../envs/dpgrs.yaml"
    threads: 4
    resources:
        mem_mb=4000,
        runtime=120,
    params:
        code=code_digest("reporting", "io", "steps/report.py"),
    shell:
        "python -m dpgrs render-report {input.metrics} {input.population_metrics} {input.panel} {input.outcomes}"
        " {input.weights} --settings {input.settings} --output {output.pages} --processes {threads} 2> {log}"


rule plot_r2:
    input:
        metrics=f"{RESULTS}/metrics.tsv",
    output:
        figure=report(
            f"{RESULTS}/figures/r2_by_method.svg",
            caption="../report/r2_by_method.rst",
            category="Accuracy",
        ),
    log:
        f"{LOGS}/plot_r2.log",
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        stamp=STAMP,
        code=code_digest("reporting"),
    script:
        "../scripts/plot_r2.py"


rule write_provenance:
    input:
        settings=f"{RESULTS}/settings.json",
        metrics=f"{RESULTS}/metrics.tsv",
        report=f"{RESULTS}/report",
    output:
        provenance=f"{RESULTS}/provenance.json",
    log:
        f"{LOGS}/write_provenance.log",
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    shell:
        "python -m dpgrs write-provenance --settings {input.settings} --metrics {input.metrics}"
        " --output {output.provenance} 2> {log}"
