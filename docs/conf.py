"""The manual as a site: `make docs`. Pages keep their paths in the repository, so links serve both."""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

project = "dpgrs"
root_doc = "docs/README"
extensions = ["myst_parser", "site_pages"]
include_patterns = ["*.md", "config/*.md", "docs/**.md"]
exclude_patterns = [".*", "results", "resources", "tests", "workflow", "envs", "docs/_build"]
myst_heading_anchors = 4
smartquotes = False  # X'X is a formula
html_theme = "furo"
html_title = "dpgrs"
html_show_sourcelink = False
html_copy_source = False
