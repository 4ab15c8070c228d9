"""Sample ids that differ only in case, blanks or invisible characters: perhaps one person under two ids.

dpgrs takes them as different people. A person who is in the data twice loses twice as much, so dpgrs reports
the number of such ids.
"""

import unicodedata
from collections.abc import Sequence

ONLY = "only in case, blanks or invisible characters"


def plain_id(sample: str) -> str:
    """Return an id in lower case, without blanks and invisible characters, compatible letters made one."""
    if sample.isascii() and sample.isalnum():
        return sample.lower()
    text = unicodedata.normalize("NFKC", sample).casefold()
    return "".join(letter for letter in text if letter.isprintable() and not letter.isspace())


def plain_ids(ids: Sequence[str]) -> Sequence[str]:
    """Return what `plain_id` does of each id, the ids themselves if all are plain.

    If all are letters and digits, that takes a tenth of the time.
    """
    text = "\n".join(ids)
    if ids and text.isascii() and text.replace("\n", "").isalnum() and text.count("\n") == len(ids) - 1:
        return ids if (plain := text.lower()) == text else plain.split("\n")
    return list(map(plain_id, ids))


def count_alike(ids: Sequence[str]) -> int:
    """Return how many of different ids are like an earlier one."""
    return len(ids) - len(set(plain_ids(ids)))


class AlikeIds:
    """Counts the ids of a table that are like others, block by block.

    `sample_ids` are the people with genotypes, and `people` the set of them if there is one; `of` says whose
    genotypes they are, for messages.
    """

    def __init__(
        self,
        sample_ids: Sequence[str],
        *,
        people: frozenset[str] | None = None,
        of: str = "the genotypes",
    ) -> None:
        self._people = frozenset(sample_ids) if people is None else people
        self._of, plain = of, plain_ids(sample_ids)
        self._plain_people, self._seen = self._people if plain is sample_ids else set(plain), set()
        self._n_ids, self._n_almost = 0, 0

    def add(self, ids: Sequence[str]) -> None:
        """Count some ids, each of which is given once."""
        plain = plain_ids(ids)
        self._seen.update(plain)
        self._n_ids += len(ids)
        if not (plain is ids and self._plain_people is self._people):
            strangers = list(set(ids).difference(self._people))
            self._n_almost += sum(map(self._plain_people.__contains__, plain_ids(strangers)))

    def in_words(self) -> list[str]:
        """Return the counts in words, empty if no id is like another."""
        lines, n_twice = [], self._n_ids - len(self._seen)
        if n_twice:
            lines.append(f"{n_twice:,} of its ids differ from another of its ids {ONLY}: one person twice?")
        if self._n_almost:
            lines.append(
                f"{self._n_almost:,} of its ids are not in {self._of}, and differ from one there {ONLY}: "
                "they count as other people. Write them alike if they are the same."
            )
        return lines
