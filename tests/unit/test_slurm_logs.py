"""What is told of jobs that SLURM ended, by the words of its daemons, with control groups and without."""

import pytest

from dpgrs.study.slurm_logs import describe_ended_by_slurm, slurm_logs

CANCELLED = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00"
OF_SNAKEMAKE = "Error in rule draw:\n    (command exited with non-zero exit code)\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("slurmstepd-n1: error: StepId=7.0 exceeded memory limit (33 > 31), being killed", "more memory"),
        ("slurmstepd: error: Exceeded job memory limit", "more memory"),
        (
            "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.0.",
            "more memory",
        ),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.", "more memory"),
        (
            "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***",
            "more time",
        ),
        (
            "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO NODE FAILURE ***",
            "node",
        ),
        (
            "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO PREEMPTION ***",
            "others",
        ),
        ("slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-01-01T00:00:00 ***", "cancelled"),
    ],
)
def test_describe_ended_by_slurm__reason(tmp_path, line, reason):
    write_log(tmp_path, "rule_draw/1_blup/7.log", f"{OF_SNAKEMAKE}{line}\n{OF_SNAKEMAKE}")
    (told,) = describe_ended_by_slurm(tmp_path, earlier=set())
    assert told.startswith("SLURM ended 7 (rule_draw/1_blup): ")
    assert reason in told


def test_describe_ended_by_slurm__memory_comes_before_the_cancelling_that_it_causes(tmp_path):
    text = (
        "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-01-01T00:00:00 ***\n"
        "slurmstepd: error: StepId=7.0 exceeded memory limit (33 > 31), being killed\n"
    )
    write_log(tmp_path, "rule_draw/1/7.log", text)
    assert "more memory" in describe_ended_by_slurm(tmp_path, earlier=set())[0]


def test_describe_ended_by_slurm__nothing_of_own_failures_or_earlier_runs(tmp_path):
    write_log(tmp_path, "rule_draw/1/7.log", "slurmstepd: error: Exceeded job memory limit\n")
    earlier = slurm_logs(tmp_path)
    write_log(
        tmp_path, "rule_draw/2/9.log", f"srun: error: n1: task 0: Exited with exit code 1\n{OF_SNAKEMAKE}"
    )
    # What a step itself writes is not SLURM's.
    write_log(tmp_path, "rule_draw/3/10.log", "the job was CANCELLED AT noon\n")
    assert describe_ended_by_slurm(tmp_path, earlier=earlier) == []
    assert describe_ended_by_slurm(tmp_path / "absent", earlier=set()) == []


def test_describe_ended_by_slurm__a_line_for_each_folder_with_its_jobs(tmp_path):
    for name in ("group_replicate_draw/9.log", "group_replicate_draw/10.log", "rule_draw/2/11.log"):
        write_log(tmp_path, name, "slurmstepd: error: Exceeded job memory limit\n")
    told = describe_ended_by_slurm(tmp_path, earlier=set())
    assert [line.split(":")[0] for line in told] == [
        "SLURM ended 9, 10 (group_replicate_draw)",
        "SLURM ended 11 (rule_draw/2)",
    ]


def write_log(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
