"""Methods of others, for benchmarks."""
