"""What the positions of tables say against the genome build that is stated for them, before any job."""

from collections import defaultdict

from dpgrs.errors import DpgrsError
from dpgrs.io.genome_builds import LENGTHS, BuildCheck
from dpgrs.io.plink.plink import read_plink_sites
from dpgrs.io.plink.tables import GENOTYPES, plink_files
from dpgrs.study.cohort_files import cohort_files, reference_files_of


def position_problems(config):
    """Find PLINK files of the cohort or the reference whose positions are not of the stated build.

    VCF and BCF files are too long to be read here: their positions are checked as they are ingested.

    Parameters
    ----------
    config : dict from `dpgrs.study.settings.resolve`.

    Returns
    -------
    list of str, one line a problem.
    """
    stated, lines = config["release"]["genome_build"], []
    for path, chromosomes in _plink_sets(config).items() if stated else ():
        try:
            variants = read_plink_sites(path, chromosomes)
        except DpgrsError:
            continue  # said by other gates, or by the job that reads it
        lines += table_problems(variants, path=plink_files(path).variants, build=stated)
    return lines


def table_problems(variants, *, path, build):
    """Say in one line, or none, that the positions of a table are not of the build.

    Parameters
    ----------
    variants : data frame of n_variants rows: contig, position and id.
    path : of the table, for the message.
    build : str, or None, of which nothing is said.

    Returns
    -------
    list of str
    """
    if build not in LENGTHS:
        return []
    check = BuildCheck(path, build)
    try:
        check.add(variants)
        check.finish()
    except DpgrsError as error:
        return [str(error)]
    return []


def _plink_sets(config):
    """Return the PLINK files of cohort and reference, with the chromosomes that are read from each."""
    cohort, reference = config["cohort"], config["public"]["reference"]
    is_plink = cohort["source"] == "plink" and cohort["plink"]
    sets = defaultdict(set)
    for chromosome in cohort["chromosomes"]:
        try:
            files = cohort_files(cohort, chromosome) if is_plink else []
            files = [*files, *(reference_files_of(reference, chromosome) if reference else [])]
        except DpgrsError:
            continue  # said by other gates
        for path in files:
            if path.suffix in GENOTYPES:
                sets[path].add(chromosome)
    return sets
