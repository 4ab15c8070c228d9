"""What keeps a release from its panel: filters that no release has, or that need genotypes of a reference."""

from dpgrs.io.sites import RELEASED

# The values that look at no genotypes.
OFF = {"missing": 1, "hwe": 0, "ld_r2": None}


def panel_problems(config, *, is_clear):
    """List what a release cannot do to choose its sites.

    Parameters
    ----------
    config : dict from `dpgrs.study.settings.resolve`.
    is_clear : function of keys, whether their values are what the user meant.

    Returns
    -------
    list of str, one line a problem.
    """
    panel, lines = config["panel"], []
    for name, wanted in RELEASED.items():
        found, wanted = (
            ", ".join([*value] if isinstance(value, list | tuple) else [value])
            for value in (panel[name], wanted)
        )
        if found != wanted and is_clear(f"panel.{name}"):
            lines.append(
                f"`panel.{name}` must be {wanted} in a release, got {found}: users of scores could not match "
                "the others. Leave it out."
            )
    if config["public"]["sites"] is None:
        return lines
    return lines + [
        f"`panel.{name}` needs genotypes of a public reference, got {panel[name]:g} with `public.sites`. "
        "Give `public.reference`, or leave it out: the cohort's own genotypes may not decide."
        for name, off in OFF.items()
        if panel[name] != off and is_clear(f"panel.{name}")
    ]
