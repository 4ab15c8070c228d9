"""The one door to genotype files: VCF, BCF and PLINK, whole or in several parts for a chromosome."""

import glob
from pathlib import Path

import numpy as np

from dpgrs.errors import DpgrsError
from dpgrs.io.chromosomes import everybody_has_two, is_chromosome
from dpgrs.io.files import file_digest, folder_digest
from dpgrs.io.genome_builds import builds_of_header
from dpgrs.io.genotype_forms import PLINK, form_named, form_of
from dpgrs.io.vcf.vcf import N_THREADS, VcfHeader

INDEX_ENDINGS = (".tbi", ".csi")


def find_genotype_files(pattern, chromosome, *, is_prefix=False):
    """Find the files of a chromosome.

    Parameters
    ----------
    pattern : str, a path in which ``{chrom}`` stands for the chromosome and ``*`` for any text: then the
        files that match are parts of the chromosome.
    chromosome : str
    is_prefix : bool, whether a pattern that ends in neither ``.pgen`` nor ``.bed`` lacks that ending.

    Returns
    -------
    list of pathlib.Path by name, at least one: VCFs, BCFs, or the ``.pgen`` or ``.bed`` of PLINK sets.

    Raises
    ------
    DpgrsError
        If ``*`` matches nothing, or there is no PLINK set of that prefix, or one of each kind.
    """
    path = pattern.replace("{chrom}", chromosome)
    if not is_prefix or path.endswith(PLINK.endings):
        return _matching(path)
    found = [ending for ending in PLINK.endings if _glob(path + ending)]
    if not found:
        raise DpgrsError(f"`{path}` has no .pgen and no .bed beside it. Mend the path, or fetch the files.")
    if len(found) > 1:
        raise DpgrsError(f"`{path}` has a .pgen and a .bed. Name the one to use, with its ending.")
    return _matching(path + found[0])


def with_companions(paths):
    """Return genotype files with the tables that belong to them: .bim and .fam, .pvar and .psam.

    Parameters
    ----------
    paths : list of paths

    Returns
    -------
    list of pathlib.Path
    """
    return [file for path in map(Path, paths) for file in form_named(path).files(path)]


def genotype_header(paths):
    """Read which people and contigs genotype files hold.

    Parameters
    ----------
    paths : path, or list of the paths of a chromosome's parts.

    Returns
    -------
    dpgrs.io.vcf.vcf.VcfHeader; of parts, its path is that of the first, and its contigs are those of any.

    Raises
    ------
    DpgrsError
        Anything wrong with a header, or parts that do not hold the same people in the same order.
    """
    first, *others = [form_of(path).header(path) for path in as_paths(paths)]
    contigs = dict(first.contigs)
    for other in others:
        if other.samples != first.samples:
            raise DpgrsError(
                f"`{other.path}` must hold the same people in the same order as `{first.path}`, as parts of "
                "one chromosome do. Select them with `bcftools view --samples-file`, or correct the pattern."
            )
        _require_same_build(first, other)
        contigs |= {name: length for name, length in other.contigs.items() if length or name not in contigs}
    return VcfHeader(first.path, first.samples, contigs)


def _require_same_build(first, other):
    """Refuse a file whose header declares another genome build than the first one."""
    one, two = builds_of_header(first), builds_of_header(other)
    if one and two and not one.keys() & two.keys():
        (build, clue), (another, other_clue) = next(iter(one.items())), next(iter(two.items()))
        raise DpgrsError(
            f"`{other.path}` must be of the genome build of `{first.path}`, {build} by {clue}, got {another} "
            f"by {other_clue}. Lift one over, or leave it out."
        )


