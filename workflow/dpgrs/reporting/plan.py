"""A plan as text for a terminal of 100 columns."""

import textwrap
from collections.abc import Sequence
from typing import Any

from dpgrs.methods.registry import METHODS, methods_that
from dpgrs.reporting.text_table import text_table

WIDTH = 100
CHOICES = {
    "Kendall's correlations": "variants chosen one after the other, out of so many",
}


def plan_as_text(plan: dict[str, Any]) -> str:
    """Return several tables and notes on what `dpgrs.planning.plan.plan_study` found."""
    blocks = [_head(plan), _answers(plan), _totals(plan), _mechanisms(plan), _ledger(plan)]
    blocks += [_expected(plan), _compared(plan), _jobs(plan), _notes(plan)]
    blocks.append(_listed(f"This {plan['mode']} would not start:", plan["problems"]))
    blocks.append(_listed("Still to be done where it will run:", plan["hints"]))
    return "\n\n".join(block for block in blocks if block)


def _head(plan: dict[str, Any]) -> str:
    privacy = plan["privacy"]
    return (
        f"Plan of study {plan['study']}, mode {plan['mode']}. Nothing was drawn, charged or written.\n"
        f"Rows {plan['rows']}, unit {privacy['unit']}, neighbours {privacy['neighbours']}, "
        f"{privacy['bounds']} bounds.\n"
        f"Budget of the outcomes: {privacy['outcome_budget']}. Each # is a release of its own."
    )


def _answers(plan: dict[str, Any]) -> str:
    """Return the cost of each request, and the R2 of the method of which most is expected."""
    return "\n".join(_fill(answer(request)) for request in plan["requests"])


def answer(request: dict[str, Any]) -> str:
    """Return in one line the cost of a request of a plan and the expected R2; the accuracy may be yet to
    come."""
    outcomes = f"{request['n_outcomes']:,} outcome{'s' * (request['n_outcomes'] != 1)}"
    privacy = f"{request['protection']}, {request['accounting']}, epsilon {request['epsilon']:g}"
    line = f"# {request['number']} ({privacy}, {request['n_variants']:,} variants, {outcomes}): "
    line += f"costs epsilon {request['whole_study']['ledger']:.3f}"
    if "expected" not in request:
        return f"{line}."
    if request["no_accuracy"] and not request["expected"]:
        return f"{line}. No R2 is planned: {request['no_accuracy']}."
    if not request["expected"]:
        return f"{line}. No R2 is planned for these methods."
    best = max(request["expected"], key=lambda expected: expected["r2"])
    return (
        f"{line}, expected R2 {_r2(best['r2'])} with {best['method']} ({_r2(best['r2_without_noise'])} "
        "without noise)."
    )


def _totals(plan: dict[str, Any]) -> str:
    has_person = any(request["person"] for request in plan["requests"])
    columns = ["#", "protection", "accounting", "requested", "variants", "outcomes", "an outcome"]
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
    legend = {
        "requested": "in the settings: for each outcome, or for all of them under a joint budget",
        "an outcome": f"what the results of one outcome tell at most about a {plan['privacy']['unit']}",
        "all outcomes": "what the results of all tell together: this is what a ledger counts",
        "tight": "the same by the best bound known; lower only where noise is not all Gaussian",
    }
    if has_person:
        legend["a person"] = "all outcomes, for both haplotypes together"
    if any(map(_over_budget, plan["requests"])):
        legend["!"] = "above `privacy.budget`, refused before any job"
    title = f"Epsilon at delta {plan['privacy']['delta']:g}: requested, and spent"
    return "\n".join([title, text_table(columns, rows), _legend(legend)])


def _over_budget(request: dict[str, Any]) -> str:
    return " !" if request["is_within_budget"] is False else ""


def _mechanisms(plan: dict[str, Any]) -> str:
    listed = [
        (request["number"], mechanism) for request in plan["requests"] for mechanism in request["mechanisms"]
    ]
    has_choices = any(mechanism["epsilon"] is not None for _, mechanism in listed)
    counted = {
        "outcome counts": "rows on which each outcome is known",
        "case counts": "rows on which each 0/1 outcome is 1",
        "genome moments": "X'X along pairs of directions of public LD",
    }
    statistics = {mechanism["statistic"] for _, mechanism in listed}
    columns = ["#", "statistic", "times", "numbers each", "sensitivity", "noise sd", "mu", "share"]
    rows = [
        [
            str(number),
            mechanism["statistic"],
            str(mechanism["times"]),
            str(mechanism["entries"]),
            f"{mechanism['sensitivity']:.4g}",
            _number(mechanism["noise_sd"], ".4g"),
            _number(mechanism["mu"], ".4g"),
            _number(mechanism["share"], ".3f"),
            *([_number(mechanism["epsilon"], ".4g")] if has_choices else []),
        ]
        for number, mechanism in listed
    ]
    legend = {
        "count": "number of rows trained on",
        **{name: meaning for name, meaning in counted.items() if name in statistics},
        "gram": "X'X, genotypes by genotypes: LD",
        "cross product": "X'Y, genotypes by outcomes: GWAS",
        "genome sums": "X'Y along directions of public LD",
        "accuracy": "sums behind R2 and error, if they are charged",
        "numbers each": "how many are drawn at a time",
        "sensitivity": f"how far one {plan['privacy']['unit']} can move these numbers, all together",
        "mu": "sensitivity/noise sd; the less, the better one is hidden",
        "share": "of the sum of mu^2, which is what a budget is cut from",
    }
    if has_choices:
        columns.append("epsilon each")
        statistics = {mechanism["statistic"] for _, mechanism in listed}
        legend |= {name: meaning for name, meaning in CHOICES.items() if name in statistics}
        legend["epsilon each"] = "what choices cost; it adds up by itself, beside mu^2"
    return "\n".join(["Spent on what", text_table(columns, rows), _legend(legend)])


