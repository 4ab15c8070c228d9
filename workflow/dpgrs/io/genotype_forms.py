"""The forms of genotype files: by which ending each is told, and who reads what of it.

A form is declared here alone: ingest, the checks before any job, the size of a study and `dpgrs score` ask
`form_of`.
"""

from dpgrs.io.bgen.samples import sample_table
from dpgrs.io.plink.tables import GENOTYPES as PLINK_ENDINGS
from dpgrs.io.plink.tables import plink_files
from dpgrs.io.vcf.bcf import BcfReader, first_bcf_line, is_bcf, read_bcf_header
from dpgrs.io.vcf.records import PROVISIONAL
from dpgrs.io.vcf.text import numbered_lines
from dpgrs.io.vcf.vcf import N_THREADS, ContigReader, read_header

# Bytes of a line of a `.bim` or `.pvar`, of a record of a VCF, and of a call there: few, so that what follows
# is an upper bound of most files.
SITE_BYTES, RECORD_BYTES, CALL_BYTES = 20, 50, 0.04


class Vcf:
    """VCF; the other forms say what is different. Every function takes a pathlib.Path.

    Attributes
    ----------
    source : str, what `cohort.source` is for such files.
    words : str, what such files are called.
    endings : tuple of str, by which they are told; those of VCF and BCF are told by their first bytes.
    is_listed : bool, whether their reader is a `dpgrs.io.listed_reader.ListedReader`.
    """

    source, words, endings, is_listed = "vcf", "a VCF, BCF or VCF Zarr", (), False

    def files(self, path):
        """Return the paths of a file and of the tables that belong to it, a list."""
        return [path]

    def header(self, path):
        """Return the VcfHeader."""
        return read_header(path)

    def reader(self, path, chromosome, *, n_threads=N_THREADS, **options):
        """Return the reader of a chromosome."""
        return ContigReader(self.header(path), chromosome, n_threads=n_threads, **options)

    def whole_reader(self, path, contigs, **options):
        """Return a reader of all these contigs in the order of the file; of forms that list no variants."""
        from dpgrs.io.vcf.whole import WholeReader

        return WholeReader(self.header(path), contigs, **options)

    def to_vcf(self, path, chromosome):
        """Return a command that writes a chromosome as a VCF, or None of what is one."""
        return

    def first_site(self, path):
        """Return (contig, position) of the first record, or None where there is none."""
        line = self._first_line(path)
        if line is None:
            return None
        contig, position, *_ = (*line.split(b"\t", 2), b"")
        # A position that is none is named when its record is read.
        return contig.decode(errors="replace"), int(position) if position.isdigit() else 0

    def has_provisional_ref(self, path):
        """Tell whether REF may have been chosen by the people, as PLINK 1 does.

        Of a VCF or BCF the first record tells; a reader with `known_ref` looks at all.
        """
        info = (self._first_line(path) or b"").split(b"\t", 8)[7:8]
        return PROVISIONAL.encode() in b";".join(info).split(b";")

    def require_phase(self, path, contig):
        """Refuse what cannot give the haplotypes of a contig; of a VCF the calls themselves tell."""

    def may_have_dosages(self, path):
        """Tell whether its form has dosages."""
        return True

    def sites(self, path, chromosomes):
        """Return where variants are listed, a path, and a data frame of contig, position and id of them.

        None of forms whose positions are looked at as they are ingested.
        """
        return

    def n_sites(self, path, n_people):
        """Return about how many variants it has."""
        return int(path.stat().st_size / (RECORD_BYTES + CALL_BYTES * n_people))

    def _first_line(self, path):
        return next((line for _, line in numbered_lines(path) if not line.startswith(b"#")), None)


class Bcf(Vcf):
    """BCF."""

    def header(self, path):
        return read_bcf_header(path)

    def reader(self, path, chromosome, *, n_threads=N_THREADS, **options):
        return BcfReader(self.header(path), chromosome, **options)

    def whole_reader(self, path, contigs, **options):
        from dpgrs.io.vcf.whole import WholeBcfReader

        return WholeBcfReader(self.header(path), contigs, **options)

    def _first_line(self, path):
        return first_bcf_line(path)