def genotype_reader(
    paths,
    chromosome,
    *,
    phased="required",
    keep_filtered=False,
    known_ref=False,
    field="GT",
    n_threads=N_THREADS,
):
    """Return a reader of one chromosome, whatever the form of its files.

    Parameters
    ----------
    paths : path, or list of the paths of the chromosome's parts, in any order.
    chromosome : str, as in the files or with ``chr`` in front added or left out.
    phased, keep_filtered, known_ref, field : see `dpgrs.io.vcf.vcf.ContigReader`.
    n_threads : int, those that read a VCF, see there; BCF and PLINK files are read in one.

    Returns
    -------
    ContigReader, or a reader with the same `batches` and counters.

    Raises
    ------
    DpgrsError
        Anything wrong with a header; parts that begin with another contig or at one position; dosages of a
        chromosome that is no autosome, of which men may have one.
    """
    paths = as_paths(paths)
    terms = {"phased": phased, "keep_filtered": keep_filtered, "known_ref": known_ref, "field": field}
    if field == "DS" and not everybody_has_two(chromosome):
        raise DpgrsError(
            f"`{paths[0]}` does not say whether the dosages of men on chromosome {chromosome}, which is none "
            "of 1 to 22, go up to 1 or to 2. Leave the chromosome out, or read its calls: `field: GT`."
        )
    if len(paths) > 1:
        paths = order_parts(paths, chromosome)
    readers = [form_of(path).reader(path, chromosome, n_threads=n_threads, **terms) for path in paths]
    return readers[0] if len(readers) == 1 else PartsReader(paths, readers)


def order_parts(paths, chromosome):
    """Sort the parts of a chromosome by their first positions; leave out those without records.

    Parameters
    ----------
    paths : list of paths
    chromosome : str

    Returns
    -------
    list of pathlib.Path, at least one.

    Raises
    ------
    DpgrsError
        A damaged file, or one that begins with another contig.
    """
    paths = as_paths(paths)
    sites = {path: site for path in paths if (site := form_of(path).first_site(path))}
    for path, (contig, _) in sites.items():
        if not is_chromosome(contig, chromosome):
            raise DpgrsError(
                f"`{path}` must begin with chromosome {chromosome}, as a part of it, got {contig}. Write a "
                "pattern that matches parts of one chromosome alone, such as chr{chrom}_*.vcf.gz."
            )
    return sorted(sites, key=lambda path: sites[path][1]) or paths[:1]


def describe_files(paths):
    """Return the name and digest of the file read, as a dict, or a list of them where there are several."""
    described = [
        {"file": path.name, "sha256": folder_digest(path) if path.is_dir() else file_digest(path)}
        for path in with_companions(as_paths(paths))
    ]
    return described[0] if len(described) == 1 else described


class PartsReader:
    """The variants of a chromosome from several files, one after the other.

    Its other attributes are the counters of `dpgrs.io.vcf.vcf.ContigReader`, summed over the parts.

    Parameters
    ----------
    paths : list of pathlib.Path, in the order of their positions.
    readers : list of their readers.
    """

    def __init__(self, paths, readers):
        self._paths = paths
        self._readers = readers

    def __getattr__(self, counter):
        first, *others = (getattr(reader, counter) for reader in self._readers)
        return sum(others, start=first)

    def batches(self, n_variants):
        """Yield `VariantBatch` after `VariantBatch`, each of `n_variants` but the last of every part.

        Raises
        ------
        DpgrsError
            What the readers raise, and parts that overlap.
        """
        end, previous = 0, None
        for path, reader in zip(self._paths, self._readers, strict=True):
            last = end
            for batch in reader.batches(n_variants):
                first = int(np.min(batch.columns["position"]))
                if first <= end:
                    raise DpgrsError(
                        f"`{path}` must begin after position {end}, where `{previous}` ends, got position "
                        f"{first}. Cut the parts so that none overlap, or correct the pattern."
                    )
                last = max(last, int(np.max(batch.columns["position"])))
                yield batch
            # A part in which nothing could be used ends nowhere.
            end, previous = (last, path) if last > end else (end, previous)


def as_paths(paths):
    """Return one path, or several, as a list of pathlib.Path."""
    return [Path(path) for path in paths] if isinstance(paths, list | tuple) else [Path(paths)]


def _glob(path):
    """Match ``*`` alone: brackets and question marks stand for themselves."""
    return sorted(glob.glob("*".join(map(glob.escape, path.split("*")))))  # noqa: PTH207


def _matching(path):
    if "*" not in path:
        return [Path(path)]
    found = [Path(name) for name in _glob(path) if not name.endswith(INDEX_ENDINGS)]
    if not found:
        raise DpgrsError(f"`{path}` matches no file. Mend the pattern, or fetch the files.")
    return found
