"""The check of a bundle, which trusts nothing that makes one."""
