# R^2 and error on the test rows, per outcome, method and population; membership inference; and the pages. All
# of it knows who is in the data, so no release may ask for it.


include: "qc.smk"


localrules:
    collect_metrics,
    collect_population_metrics,
    collect_measures,
    collect_attacks,


rule evaluate_replicate:
    input:
        variant_set=f"{PRIVATE}/variants.zarr",
        outcomes=f"{REPLICATE}/outcomes.zarr",
        weights=f"{REPLICATE}/weights.npz",
        seconds=f"{REPLICATE}/fit_seconds.tsv",
        populations=populations_file(),
        stamps=stamps(populations_file()),
        covariates=COVARIATES,
    output:
        metrics=f"{REPLICATE}/metrics.tsv",
        population_metrics=f"{REPLICATE}/population_metrics.tsv",
        measures=f"{REPLICATE}/measures.tsv",
    log:
        f"{LOGS}/evaluate_replicate/{{replicate}}.log",
    benchmark:
        f"{BENCHMARKS}/evaluate_replicate/{{replicate}}.tsv"
    group:
        GROUP_OF_REPLICATE
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("evaluate-replicate", SHAPE),
    params:
        files=lambda wildcards, input: flags(
            populations=list(input.populations), covariates=list(input.covariates)
        ),
        settings=settings_of("evaluate-replicate"),
        code=code_read("evaluate-replicate"),
    shell:
        "python -m dpgrs evaluate-replicate --settings {params.settings:q} {input.variant_set} {input.outcomes} {input.weights} {input.seconds}"
        " --replicate {wildcards.replicate} --metrics {output.metrics} --population-metrics {output.population_metrics}"
        " --measures {output.measures}"
        " {params.files} 2> {log}"


rule collect_metrics:
    input:
        tables=expand(f"{REPLICATE}/metrics.tsv", replicate=REPLICATES),
    output:
        table=report(
            f"{RESULTS}/metrics.tsv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "metrics"},
        ),
    log:
        f"{LOGS}/collect_metrics.log",
    benchmark:
        f"{BENCHMARKS}/collect_metrics.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("collect-tables", SHAPE),
    params:
        code=code_read("collect-tables"),
    shell:
        "python -m dpgrs collect-tables {input.tables} --output {output.table} 2> {log}"


use rule collect_metrics as collect_population_metrics with:
    input:
        tables=expand(f"{REPLICATE}/population_metrics.tsv", replicate=REPLICATES),
    output:
        table=f"{PRIVATE}/population_metrics.tsv",
    log:
        f"{LOGS}/collect_population_metrics.log",
    benchmark:
        f"{BENCHMARKS}/collect_population_metrics.tsv"


use rule collect_metrics as collect_measures with:
    input:
        tables=expand(f"{REPLICATE}/measures.tsv", replicate=REPLICATES),
    output:
        table=report(
            f"{RESULTS}/measures.tsv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "measures"},
        ),
    log:
        f"{LOGS}/collect_measures.log",
    benchmark:
        f"{BENCHMARKS}/collect_measures.tsv"


rule attack_replicate:
    input:
        variant_set=f"{PRIVATE}/variants.zarr",
        outcomes=f"{REPLICATE}/outcomes.zarr",
        statistics=EXACT_STATISTICS,
        noisy=f"{REPLICATE}/drawn/reusecov-statistics.npz",
        weights=f"{REPLICATE}/weights.npz",
        covariates=COVARIATES,
    output:
        attacks=f"{REPLICATE}/attacks.tsv",
    log:
        f"{LOGS}/attack_replicate/{{replicate}}.log",
    benchmark:
        f"{BENCHMARKS}/attack_replicate/{{replicate}}.tsv"
    group:
        GROUP_OF_REPLICATE
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("attack-replicate", SHAPE),
    params:
        files=lambda wildcards, input: flags(covariates=list(input.covariates)),
        settings=settings_of("attack-replicate"),
        code=code_read("attack-replicate"),
    shell:
        "python -m dpgrs attack-replicate --settings {params.settings:q} {input.variant_set} {input.outcomes} {input.statistics} {input.noisy} {input.weights}"
        " --replicate {wildcards.replicate} --output {output.attacks} {params.files} 2> {log}"


use rule collect_metrics as collect_attacks with:
    input:
        tables=expand(f"{REPLICATE}/attacks.tsv", replicate=REPLICATES),
    output:
        table=report(
            f"{RESULTS}/attacks.tsv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "attacks"},
        ),
    log:
        f"{LOGS}/collect_attacks.log",
    benchmark:
        f"{BENCHMARKS}/collect_attacks.tsv"


rule render_report:
    input:
        metrics=f"{RESULTS}/metrics.tsv",
        population_metrics=f"{PRIVATE}/population_metrics.tsv",
        measures=f"{RESULTS}/measures.tsv",
        variant_set=f"{PRIVATE}/variants.zarr",
        outcomes=f"{PRIVATE}/replicate1/outcomes.zarr",
        weights=f"{PRIVATE}/replicate1/weights.npz",
        statistics=[f"{PRIVATE}/replicate1/statistics.npz"] if COMPARES_SUMS else [],
        attacks=[f"{RESULTS}/attacks.tsv"] if COMPARES_SUMS else [],
        choices=[
            f"{PRIVATE}/replicate1/{name}.npz"
            for name in ("exact_choices", "drawn/choices")
            if CHOOSES_EXACTLY and (name != "drawn/choices" or "choices" in DRAWS)
        ],
        people=[f"{PRIVATE}/people.json"] if PEOPLE.paths else [],
        qc=[] if IS_TABLE else [QC],
        genotypes=[] if IS_TABLE else [GENOTYPE_SUMMARY],
        covariates=COVARIATES,
        effects=EFFECTS,
        counts=[
            *outcome_counts(f"{PRIVATE}/replicate1"),
            *COVARIATE_COUNTS,
        ],
    output:
        # A folder as output would get a file of Snakemake's own into it, and be published with it.
        overview=f"{RESULTS}/report/index.html",
        figures=report(
            directory(f"{RESULTS}/figures"),
            patterns=["{category}/{figure}.svg"],
            caption="../report/figure.rst",
            category="{category}",
            labels={"figure": "{figure}"},
        ),
    log:
        f"{LOGS}/render_report.log",
    benchmark:
        f"{BENCHMARKS}/render_report.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 4
    resources:
        **resources_of("render-report", SHAPE),
    params:
        pages=subpath(output.overview, parent=True),
        optional=lambda wildcards, input: flags(
            statistics=list(input.statistics),
            attacks=list(input.attacks),
            choices=list(input.choices),
            people=list(input.people),
            people_counts=list(input.counts),
            covariates=list(input.covariates),
            effects=list(input.effects),
            qc=list(input.qc),
            genotypes=list(input.genotypes),
        ),
        settings=settings_of("render-report"),
        code=code_read("render-report"),
    shell:
        "python -m dpgrs render-report --settings {params.settings:q} {input.metrics} {input.population_metrics} {input.measures} {input.variant_set} {input.outcomes}"
        " {input.weights} --output {params.pages} --figures {output.figures}"
        " --processes {threads} {params.optional} 2> {log}"


RESULTS_OF_MODE = [f"{RESULTS}/attacks.tsv"] if COMPARES_SUMS else []
