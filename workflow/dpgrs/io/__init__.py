"""Reading and writing files: VCF, haplotype store, variants, tables. The only code that opens genotypes."""
