"""What `dpgrs release verify` asks of a statement of `naive`, as `entry_points.txt` names it."""

from dpgrs.release.draw_check import SEPARATE, Proved

NAIVE = Proved(SEPARATE)
