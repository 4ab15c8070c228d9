"""A plan as text for a terminal of 100 columns."""

import textwrap

WIDTH = 100


def plan_as_text(plan):
    """Lay out what `dpgrs.steps.plan.plan_study` found.

    Parameters
    ----------
    plan : dict

    Returns
    -------
    str, several tables and notes.
    """
    parts = [_head(plan), _totals(plan), _mechanisms(plan), _ledger(plan), _expected(plan), _notes(plan)]
    return "\n\n".join(part for part in parts if part)


def _head(plan):
    privacy = plan["privacy"]
    return (
        f"Plan of study {plan['study']}, mode {plan['mode']}. Nothing was drawn, charged or written.\n"
        f"Unit {privacy['unit']}, neighbours {privacy['neighbours']}, {privacy['outcome_budget']} budget of "
        "the outcomes. Each # is a release of its own."
    )


def _totals(plan):
    has_person = any(request["person"] for request in plan["requests"])
    columns = ["#", "protection", "accounting", "asked", "variants", "outcomes", "an outcome"]
    columns += ["all outcomes", "tight"] + ["a person"] * has_person
    rows = [
        [
            str(request["number"]),
            request["protection"],
            request["accounting"],
            f"{request['epsilon']:g}",
            str(request["n_variants"]),
            str(request["n_outcomes"]),
            f"{request['outcome']['ledger']:.3f}",
            f"{request['whole_study']['ledger']:.3f}" + _over_budget(request),
            f"{request['whole_study']['tight']:.3f}",
            *([f"{request['person']['ledger']:.3f}"] if has_person else []),
        ]
        for request in plan["requests"]
    ]
    lines = [f"Epsilon at delta {plan['privacy']['delta']:g}: asked for, and spent", _table(columns, rows)]
    if any(map(_over_budget, plan["requests"])):
        lines.append("!: above `privacy.budget`, refused before any job")
    if has_person:
        lines.append("a person: both haplotypes together, for all outcomes")
    return "\n".join(lines)


def _over_budget(request):
    return " !" if request["is_within_budget"] is False else ""


def _mechanisms(plan):
    columns = ["#", "statistic", "times", "numbers each", "sensitivity", "noise sd", "mu each", "share"]
    rows = [
        [
            str(request["number"]),
            mechanism["statistic"],
            str(mechanism["times"]),
            str(mechanism["entries"]),
            f"{mechanism['sensitivity']:.4g}",
            f"{mechanism['noise_sd']:.4g}",
            f"{mechanism['mu']:.4g}",
            f"{mechanism['share']:.3f}",
        ]
        for request in plan["requests"]
        for mechanism in request["mechanisms"]
    ]
    return f"Spent on what (share of the sum of mu^2)\n{_table(columns, rows)}"


def _ledger(plan):
    ledger = plan["ledger"]
    if ledger is None:
        return ""
    if not ledger["exists"]:
        return f"Ledger {ledger['path']}: not there yet. Begin it with `dpgrs ledger init`."
    columns = ["#", "account", "cost", "spent", "limit", "remains", "epsilon then", "limit", "at delta"]
    rows = [
        [
            str(request["number"]),
            verdict["account"],
            *(verdict[f"{name}_mu_squared"] for name in ("cost", "spent", "limit")),
            "refused" if verdict["refusals"] else verdict["remaining_mu_squared"],
            verdict["after_epsilon"],
            verdict["limit_epsilon"],
            verdict["delta"],
        ]
        for request in plan["requests"]
        for verdict in request["ledger"]
    ]
    faults = dict.fromkeys(
        f"# {request['number']} would be refused: {fault}."
        for request in plan["requests"]
        for verdict in request["ledger"]
        for fault in verdict["refusals"]
    )
    title = (
        f"Ledger of {ledger['accession']}, {ledger['consent']}: mu^2, and epsilon at delta. {ledger['path']}"
    )
    note = "Each # is taken as a new request, alone. A replay of an earlier one costs nothing."
    return "\n".join([_fill(title), _table(columns, rows), *map(_fill, faults), note])


def _expected(plan):
    columns = ["#", "h2", "weight sd", "noise sd", "from X'X", "from X'Y", "R2", "+-", "R2 without noise"]
    rows = [
        [
            str(request["number"]),
            f"{expected['heritability']:g}",
            *(
                f"{expected[name]:.3g}"
                for name in ("weight_sd", "noise_sd", "noise_sd_gram", "noise_sd_cross")
            ),
            *((f"{expected['r2']:.2f}", f"{expected['r2_sd']:.2f}") if expected["r2"] > -1 else ("< -1", "")),
            f"{expected['r2_without_noise']:.2f}",
        ]
        for request in plan["requests"]
        for expected in request["expected"]
    ]
    return (
        f"To be expected of an outcome\n{_table(columns, rows)}\n"
        "weight sd: of a weight without noise; noise sd: what the noise of X'X and of X'Y adds to it"
    )


def _notes(plan):
    assumed = plan["assumptions"]
    lines = [
        f"Assumed, not read: {assumed['people']} people, {assumed['training_rows']} rows to train on; "
        f"allele frequencies {assumed['frequencies']}; independent variants; normal effects on all of them. "
        "R2 is that in new people of the same population; +- is between cohorts and draws of noise. "
        "Correlated variants have done better than this (docs/plan.md)."
    ]
    useless = [
        str(request["number"])
        for request in plan["requests"]
        if any(expected["r2"] <= 0 for expected in request["expected"])
    ]
    if useless:
        lines.append(
            f"R2 of 0 or less is expected of # {', '.join(useless)}: predicting the mean is no worse. Raise "
            "epsilon, or ask for fewer variants or outcomes."
        )
    return "\n".join(map(_fill, lines))


def _fill(line):
    return textwrap.fill(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _table(columns, rows):
    """Align cells: a column with a number in it to the right, others to the left."""
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    is_number = [any(cell.lstrip("<- ")[:1].isdigit() for cell in cells) for cells in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, is_number, strict=True)
        ).rstrip()
        for row in [columns, *rows]
    )
    return "\n".join(lines)
