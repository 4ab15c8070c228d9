"""Public files from their publishers, with the right checksum. The only code that uses the network."""
