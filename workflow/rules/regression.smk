# Weights of all methods, from what was drawn; those without privacy from exact statistics and choices.


rule fit_weights:
    input:
        drawn=[
            f"{REPLICATE}/drawn/{name}.npz"
            for name in DRAWS
            if mechanism_named(name).methods
        ],
        draw_seconds=[
            f"{REPLICATE}/drawn/{name}.tsv"
            for name in DRAWS
            if mechanism_named(name).methods and not IS_RELEASE
        ],
        statistics=[EXACT_STATISTICS] if COMPARES_SUMS else [],
        choices=[f"{REPLICATE}/exact_choices.npz"] if CHOOSES_EXACTLY else [],
        variant_set=[f"{PRIVATE}/variants.zarr"] if CHOOSES_EXACTLY else [],
        # Feature protection takes outcomes as public, and fits may use them.
        outcomes=(
            [EXACT_OUTCOMES]
            if CHOOSES_EXACTLY or "feature" in SETTINGS.privacy.protection
            else []
        ),
        adjusted=[DRAWN_OUTCOMES] if ADJUSTS else [],
        exactly_adjusted=[EXACT_OUTCOMES] if ADJUSTS and not IS_RELEASE else [],
        ld=LD,
        panel=PANEL,
        effects=EFFECTS,
    output:
        weights=in_place(f"{REPLICATE}/weights.npz"),
        # Told of benchmarks only, as that of draws.
        seconds=[] if IS_RELEASE else [f"{REPLICATE}/fit_seconds.tsv"],
    log:
        f"{LOGS}/fit_weights/{{replicate}}.log",
    benchmark:
        f"{BENCHMARKS}/fit_weights/{{replicate}}.tsv"
    group:
        GROUP_OF_REPLICATE
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("fit-weights", SHAPE),
    params:
        files=lambda wildcards, input: flags(
            **{
                name: list(input[name])
                for name in (
                    "draw_seconds",
                    "statistics",
                    "choices",
                    "variant_set",
                    "outcomes",
                    "adjusted",
                    "exactly_adjusted",
                    "ld",
                    "panel",
                    "effects",
                )
            }
        ),
        options=lambda wildcards, output: flags(seconds=list(output.seconds)),
        settings=lambda wildcards: settings_read(SETTINGS, "fit-weights", READS_OF_FIT),
        code=code_read("fit-weights"),
    shell:
        "python -m dpgrs fit-weights --settings {params.settings:q} {input.drawn} {params.files} --output {output.weights}"
        " {params.options} 2> {log}"
