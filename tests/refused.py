"""What a test states of a refusal: its code, its exit status and what it names, but not its words."""

import re
from contextlib import contextmanager

import pytest

from dpgrs.errors import DpgrsError

# What must be or is the case, then a sentence that says what to do.
WORDS = re.compile(
    r"\b(must|cannot|is|are|has|have|was|were|does|hold|holds|lists|ends|needs?|belongs|differs|matches|names)\b"
    r".*(([.?:] |\n)(?!(The|A|It|This|Nothing)\b)[A-Z`]|[:;] (did you mean|get|give|name|try|use)\b)",
    re.DOTALL,
)


@contextmanager
def refused(code, *names, error=DpgrsError):
    """Require an error of a code and exit status whose message holds names and says what to do.

    A name is what the message is about, such as a key, a file, a line or a value, without words around it.
    """
    with pytest.raises(DpgrsError) as caught:
        yield caught
    message = str(caught.value)
    assert (caught.value.code, caught.value.exit_code) == (code, error.exit_code), message
    assert [name for name in map(str, names) if name not in message] == [], message
    assert WORDS.search(message), message
