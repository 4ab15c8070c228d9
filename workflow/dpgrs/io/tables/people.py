"""The people of a study, by lists of ids, consent codes and relatives; and the bits of these people.

All of it is private: messages name files, lines and columns, never a sample, a value or a count.
"""

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.genotypes.bits import pack, unpack
from dpgrs.io.files import read_bytes
from dpgrs.io.tables.alike_ids import plain_id
from dpgrs.io.tables.tables import (
    MISSING,
    SAMPLE_COLUMNS,
    describe_mismatch,
    find_column,
    header_of,
    number_of,
    plain_name,
    rows_of,
)

FIRST_COLUMNS, SECOND_COLUMNS, KINSHIP_COLUMN = {"id1", "iid1"}, {"id2", "iid2"}, "kinship"


def choose_people(
    samples: Sequence[str], people_terms: Any, *, shows_ids: bool = False
) -> tuple[list[str], dict[str, Any]]:
    """Return the people of a study in the order of `samples`, relatives left out last, and counts.

    Samples are the people of the genotypes, `people_terms` are PeopleTerms. Counts are n_people, n_chosen,
    left_out (people by the first reason that held), unknown (ids of each list that are not in the genotypes)
    and alike (unknown ids that are like one there, by `plain_id`). `shows_ids` lets an error quote ids: open
    data only.
    """
    left, reasons, unknown, alike = list(samples), {}, {}, {}
    plain_samples = set(map(plain_id, samples))

    def drop(reason: str, ids: set[str]) -> None:
        reasons[reason] = sum(sample in ids for sample in left)
        left[:] = [sample for sample in left if sample not in ids]

    def in_genotypes(name: str, ids: Iterable[str], path: Path | str) -> set[str]:
        ids, everybody = dict.fromkeys(ids), set(samples)
        mismatch = describe_mismatch(ids, samples, shows_ids=shows_ids) if ids else None
        if mismatch:
            raise DpgrsError("people-not-in-genotypes", f"`{path}` {mismatch}")
        strangers = [sample for sample in ids if sample not in everybody]
        if any('"' in sample for sample in strangers):
            raise DpgrsError(
                "ids-in-quotes", f"`{path}` must hold ids as the genotypes do, got quotes. Take them off."
            )
        unknown[name] = len(strangers)
        alike[name] = sum(plain_id(sample) in plain_samples for sample in strangers)
        return set(ids)

    if people_terms.keep is not None:
        drop("not_kept", set(samples) - in_genotypes("keep", read_ids(people_terms.keep), people_terms.keep))
    if people_terms.remove is not None:
        drop("removed", in_genotypes("remove", read_ids(people_terms.remove), people_terms.remove))
    if people_terms.consent is not None:
        codes = read_consent(people_terms.consent, column=people_terms.consent_column)
        in_genotypes("consent", codes, people_terms.consent)
        drop(
            "no_consent", {sample for sample in samples if not _allows(people_terms.allow, codes.get(sample))}
        )
    if people_terms.related is not None:
        drop("related", _relatives(people_terms, left, in_genotypes))
    if not left:
        keys = ", ".join(f"`{key}`" for key in people_terms.paths)
        raise DpgrsError(
            "no-people-left",
            f"{keys} must leave people of the genotypes, got none. Correct what they ask for.",
        )
    counts = {"n_people": len(samples), "n_chosen": len(left), "left_out": reasons}
    return left, counts | {"unknown": unknown, "alike": alike}


def is_never_allowed(code: str | None) -> bool:
    """Return whether a consent code lets nobody in: empty, missing, or dbGaP's group 0 (no consent)."""
    return code is None or code in MISSING or _is_zero(code)


def read_ids(path: Path | str) -> list[str]:
    """Read sample ids: one a line, or a table with a column `sample` or `IID` (or `id`) in its first line."""
    rows = list(rows_of(path))
    if not rows:
        return []
    column = find_column([plain_name(name) for name in rows[0][1]], SAMPLE_COLUMNS)
    if column is not None:
        return [cells[column] for _, cells in rows[1:] if cells[column]]
    if len(rows[0][1]) > 1:
        raise DpgrsError(
            "id-column-unclear",
            f"`{path}`, line {rows[0][0]}: must be one id, or names of columns with `sample` or `IID` "
            "among them, got several columns without. Name that of the ids.",
        )
    return [cells[0] for _, cells in rows]


def read_consent(path: Path | str, *, column: str) -> dict[str, str]:
    """Return the consent code of each sample id, as text; refuse a person who is there twice.

    The table has a column `sample`, `IID` or `SAMPLE_ID`, and `column`, whose case does not matter.
    """
    rows = rows_of(path)
    header = [plain_name(name) for name in header_of(rows, path)]
    sample, code = find_column(header, SAMPLE_COLUMNS), find_column(header, {plain_name(column)})
    if sample is None or code is None:
        raise DpgrsError(
            "consent-columns-missing",
            f"`{path}`: columns `sample` and `{column}` must be there. Name them above the people, or set "
            "`people.consent.column`.",
        )
    codes, lines = {}, {}
    for line, cells in rows:
        if cells[sample] in lines:
            raise DpgrsError(
                "person-twice",
                f"`{path}`, line {line}: each person must have one line, got the id of line "
                f"{lines[cells[sample]]}. Keep one of the two.",
            )
        lines[cells[sample]], codes[cells[sample]] = line, cells[code]
    return codes


