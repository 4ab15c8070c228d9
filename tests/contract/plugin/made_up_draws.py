"""What `dpgrs release verify` asks of their statements: it trusts nothing that makes one."""

from dpgrs.verify.draw_check import CHOICE, REUSECOV, SEPARATE, Draws, Scope

OF_SUMS = REUSECOV
OF_CHOSEN = (Draws("made up scores", Scope.EACH, CHOICE), *SEPARATE)
