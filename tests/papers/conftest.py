"""The papers' tests take the fixtures of the core's."""

from unit.conftest import published as published
from unit.conftest import study as study