def is_pair_table(path: Path | str) -> bool:
    """Return whether the names of its columns make a file a table of related pairs, not a list of ids."""
    return _pair_columns(next(rows_of(path), (1, []))[1]) is not None


def read_pairs(path: Path | str) -> list[tuple[str, str, float]]:
    """Return pairs of ids and their kinship, of KING (``.kin``, ``.kin0``) or plink2 (--make-king-table)."""
    rows = rows_of(path)
    columns = _pair_columns(header_of(rows, path))
    pairs = []
    for line, cells in rows:
        first, second, kinship = (cells[column] for column in columns)
        number = number_of(kinship)
        if math.isnan(number):
            raise DpgrsError(
                "kinship-not-a-number", f"`{path}`, line {line}: the kinship must be a number. Correct it."
            )
        pairs.append((first, second, number))
    return pairs


def unrelated(samples: Sequence[str], pairs: Iterable[tuple[str, str, float]], *, kinship: float) -> set[str]:
    """Return whom to leave out so that no pair is related: each time the person with the most relatives left.

    The last of several with as many relatives is left out. A pair with more kinship than `kinship` is
    related; pairs with people who are not in `samples` are ignored. Whether a person is left out depends on
    others: no release may use this.
    """
    index_of = {sample: index for index, sample in enumerate(samples)}
    relatives = defaultdict(set)
    for first, second, number in pairs:
        if number > kinship and first != second and first in index_of and second in index_of:
            relatives[first].add(second)
            relatives[second].add(first)
    queue = [(-len(relations), -index_of[sample], sample) for sample, relations in relatives.items()]
    heapq.heapify(queue)
    dropped = set()
    while queue:
        degree, _, sample = heapq.heappop(queue)
        # An entry from before a relative was left out; a newer one is in the queue.
        if sample in dropped or -degree != len(relatives[sample]) or not degree:
            continue
        dropped.add(sample)
        for other in relatives.pop(sample):
            relatives[other].remove(sample)
            heapq.heappush(queue, (-len(relatives[other]), -index_of[other], other))
    return dropped


def find_people(path: Path | str, samples: Sequence[str]) -> np.ndarray:
    """Return the ascending numbers in `samples`, (n_chosen,) int64 from 0, of the people that a file lists.

    The file has one id a line, as ``dpgrs choose-people`` writes it. An empty file, and one with the id of
    somebody else, are refused.
    """
    try:
        ids = {line for line in read_bytes(path).decode("utf-8-sig").splitlines() if line}
    except (OSError, ValueError):
        raise DpgrsError(
            "not-a-list-of-people", f"`{path}` must be a list of ids. Make it: dpgrs choose-people"
        ) from None
    indices = np.array([index for index, sample in enumerate(samples) if sample in ids], dtype=np.int64)
    if not ids or len(indices) < len(ids):
        got = "somebody else" if ids else "nobody"
        raise DpgrsError(
            "people-not-in-genotypes",
            f"`{path}` must list people of the genotypes, got {got}. Make it again: dpgrs choose-people",
        )
    return indices


def take_people(words: np.ndarray, indices: np.ndarray, *, n_people: int) -> np.ndarray:
    """Return the bits of people with the numbers `indices`, (n_variants, word_count(2 n_chosen)) uint64.

    `words` are the bits of all `n_people`, (n_variants, n_words), two bits a person.
    """
    # Both haplotypes of a person move as one: a byte each, two together.
    pairs = unpack(words, 2 * n_people).view(np.uint16)
    return pack(pairs.take(indices, axis=1).view(np.uint8))


def _relatives(
    people_terms: Any, left: Sequence[str], in_genotypes: Callable[[str, Iterable[str], Path | str], set[str]]
) -> set[str]:
    if not is_pair_table(people_terms.related):
        return in_genotypes("related", read_ids(people_terms.related), people_terms.related)
    pairs = read_pairs(people_terms.related)
    in_genotypes("related", [sample for *both, _ in pairs for sample in both], people_terms.related)
    return unrelated(left, pairs, kinship=people_terms.kinship)


def _pair_columns(header: Sequence[str]) -> list[int] | None:
    """Return the columns of two ids and their kinship, or None."""
    names = [plain_name(name) for name in header]
    columns = [find_column(names, aliases) for aliases in (FIRST_COLUMNS, SECOND_COLUMNS, {KINSHIP_COLUMN})]
    return None if None in columns else columns


def _allows(allow: Collection[str], code: str | None) -> bool:
    return code in allow and not is_never_allowed(code)


def _is_zero(code: str) -> bool:
    code = code.removeprefix("c")
    try:
        return float(code) == 0
    except ValueError:
        return False
