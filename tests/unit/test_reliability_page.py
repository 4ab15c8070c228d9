from types import SimpleNamespace

from reliability.broken_runs import Job
from reliability.faults import FAULTS, N_KILLS, Seen, kill_points
from reliability.run import BEGIN, END, HEAD, PAGE, row, sections, write_page


def cells_below(heading):
    """Return the first cells of the rows of a section's table, without that of its head."""
    section = PAGE.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in section.splitlines() if line.startswith("|")]
    return rows[2:]


def test_page__tells_of_every_fault_how_it_is_made_and_how_to_go_on():
    assert cells_below("How to go on") == cells_below("What is done") == list(FAULTS)


def test_page__has_what_was_seen_to_the_end_and_nothing_that_should_not_be():
    seen = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    assert list(sections(seen)) == [name for name in FAULTS if name in sections(seen)]
    assert all(HEAD in section and "the same bytes" in section for section in sections(seen).values())
    assert "**" not in seen


def test_write_page__replaces_what_stood_of_a_fault_and_nothing_else(tmp_path):
    page, (first, second, *_) = tmp_path / "page.md", FAULTS
    page.write_text(f"before\n{BEGIN}{END}after\n")
    for name, body in ((second, "old"), (first, "a | b\n"), (second, "new")):
        write_page(page, name, body)
    expected = f"\n### {first}\n\na | b\n\n### {second}\n\nnew\n"
    assert page.read_text() == f"before\n{BEGIN}{expected}\n{END}after\n"


def test_row__has_what_should_not_be_in_bold_and_no_bars():
    assert row(Seen("here", "a|b", ["c\nd"])) == "| here | a/b; **c d** |\n"


def test_kill_points__are_many_in_the_order_of_jobs_and_of_both_kinds():
    jobs = [Job(f"job{number}", 1.0) for number in range(16)]
    points = kill_points(SimpleNamespace(jobs=jobs), seed=1)
    assert len(points) == len({point[:2] for point in points}) == N_KILLS
    assert [jobs.index(job) for _, job, _ in points] == sorted(jobs.index(job) for _, job, _ in points)
    assert {kind for kind, *_ in points} == {"all", "job"}
