"""Reading the pages of a report."""

from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br"}


class Page(HTMLParser):
    """Tags with their attributes, text, and the links of a page; fails on tags that do not match."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.text, self._open = [], "", []
        self.feed(path.read_text(encoding="utf-8"))
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def values(self, name):
        return [attributes[name] for _, attributes in self.tags if name in attributes]


def text_of(path):
    """Return the text of a page, runs of white space as one space."""
    return " ".join(Page(path).text.split())


def contents(directory):
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
