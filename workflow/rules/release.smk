# The audits of a release, its metrics, and the bundle that it ends in.

RELEASED = f"{PRIVATE}/replicate1/drawn/{DRAWS[0]}.npz"
DRAWN_REGRESSION = [f"{PRIVATE}/replicate1/drawn/{REGRESSION}.npz"] if ADJUSTS else []
IS_CHARGED = SETTINGS.evaluation.metrics == "charged"
# Whose genotypes accuracy is measured on; nobody's where it is withheld.
MEASURED_VARIANTS = [f"{PRIVATE}/variants.zarr"] if IS_CHARGED else PUBLIC_VARIANTS
MEASURED_COVARIATES = COVARIATES if IS_CHARGED else PUBLIC_COVARIATES


# The functions that draw noise, and the one that draws all statistics together.
COUNTS_ROWS = (
    SETTINGS.privacy.neighbours == "add-remove"
    and not METHODS[SETTINGS.methods[0]].reads_rows
)
COUNTS_OUTCOMES = (
    SETTINGS.outcomes.are_counted and not METHODS[SETTINGS.methods[0]].reads_rows
)
# Methods without statistics in the bundle are refused before.
COUNTS_CASES = SETTINGS.privacy.case_share is not None
AUDITED = [
    *(["private_count"] if COUNTS_ROWS else []),
    *(["private_outcome_counts"] if COUNTS_OUTCOMES else []),
    *(["private_case_counts"] if COUNTS_CASES else []),
    *(["private_genome_moments"] if SETTINGS.privacy.ld_share is not None else []),
    *(["private_covariate_regression"] if ADJUSTS else []),
    *audited_functions(SETTINGS.methods[0]),
    *(["private_accuracy"] if IS_CHARGED else []),
]


# On synthetic inputs and with throwaway keys of the public seed: neither data nor the study key are near.
rule audit_mechanisms:
    output:
        audit=f"{PUBLIC}/audit.json",
    log:
        f"{LOGS}/audit_mechanisms.log",
    benchmark:
        f"{BENCHMARKS}/audit_mechanisms.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("audit", SHAPE),
    params:
        options=flags(
            mechanism=AUDITED,
            of_releases=True,
            draws=SETTINGS.release.audit_draws,
            seed=SEED,
        ),
        code=code_digest("steps/audit.py"),
    message:
        "Auditing the mechanisms of this release before anything is charged: this takes minutes"
    shell:
        "python -m dpgrs --quiet audit --output {output.audit} {params.options} 2> {log}"


# Everybody in the reference is measured on.
use rule make_outcomes as make_reference_outcomes with:
    input:
        variant_set=f"{PUBLIC}/variants.zarr",
        table=([SETTINGS.evaluation.outcomes] if SETTINGS.evaluation.outcomes else []),
        scales=scales_file(),
        stamps=stamps(
            [path for path in [SETTINGS.evaluation.outcomes] if path] + scales_file()
        ),
    output:
        outcomes=directory(f"{PUBLIC}/replicate{{replicate}}/outcomes.zarr"),
    log:
        f"{LOGS}/make_reference_outcomes/{{replicate}}.log",
    benchmark:
        f"{BENCHMARKS}/make_reference_outcomes/{{replicate}}.tsv"
    resources:
        **resources_of("make-outcomes", REFERENCE),
    params:
        table=lambda wildcards, input: flags(
            table=list(input.table),
            scales=list(input.scales),
            loadings=list(input.get("loadings", [])),
            is_reference=True,
        ),
        settings=settings_of_reference("make-outcomes"),


# Theirs too; a table of their own, and components by the same loadings.
use rule make_covariates as make_reference_covariates with:
    input:
        variant_set=f"{PUBLIC}/variants.zarr",
        table=covariates_file("evaluation", "covariates"),
        scales=covariates_file("covariates", "scales"),
        loadings=LOADINGS,
        stamps=stamps(
            [
                *covariates_file("evaluation", "covariates"),
                *covariates_file("covariates", "scales"),
            ]
        ),
    output:
        covariates=f"{PUBLIC}/covariates.npz",
    log:
        f"{LOGS}/make_reference_covariates.log",
    benchmark:
        f"{BENCHMARKS}/make_reference_covariates.tsv"
    resources:
        **resources_of("make-covariates", REFERENCE),
    params:
        files=lambda wildcards, input: flags(
            table=list(input.table),
            scales=list(input.scales),
            loadings=list(input.loadings),
            is_reference=True,
        ),


