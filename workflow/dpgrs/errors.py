"""What can go wrong, in one line each: what, where, how to mend it."""


class DpgrsError(Exception):
    """A failure that the user can understand and mend. The command line ends with `exit_code`."""

    exit_code = 1


class UsageError(DpgrsError):
    """Wrong arguments or configuration: nothing was started."""

    exit_code = 2


def must(key, wanted, got, fix):
    """Word what is wrong with a setting: "`key` must <wanted>, got <got>. <fix>"."""
    return f"`{key}` must {wanted}, got {got}. {fix}"