def _number(value: float | None, form: str) -> str:
    return "" if value is None else f"{value:{form}}"


def _ledger(plan: dict[str, Any]) -> str:
    ledger = plan["ledger"]
    if ledger is None:
        return ""
    if not ledger["exists"]:
        return f"Ledger {ledger['path']}: not there yet, so it is not known what is left."
    columns = ["#", "account", "cost", "spent", "limit", "remains", "total after", "limit", "at delta"]
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
    legend = {
        "account": "protection/unit/neighbours",
        "cost to remains": "mu^2 of this #, of all before it, allowed in all, and left after it",
        "total after": "epsilon of all before it and this #, at the delta of the account; its limit",
    }
    strict = [
        f"# {request['number']} leaves epsilon {small['after_epsilon']} of {small['limit_epsilon']} spent at "
        f"delta {small['delta']}, a hundredth of one over the number of people ({verdict['account']})."
        for request in plan["requests"]
        for verdict in request["ledger"]
        if (small := verdict["strict"])
    ]
    note = "Each # is taken as a new request, alone. A replay of an earlier one costs nothing."
    return "\n".join(
        [_fill(title), text_table(columns, rows), _legend(legend), *map(_fill, [*strict, *faults]), note]
    )


def _expected(plan: dict[str, Any]) -> str:
    columns = ["#", "method", "h2", "weight sd", "noise sd", "from X'X", "from X'Y", "R2", "+-"]
    columns.append("R2 without noise")
    rows = [
        [
            str(request["number"]),
            expected["method"],
            f"{expected['heritability']:g}",
            *(
                "-" if expected[name] is None else f"{expected[name]:.3g}"
                for name in ("weight_sd", "noise_sd", "noise_sd_gram", "noise_sd_cross")
            ),
            _r2(expected["r2"]),
            "-" if expected["r2_sd"] is None else f"{expected['r2_sd']:.2f}" if expected["r2"] > -1 else "",
            _r2(expected["r2_without_noise"]),
        ]
        for request in plan["requests"]
        for expected in request["expected"]
    ]
    if not rows:
        return ""
    legend = {
        "h2": "share of an outcome's variance that the variants explain, assumed",
        "weight sd": "of the weights, effects per allele, without noise",
        "noise sd": "what noise adds to a weight: in all, by the noise of X'X, by that of X'Y",
        "R2": "in new people of the same population; < -1 where the weights are noise",
        "+-": "sd of R2 between the cohorts and draws of noise that were tried",
        "R2 without noise": "of the same fit, with rows clipped as they are here",
    }
    return "\n".join(["To be expected of an outcome", text_table(columns, rows), _legend(legend)])


def _compared(plan: dict[str, Any]) -> str:
    columns = [
        "#",
        "bounds",
        "neighbours",
        "noise sd X'X",
        "noise sd X'Y",
        "method",
        "h2",
        "R2",
        "this study",
    ]
    rows = [
        [
            str(request["number"]),
            line["bounds"],
            line["neighbours"],
            "-" if line["noise_sd_gram"] is None else f"{line['noise_sd_gram']:.4g}",
            f"{line['noise_sd_cross']:.4g}",
            line["method"] or "-",
            f"{line['heritability']:g}",
            "-" if line["r2"] is None else _r2(line["r2"]),
            "*" if line["is_own"] else "",
        ]
        for request in plan["requests"]
        for line in request["bounds_and_neighbours"]
    ]
    if not rows:
        return ""
    legend = {
        "bounds": "`privacy.bounds`; tight clips rows about their root mean square",
        "noise sd": "of an entry of X'X (- if it is not drawn) and of X'Y, at the same epsilon and delta",
        "R2": "of the first planned method, as above",
        "this study": "* what this study asks for",
    }
    return "\n".join(["What bounds and neighbours cost", text_table(columns, rows), _legend(legend)])


