"""Functions for notebooks: arrays in, arrays out. `dpgrs` names them all (docs/reference/api.md)."""
