# Outcomes, simulated or from a table, and the split of people into training and test rows.


rule make_outcomes:
    input:
        panel=f"{PRIVATE}/panel.zarr",
        table=outcomes_file(),
        scales=scales_file(),
    output:
        outcomes=f"{TRIAL}/outcomes.npz",
        # Exact counts of people, for the operator; in a benchmark its pages show them too.
        counts=[f"{TRIAL}/outcome_counts.tsv"] if outcomes_file() else [],
    log:
        f"{LOGS}/make_outcomes/{{trial}}.log",
    conda:
        "../../envs/dpgrs.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        table=lambda wildcards, input: flags(
            table=list(input.table), scales=list(input.scales)
        ),
        counts=lambda wildcards, output: flags(
            people_counts=list(output.get("counts", []))
        ),
        options=flags(
            rows=ROWS,
            size=SETTINGS["panel"]["size"],
            count=(
                max(SETTINGS["outcomes"]["count"])
                if SETTINGS["outcomes"]["count"]
                else None
            ),
            heritability=SETTINGS["outcomes"]["heritability"],
            causal_share=SETTINGS["outcomes"]["causal_share"],
            test_share=SETTINGS["outcomes"]["test_share"],
            is_release=IS_RELEASE,
            least_share=SETTINGS["outcomes"]["least_share"],
            seed=SEED,
        ),
        code=code_digest(
            "simulation/outcomes.py",
            "evaluation/split.py",
            "io",
            "steps/outcomes.py",
            "steps/people.py",
        ),
    shell:
        "python -m dpgrs make-outcomes {input.panel} --trial {wildcards.trial} --output {output.outcomes}"
        " {params.table} {params.counts} {params.options} 2> {log}"