class Plink(Vcf):
    """The ``.pgen`` or ``.bed`` of a set of PLINK files."""

    source, words, endings, is_listed = "plink", "a .bed or .pgen", PLINK_ENDINGS, True

    @property
    def _plink(self):
        from dpgrs.io.plink import plink  # brings pandas, which takes 0.2 s and a VCF does without

        return plink

    def files(self, path):
        return list(plink_files(path))

    def header(self, path):
        return self._plink.read_plink_header(path)

    def reader(self, path, chromosome, *, n_threads=N_THREADS, **options):
        return self._plink.PlinkReader(self.header(path), chromosome, **options)

    def to_vcf(self, path, chromosome):
        kind = "bfile" if path.suffix == ".bed" else "pfile"
        return f"plink2 --{kind} {path.with_suffix('')} --chr {chromosome} --export vcf id-paste=iid"

    def first_site(self, path):
        return self._plink.first_plink_site(path)

    def has_provisional_ref(self, path):
        return self._plink.has_provisional_ref(path)

    def require_phase(self, path, contig):
        self._plink.require_phase(path, contig)

    def may_have_dosages(self, path):
        return path.suffix != ".bed"

    def sites(self, path, chromosomes):
        return plink_files(path).variants, self._plink.read_plink_sites(path, chromosomes)

    def n_sites(self, path, n_people):
        return plink_files(path).variants.stat().st_size // SITE_BYTES


class Bgen(Vcf):
    """BGEN 1.2 and 1.3."""

    source, words, endings, is_listed = "bgen", "a .bgen", (".bgen",), True

    @property
    def _bgen(self):
        from dpgrs.io.bgen import bgen

        return bgen

    def files(self, path):
        table = sample_table(path)
        return [path] if table is None else [path, table]

    def header(self, path):
        return self._bgen.read_header(path)

    def reader(self, path, chromosome, *, n_threads=N_THREADS, **options):
        return self._bgen.BgenReader(self.header(path), chromosome, **options)

    def to_vcf(self, path, chromosome):
        samples = path.with_suffix(".sample")
        command = f"plink2 --bgen {path} ref-first --sample {samples} --chr {chromosome}"
        return f"{command} --export vcf id-paste=iid"

    def first_site(self, path):
        return self._bgen.first_site(path)

    def has_provisional_ref(self, path):
        return True  # nothing says which allele is REF

    def require_phase(self, path, contig):
        self._bgen.require_phase(path)

    def n_sites(self, path, n_people):
        from dpgrs.io.bgen.blocks import read_bgen_header

        return read_bgen_header(path).n_variants


class VcfZarr(Vcf):
    """VCF Zarr, a folder or a zip of it."""

    words, is_listed = "a VCF Zarr", True
    endings = (".vcz", ".vcz.zip", ".vcf.zarr", ".vcf.zarr.zip")

    @property
    def _vcf_zarr(self):
        from dpgrs.io.vcf import vcf_zarr

        return vcf_zarr

    def header(self, path):
        return self._vcf_zarr.read_header(path)

    def reader(self, path, chromosome, *, n_threads=N_THREADS, **options):
        return self._vcf_zarr.VcfZarrReader(self.header(path), chromosome, **options)

    def to_vcf(self, path, chromosome):
        return f"vcztools view -r {chromosome} {path}"

    def first_site(self, path):
        return self._vcf_zarr.first_site(path)

    def has_provisional_ref(self, path):
        return self._vcf_zarr.has_provisional_ref(path)

    def n_sites(self, path, n_people):
        return self._vcf_zarr.count_variants(path)


VCF, BCF, PLINK, BGEN, VCF_ZARR = Vcf(), Bcf(), Plink(), Bgen(), VcfZarr()
BY_ENDING = (PLINK, BGEN, VCF_ZARR)


def form_of(path):
    """Return the form of a genotype file, by its ending or first bytes; what cannot be read is a VCF."""
    form = form_named(path)
    return BCF if form is VCF and is_bcf(path) else form


def form_named(path):
    """Return the form that the ending of a path or pattern says; a VCF may be a BCF."""
    return next((form for form in BY_ENDING if str(path).endswith(form.endings)), VCF)


def form_of_source(source):
    """Return the form that a `cohort.source` names."""
    return next((form for form in (VCF, *BY_ENDING) if form.source == source), VCF)
