"""Names of the files of a bundle, of its folder, and of the scores of each outcome."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

RELEASE = "release"
STATEMENT, SUMS, PROVENANCE = "privacy_statement.json", "SHA256SUMS", "provenance.json"
PLAIN_LANGUAGE, REGISTRY = "privacy_statement.txt", "registry.yaml"
CONSTANTS, SCALES = "constants.tsv", "outcome_scales.tsv"
# Where accuracy was measured on public people.
ACCURACY_SUMS, MEASURES = "accuracy_sums.tsv", "measures.tsv"
COVARIATES, LOADINGS = "covariate_weights.tsv", "pca_loadings.tsv"
OUTCOME_LOADINGS, STATISTICS = "outcome_loadings.tsv", "statistics"
# Characters of a name.
LONGEST_STEM = 80


def file_stems(names: Sequence[str]) -> list[str]:
    """Turn names of outcomes into names of files: safe on every system, and never two alike.

    They have ASCII letters, digits, ``.``, ``_`` and ``-``. Names that would share a file, also where case is
    ignored, get a digest of theirs.

    Examples
    --------
    >>> file_stems(["height", "LDL/HDL ratio"])
    ['height', 'LDL_HDL_ratio']
    >>> file_stems(["a/b", "A b"])
    ['a_b-c14cddc0', 'A_b-a760b0e1']
    """
    n_digits = dict.fromkeys(names, 0)
    while True:
        stems = [_stem(name, n_digits[name]) for name in names]
        n_alike = Counter(stem.casefold() for stem in stems)
        alike = [name for name, stem in zip(names, stems, strict=True) if n_alike[stem.casefold()] > 1]
        if all(n_digits[name] == 64 for name in alike):
            return stems
        # A name may be what others became.
        n_digits |= {name: 64 if n_digits[name] else 8 for name in alike}


def _stem(name: str, n_digits: int) -> str:
    digest = hashlib.sha256(name.encode()).hexdigest()[:n_digits]
    return f"{_clean_stem(name)}-{digest}" if digest else _clean_stem(name)


def _clean_stem(name: str) -> str:
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9._-]+", "_", ascii_name).strip("._-")[:LONGEST_STEM] or "outcome"
