"""The files of a study that are yet to be fetched, and the faults of their addresses."""

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from dpgrs.fetching.downloads import address_fault

if TYPE_CHECKING:
    from dpgrs.config.cohort import Cohort
    from dpgrs.config.study import StudyConfig

KEYS = ("vcf", "populations", "manifest")
# The one place that is fetched into: public data must not take the name of a file whose path was mistyped.
FOLDER = "downloads"
NO_NAMES = ("", ".", "..")


def files_to_fetch(config: "StudyConfig") -> dict[str, str]:
    """Map the path of every public file that is not there yet to its address.

    An existing file is never fetched or touched, and nothing is fetched to a path outside of a folder
    `downloads`, nor beside existing genotypes. A release fetches nothing either: all its files are checked
    before anything is charged.
    """
    cohort = config.cohort
    if config.mode == "release" or not _is_download(cohort.vcf):
        return {}
    return {path: url for path, url in _absent_files(cohort).items() if _is_download(path)}


def implied_populations(cohort: "Cohort") -> str | None:
    """Return the path of a cohort's table of populations: beside the genotypes, if both are fetched."""
    url = cohort.fetch.populations
    if cohort.populations or not url or not _is_download(cohort.vcf):
        return cohort.populations
    name = url.rpartition("/")[2]
    return None if name in NO_NAMES else str(Path(cohort.vcf).with_name(name))


def fetch_problems(config: "StudyConfig") -> list[str]:
    """List the faults of the addresses of `cohort.fetch`, one line each."""
    cohort, fetch = config.cohort, config.cohort.fetch
    given_keys = [key for key in KEYS if getattr(fetch, key) is not None]
    if not given_keys:
        return []
    if (source := cohort.source) in ("simulate", "table"):
        return [
            f"`cohort.source` must be vcf where `cohort.fetch` is given, got {source}. Say `source: vcf`."
        ]
    misplaced = [
        key for key in ("vcf", "populations") if (path := getattr(cohort, key)) and not _is_download(path)
    ]
    if misplaced:
        return _misplaced(misplaced[0], cohort)
    lines = [line for key in given_keys for line in _address_problems(key, cohort)]
    if "manifest" not in given_keys:
        lines.append(
            "`cohort.fetch.manifest` must be the address of the checksums of what is fetched, got null. "
            "Give it: no file is fetched without a checksum."
        )
    if given_keys == ["manifest"]:
        lines.append(
            "`cohort.fetch.manifest` must come with `vcf` or `populations`, got it without. Give addresses."
        )
    if config.mode == "release":
        lines += [
            f"`cohort.fetch` must have nothing left to fetch in a release, got {path}. Fetch it first: "
            + fetch_command(cohort, path, url)
            for path, url in _absent_files(cohort).items()
        ]
    return lines


def fetch_command(cohort: "Cohort", path: str, url: str) -> str:
    """Return the command that fetches one file of a cohort, as text for a shell."""
    manifest = str(cohort.fetch.manifest)
    return shlex.join(["dpgrs", "fetch", url, "--manifest", manifest, "--output", path])


def _misplaced(key: str, cohort: "Cohort") -> list[str]:
    """Say why nothing is fetched to a path outside of downloads, if some file is absent."""
    if not _absent_files(cohort):
        return []
    return [
        f"`cohort.fetch` is for `cohort.{key}` in a folder `{FOLDER}`, got {getattr(cohort, key)}: it is "
        "not fetched. Give files that are there, or a path in such a folder, from which no link or `..` "
        "leads away."
    ]


def _is_download(path: str | None) -> bool:
    """Return whether a path, without its links and `..`, lies in a folder `downloads` that it names."""
    if path is None:
        return False
    resolved = Path(path).resolve()
    folders = [folder.resolve() for folder in Path(path).parents if folder.name == FOLDER]
    return any(folder.name == FOLDER and folder in resolved.parents for folder in folders)


def _absent_files(cohort: "Cohort") -> dict[str, str]:
    fetch = cohort.fetch
    if cohort.source == "simulate":
        return {}
    pairs = {}
    if cohort.vcf and fetch.vcf:
        for chromosome in cohort.chromosomes:
            path, url = (text.replace("{chrom}", chromosome) for text in (cohort.vcf, fetch.vcf))
            pairs[path] = url
    if cohort.populations and fetch.populations:
        pairs[cohort.populations] = fetch.populations
    return {path: url for path, url in pairs.items() if not Path(path).exists()}


def _address_problems(key: str, cohort: "Cohort") -> list[str]:
    url, name = getattr(cohort.fetch, key), f"cohort.fetch.{key}"
    fault = address_fault(url)
    if fault:
        return [f"`{name}` must {fault}"]
    if key == "populations" and cohort.populations is None and url.rpartition("/")[2] in NO_NAMES:
        return [f"`{name}` must end with the name of a file, got {url}. Give `cohort.populations` besides."]
    allowed = {"{chrom}"} if key == "vcf" else set()
    stray = [name for name in re.findall(r"{[^}]*}", url) if name not in allowed]
    if stray:
        requirement = "no placeholder but {chrom}" if allowed else "no placeholder"
        return [f"`{name}` must have {requirement}, got {stray[0]}. Write the whole address."]
    if key == "vcf" and ("{chrom}" in url) != ("{chrom}" in cohort.vcf):
        return [
            f"`{name}` must have {{chrom}} where `cohort.{key}` has it, got {url} and {cohort.vcf}. "
            "Write {chrom} in both or in neither."
        ]
    return []
