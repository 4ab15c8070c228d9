"""The population of each person, as pages group people."""

from dpgrs.io.tables.tables import read_populations

UNKNOWN_POPULATION = "unknown"


def populations_of(path, sample_ids):
    """Return each person's super-population, or population where the table has none: (n_people,) str."""
    table = read_populations(path).reindex(sample_ids).fillna("")
    finest = table["population"].where(table["population"] != "", UNKNOWN_POPULATION)
    return table["super_population"].where(table["super_population"] != "", finest).to_numpy(dtype=str)
