# Exact sums of several centres, from `dpgrs centre combine`, in place of statistics of people who are here.


rule take_sums:
    input:
        sums=SETTINGS.cohort.sums,
        # The note of what this makes has all tables that its settings name.
        stamps=stamps(
            named_tables(
                StudyConfig.of(json.loads(settings_read(SETTINGS, "take-sums")))
            )
        ),
        sites=SITES,
    output:
        taken=in_place(STATISTICS),
    log:
        f"{LOGS}/take_sums/{{replicate}}.log",
    benchmark:
        f"{BENCHMARKS}/take_sums/{{replicate}}.tsv"
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        **resources_of("take-sums", SHAPE),
    params:
        options="",
        settings=settings_of("take-sums"),
        code=code_read("take-sums"),
    shell:
        "python -m dpgrs take-sums --settings {params.settings:q} {input.sums:q} --sites {input.sites}"
        " --output {output.taken} {params.options} 2> {log}"


# Of nobody: names and public terms.
use rule take_sums as take_outcomes with:
    output:
        taken=directory(in_place(OUTCOMES)),
    log:
        f"{LOGS}/take_outcomes/{{replicate}}.log",
    benchmark:
        f"{BENCHMARKS}/take_outcomes/{{replicate}}.tsv"
    params:
        options="--of-outcomes",
        settings=settings_of("take-sums"),
        code=code_read("take-sums"),
