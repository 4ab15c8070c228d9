"""Copies of alleles from PLINK files: sites of all contigs, then calls of those asked for."""

import numpy as np

from dpgrs.genotypes.dosages import DTYPE, dosage_steps
from dpgrs.io.plink.calls import bed_counts, pgen_counts, pgen_dosages
from dpgrs.io.plink.plink import PlinkReader, count_alts
from dpgrs.io.plink.tables import plink_files, read_variants


class CountReader(PlinkReader):
    """Reads copies of ALT; see `PlinkReader` for the parameters, of which the contig is None, and counters.

    Parameters
    ----------
    header : VcfHeader from `dpgrs.io.plink.plink.read_plink_header`.
    field : ``GT``, or ``DS`` for the dosages of a ``.pgen``.
    """

    def __init__(self, header, *, field="GT"):
        super().__init__(header, None, phased="any", keep_filtered=True, field=field)

    def sites(self, contigs):
        """Return a row for each ALT that can be used, in file order.

        Parameters
        ----------
        contigs : collection of str, without ``chr``; variants elsewhere are left out.

        Returns
        -------
        data frame of record, contig, position, id, ref, allele (its number) and alt.

        Raises
        ------
        DpgrsError
            A damaged table, or a bad record.
        """
        table = read_variants(plink_files(self._header.path).variants)
        self._n_alts = count_alts(table)
        mine = np.flatnonzero(table["contig"].str.removeprefix("chr").isin(set(contigs)))
        self.n_records = len(mine)
        return self._usable_rows(table.iloc[mine].set_index(mine))

    def reader(self):
        """Return a function from records and numbers of their alleles, (n,) each, to calls.

        They are (n, n_samples) int8 counts of ALT, below 0 where missing; or, of ``DS``, dosages in float32.
        """
        path = self._header.path
        decode = pgen_dosages if self._has_dosages else pgen_counts if path.suffix == ".pgen" else bed_counts
        return decode(path, n_samples=len(self._header.samples), n_alts=self._n_alts)

    def steps(self, dosages, missing):
        """Return dosages on the public grid, (n, n_samples) uint16, `missing` where they are missing."""
        is_missing = dosages < 0
        steps = dosage_steps(np.where(is_missing, 0, dosages))
        return np.where(is_missing, DTYPE(missing), steps)