# A mechanism where the metrics are charged, see draw.
rule measure_release:
    input:
        drawn=RELEASED,
        outcomes=PUBLIC_OUTCOMES or expand(OUTCOMES, replicate=1),
        weights=f"{PRIVATE}/replicate1/weights.npz",
        variant_set=MEASURED_VARIANTS,
        sites=SITES if IS_CHARGED else [],
        audit=AUDIT if IS_CHARGED else [],
        covariates=MEASURED_COVARIATES,
        loadings=LOADINGS if IS_CHARGED else [],
        ld=LD,
        effects=EFFECTS,
    output:
        metrics=report(
            f"{RESULTS}/metrics.tsv",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "metrics"},
        ),
        accuracy=in_place(f"{PRIVATE}/replicate1/accuracy.npz"),
        events=in_place(f"{PRIVATE}/replicate1/accuracy_events.json"),
    log:
        f"{LOGS}/measure_release.log",
    benchmark:
        f"{BENCHMARKS}/measure_release.tsv"
    retries: 0
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("measure-release", REFERENCE if IS_PUBLIC else SHAPE),
    params:
        version=MECHANISM_VERSION if IS_CHARGED else code_read("measure-release"),
        files=lambda wildcards, input: flags(
            variant_set=list(input.variant_set),
            sites=list(input.sites),
            covariates=list(input.covariates),
            loadings=list(input.loadings),
            ld=list(input.ld),
            effects=list(input.effects),
            audit=list(input.audit),
        ),
        settings=lambda wildcards: settings_read(
            SETTINGS, "measure-release", READS_OF_METRICS
        ),
    shell:
        "python -m dpgrs measure-release --settings {params.settings:q} {input.drawn} {input.outcomes} {input.weights}"
        " {params.files} --output {output.metrics} --accuracy {output.accuracy} --events {output.events}"
        " 2> {log}"


rule write_release:
    input:
        # Named by its content: the study's record may be an earlier one, as after --touch.
        settings=SETTINGS_HANDED_OVER,
        sites=f"{PUBLIC}/sites.tsv",
        drawn=RELEASED,
        weights=f"{PRIVATE}/replicate1/weights.npz",
        accuracy=f"{PRIVATE}/replicate1/accuracy.npz",
        audit=AUDIT,
        loadings=LOADINGS,
        ld=LD,
        effects=EFFECTS,
        regression=DRAWN_REGRESSION,
        traits=traits_file(),
        stamps=stamps(traits_file()),
    output:
        # The last file of the bundle; a folder as output would get a file of Snakemake's own into it.
        sums=f"{RESULTS}/release/SHA256SUMS",
        # Beside the bundle: it has gigabytes of a whole genome.
        truncated_ld=TRUNCATED_LD,
    log:
        f"{LOGS}/write_release.log",
    benchmark:
        f"{BENCHMARKS}/write_release.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("write-release", SHAPE),
    params:
        bundle=subpath(output.sums, parent=True),
        options=lambda wildcards, input, output: flags(
            audit=list(input.audit),
            loadings=list(input.loadings),
            ld=list(input.ld),
            effects=list(input.effects),
            regression=list(input.regression),
            traits=list(input.traits),
            truncated_ld=list(output.truncated_ld),
        ),
        code=code_read("write-release"),
    shell:
        "python -m dpgrs write-release {input.settings} {input.sites} {input.drawn} {input.weights} {input.accuracy}"
        " --output {params.bundle} {params.options} 2> {log}"


# Nothing private among its inputs.
rule render_release_report:
    input:
        bundle=f"{RESULTS}/release/SHA256SUMS",
        sites=f"{PUBLIC}/sites.tsv",
        metrics=f"{RESULTS}/metrics.tsv",
    output:
        overview=f"{RESULTS}/report/index.html",
        figures=report(
            directory(f"{RESULTS}/figures"),
            patterns=["{category}/{figure}.svg", "{category}/{figure}.txt"],
            caption="../report/figure.rst",
            category="{category}",
            labels={"figure": "{figure}"},
        ),
    log:
        f"{LOGS}/render_release_report.log",
    benchmark:
        f"{BENCHMARKS}/render_release_report.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 4
    resources:
        **resources_of("render-release-report", SHAPE),
    params:
        bundle=subpath(input.bundle, parent=True),
        pages=subpath(output.overview, parent=True),
        code=code_read("render-release-report"),
    shell:
        "python -m dpgrs render-release-report {params.bundle} {input.sites} {input.metrics}"
        " --output {params.pages} --figures {output.figures} --processes {threads} 2> {log}"


RESULTS_OF_MODE = [f"{RESULTS}/release/SHA256SUMS"]
