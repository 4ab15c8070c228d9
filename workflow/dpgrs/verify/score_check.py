"""The files of one outcome, held against the statement: what their heads say, which sites, which errors."""

import re
from pathlib import Path
from typing import Any

from dpgrs.verify.scoring_check import (
    NOT_REPORTED,
    header_value,
    read_scoring_file,
    read_standard_errors,
)

# Fields of a trait: in the head of its scoring file, and in the statement.
TERMS = {"mapped": "mapped_traits", "efo": "efo_ids"}


def traits_of(statement: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what the curator states of outcomes, by name."""
    return {trait["outcome"]: trait for trait in statement["curation"].get("traits", ())}


def score_problems(
    statement: dict[str, Any],
    score: dict[str, Any],
    files: dict[str, Path],
    *,
    constant: str | None,
    frequencies: dict[str, str],
) -> list[str]:
    """Check one outcome's files against the format, the statement and its constant.

    `constant` is as in the table of constants, None if it has none. `frequencies` are those of the scores
    before, by site, empty text without any, or of ``all`` sites, as one text, where scores are of all; the
    ones of this score are added.
    """
    if not {score["file"], score["standard_errors"] or score["file"]} <= files.keys():
        return []  # named already
    guarantee, domain = statement["guarantee"], statement["data_domain"]
    file = read_scoring_file(files[score["file"]])
    if not file.is_readable:
        return [f"{score['file']}: {problem}" for problem in file.problems]
    stated = {
        f"dp_{name}": guarantee[name] for name in ("epsilon", "delta", "protection", "unit", "neighbours")
    }
    stated |= {"genome_build": domain["genome_build"], "privacy_statement": "privacy_statement.json"}
    of_sites = {name: score.get(name, domain[name]) for name in ("n_variants", "site_digest")}
    stated |= {"variants_number": str(of_sites["n_variants"])}
    stated |= {} if constant is None else {"constant": constant}
    stated |= {"pgs_id": Path(score["file"]).name.removesuffix(".txt.gz")}
    curation, trait = statement["curation"], traits_of(statement).get(score["outcome"], {})
    words = {"trait_reported": trait.get("reported_trait", score["outcome"]), "pgs_name": score["outcome"]}
    words |= {f"trait_{kind}": "|".join(trait.get(field, ())) for kind, field in TERMS.items()}
    stated |= {name: header_value(text) for name, text in words.items()} | {"pgp_id": NOT_REPORTED}
    names = [name for name in ("citation", "license", "acknowledgement") if name in curation]
    stated |= {name: header_value(curation[name]) for name in names}
    problems = file.problems + [
        f"{key} must be {value} as stated, got {file.header.get(key)}"
        for key, value in stated.items()
        if file.header.get(key) != value
    ]
    if ("acknowledgement" in file.header) != ("acknowledgement" in curation):
        problems.append("it must acknowledge who gave the data just where the statement does")
    if file.site_digest != of_sites["site_digest"]:
        problems.append("its sites must be those of the statement's site_digest")
    if file.n_rows > domain["n_variants"]:
        problems.append("it must hold no more variants than the data domain")
    # A file without frequencies says "" of each site, and so differs from one with them.
    by_site = [("all", file.frequencies)]
    if "site_digest" in score:
        cells = file.frequencies or "\n" * file.n_rows
        by_site = zip(file.sites.split("\n")[:-1], cells.split("\n")[:-1], strict=True)
    if any(frequencies.setdefault(site, frequency) != frequency for site, frequency in by_site):
        problems.append("its frequencies must be those of the other scores")
    problems = [f"{score['file']}: {problem}" for problem in problems]
    if score["standard_errors"]:
        errors = read_standard_errors(files[score["standard_errors"]])
        is_other = errors.is_readable and errors.sites != file.sites
        faults = errors.problems + ["its sites must be those of the score"] * is_other
        is_nothing = errors.numbers and not re.search("[1-9]", errors.numbers)
        faults += ["some must be above 0"] * bool(is_nothing)
        problems += [f"{score['standard_errors']}: {fault}" for fault in faults]
    return problems