def _jobs(plan: dict[str, Any]) -> str:
    columns = ["step", "memory, MB", "minutes"]
    rows = [[job["step"], f"{job['mem_mb']:,}", f"{job['minutes']:,}"] for job in plan["jobs"]]
    title = "Memory and run time that the large steps ask for, each, at most"
    return "\n".join([title, text_table(columns, rows)])


# A share of the variance of an outcome: a regression on covariates whose noise costs more is pointed out.
LARGEST_LOSS_WORTHWHILE = 0.005


def _r2(value: float) -> str:
    return f"{value:.2f}" if value > -1 else "< -1"


def _notes(plan: dict[str, Any]) -> str:
    assumed = plan["assumptions"]
    outcomes = f"outcomes: {assumed['outcomes']}; " if "outcomes" in assumed else ""
    setting = f" (`{assumed['people_from']}`)" if "people_from" in assumed else ""
    lines = [
        f"Assumed, not read: {assumed['people']} people{setting}, {assumed['training_rows']} rows to "
        f"train on; {outcomes}allele frequencies {assumed['frequencies']}, and so the norms of tight bounds; "
        "normal effects on all variants.",
        f"Assumed of linkage disequilibrium: {assumed['linkage']}.",
    ]
    if "genome_linkage" in assumed:
        mapped = ", ".join(methods_that("takes_map"))
        lines.append(f"For {mapped} it is the linkage disequilibrium of {assumed['genome_linkage']}.")
    reasons = dict.fromkeys(
        request["no_accuracy"]
        for request in plan["requests"]
        if request["no_accuracy"] and request["expected"]
    )
    lines += [f"No R2 is planned for other methods: {reason}." for reason in reasons]
    if "n_covariates" in assumed:
        lines.append(
            f"The {assumed['n_covariates']} covariates share norm and noise with the variants; the R2 is "
            "that of the variants, as if covariates explained nothing."
        )
    if "covariate_loss" in assumed:
        loss, n_covariates = assumed["covariate_loss"], assumed["regressed_covariates"]
        line = (
            f"A regression on {n_covariates} covariates comes first, with {assumed['covariate_share']:.2g} "
            f"of mu^2. Its noise costs an outcome about {loss:.2g} of its variance."
        )
        if loss > LARGEST_LOSS_WORTHWHILE:
            line += (
                " That is worth it only if covariates explain clearly more: with so few people leave weak "
                "ones out."
            )
        lines.append(line)
    lines.append(
        "The plan does not depend on the people: it read the names of columns in private tables, and nothing "
        "of the cohort's genotypes. A dry run checks these files."
    )
    lines += plan["choice"]
    if any(
        expected_fit["method"] == "blup-ld"
        for request in plan["requests"]
        for expected_fit in request["expected"]
    ):
        lines.append(
            "The R2 of blup-ld can be too low for a cohort many times larger than the public reference: a "
            "run may reach more."
        )
    too_large = [f"{method} ({reason})" for method, reason in plan["too_large"].items()]
    if too_large:
        lines.append(f"Methods that cannot run here at this size: {', '.join(too_large)}.")
    unplanned = [f"{method} ({reason})" for method, reason in plan["not_planned"].items()]
    if unplanned:
        lines.append(f"Methods without a planned R2: {', '.join(unplanned)}.")
    planned = (expected["method"] for request in plan["requests"] for expected in request["expected"])
    uncosted = [
        method
        for method in dict.fromkeys([*plan["not_planned"], *planned])
        if not (METHODS[method].is_post_processing or METHODS[method].is_non_private)
    ]
    if uncosted and plan["mode"] == "benchmark":
        lines.append(
            f"Mechanisms and totals are those of ReuseCov's statistics, not of {', '.join(uncosted)}: each "
            "draws noise of its own, within what is asked."
        )
    useless = {}
    for request in plan["requests"]:
        for expected in request["expected"]:
            if expected["r2"] <= 0:
                useless.setdefault(expected["method"], {})[str(request["number"])] = None
    lines += [
        f"R2 of 0 or less is expected of # {', '.join(numbers)} with {method}: predicting the mean is no "
        "worse. Raise epsilon, take other bounds, or ask for fewer variants or outcomes."
        for method, numbers in useless.items()
    ]
    return "\n".join(map(_fill, lines))


def _listed(title: str, lines: Sequence[str]) -> str:
    """Return a title and its lines, or nothing without lines."""
    return "\n".join([title, *map(_fill, (f"- {line}" for line in lines))]) if lines else ""


def _legend(meanings: dict[str, str]) -> str:
    """Explain columns, a line each."""
    width = max(map(len, meanings))
    return "\n".join(f"  {name:<{width}}  {meaning}" for name, meaning in meanings.items())


def _fill(line: str) -> str:
    return textwrap.fill(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
