from dpgrs.io.genome_builds import CHROMOSOMES, LENGTHS
from dpgrs.io.known_positions import BUILDS, PLACES, SNPS


def test_snps__tell_every_build_from_every_other():
    assert all(len(set(positions)) == len(BUILDS) for _, _, *positions in SNPS)
    assert len(PLACES) == len(SNPS) * len(BUILDS)
    assert len({name for name, *_ in SNPS}) == len(SNPS)


def test_snps__on_all_autosomes_and_within_them():
    assert {chromosome for _, chromosome, *_ in SNPS} == set(CHROMOSOMES) - {"X"}
    for (chromosome, position), (_, build) in PLACES.items():
        assert build not in LENGTHS or position <= LENGTHS[build][chromosome]


def test_snps__keep_their_order_but_where_builds_differ_in_it():
    # Digits that were exchanged would move a SNP past others.
    for build in range(2, 2 + len(BUILDS)):
        assert list(SNPS) == sorted(SNPS, key=lambda snp: (int(snp[1]), snp[build]))
