"""Files with one flipped bit."""

from dpgrs.errors import DpgrsError


def after_flips(path, read, *, places):
    """Read after each of some flips of one bit in a file, which is whole again at the end.

    Parameters
    ----------
    path : pathlib.Path
    read : function of nothing.
    places : function of the file's length to the places of its bytes.

    Returns
    -------
    list with what was read, or the `DpgrsError`, of each flip.
    """
    whole, found = path.read_bytes(), []
    for place in sorted(set(places(len(whole)))):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 7
        path.write_bytes(damaged)
        try:
            found.append(read())
        except DpgrsError as error:
            found.append(error)
    path.write_bytes(whole)
    return found
