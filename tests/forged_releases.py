"""Changes to a bundle as a forger would make them."""

import gzip
import hashlib
import json
import re

import pytest

from dpgrs.errors import DpgrsError
from dpgrs.verify.bundle import verify_release

STATEMENT = "privacy_statement.json"


def seal(folder):
    """Make all digests right again, as a forger would."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    digests = {path.relative_to(folder).as_posix(): digest(path) for path in files}
    statement = folder / STATEMENT
    content = json.loads(statement.read_text())
    content["files"] = {
        name: value for name, value in digests.items() if name not in (STATEMENT, "SHA256SUMS")
    }
    statement.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    sums = digests | {STATEMENT: digest(statement)}
    sums.pop("SHA256SUMS", None)
    (folder / "SHA256SUMS").write_text("".join(f"{value}  {name}\n" for name, value in sums.items()))


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def edit(path, old, new):
    """Replace a text that is there, in a plain or a compressed file."""
    is_gzip = path.suffix == ".gz"
    text = gzip.decompress(path.read_bytes()).decode() if is_gzip else path.read_text()
    assert re.search(old, text, flags=re.M)
    text = re.sub(old, new, text, count=1, flags=re.M)
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if is_gzip else text.encode())


def edit_statement(folder, keys, value):
    content = json.loads((folder / STATEMENT).read_text())
    parent = content
    for key in keys[:-1]:
        parent = parent[key]
    assert parent[keys[-1]] != value
    parent[keys[-1]] = value
    (folder / STATEMENT).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def finding_of(folder):
    """Make all digests of a changed bundle right again, and return what is found nevertheless."""
    seal(folder)
    with pytest.raises(DpgrsError) as caught:
        verify_release(folder)
    return str(caught.value)
