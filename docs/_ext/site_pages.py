"""What the site has beside the pages: its table of contents, and an entrance at its top."""

from pathlib import Path

CONTENTS = {
    "Start": ["README", "docs/tutorial"],
    "How to": ["config/README", "docs/how-to/*"],
    "Reference": ["docs/reference/*", "docs/glossary"],
    "Explanation": ["docs/explanation/*"],
    "Proofs": ["docs/proofs/README", "docs/proofs/*"],
    "Measurements": ["docs/measurements/*", "docs/experiments/README", "docs/experiments/*"],
    "Project": ["docs/development", "CONTRIBUTING", "SECURITY", "CODE_OF_CONDUCT", "CHANGELOG"],
}
ENTRANCE = '<!doctype html><meta http-equiv="refresh" content="0; url={page}"><title>dpgrs</title>\n'


def add_contents(app, docname, source):
    """Append the table of contents to the first page, where it is not shown: code sites know none."""
    if docname == app.config.root_doc:
        for caption, pages in CONTENTS.items():
            lines = ["", "```{toctree}", ":hidden:", ":glob:", f":caption: {caption}", ""]
            source[0] += "\n".join([*lines, *(f"/{page}" for page in pages), "```", ""])


def add_entrance(app, error):
    """Write index.html, which leads to the first page."""
    if not error:
        page = app.builder.get_target_uri(app.config.root_doc)
        (Path(app.outdir) / "index.html").write_text(ENTRANCE.format(page=page), encoding="utf-8")


def setup(app):
    app.connect("source-read", add_contents)
    app.connect("build-finished", add_entrance)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
