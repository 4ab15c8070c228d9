"""Private choices of variants by others, for benchmarks."""
