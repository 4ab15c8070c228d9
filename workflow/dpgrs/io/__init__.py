"""Reading and writing files: VCF, haplotype store, panel, tables. The only code that opens genotypes."""
