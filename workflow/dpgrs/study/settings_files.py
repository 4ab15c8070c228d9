"""Configurations as the command line reads them: as Snakemake does, but only text is ever read.

Snakemake's own reader runs Python that a file with the key ``__use_yte__`` holds; here that is no key.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from dpgrs.errors import UsageError
from dpgrs.io.files import RUN_AGAIN, not_as_written, write_closed

if TYPE_CHECKING:
    from dpgrs.config.study import StudyConfig

# Snakemake lays this file of a checkout under every other; an installed package has none, and needs none.
BASE = Path(__file__).parents[3] / "config" / "config.yaml"
RUNS_CODE = "__use_yte__"
OF_STUDIES = "DPGRS_SETTINGS"  # the variable of the files of settings, by the names of studies
# Aliases make a short text large, or endless: this is far more than a study has settings.
MOST_VALUES = 1_000_000
MOST_BYTES = 2**24


def read_settings(path: Path | str, *, changes: Sequence[str] = ()) -> dict[str, Any]:
    """Read a configuration as Snakemake does with ``--configfile`` and ``--config``.

    The file is YAML or JSON. A key that is there twice is refused: Snakemake would take the last. The changes
    are ``KEY=VALUE``; the value of a section is in braces. The settings are for
    `dpgrs.study.settings.resolve` or `examine`.
    """
    raw = {}
    for source in [BASE] * BASE.is_file() + [path]:
        raw = deep_merge(raw, _read(source))
    for change in changes:
        raw = deep_merge(raw, _parse(change))
    return raw


def hand_settings_over(settings: "StudyConfig", folder: Path | str, *, is_checked: bool = True) -> str:
    """Write the settings of a study to a file, name it to the steps in a variable, and return its path.

    Steps inherit the variable. The file in the folder is named by its content, and written once. Other
    settings of the study that this process has read, as in two imports, are a UsageError. A job has not
    checked its settings: they must be equal to the settings of the run that started it.
    """
    text = json.dumps(settings.as_dict(), sort_keys=True)
    path = Path(folder) / f"{hashlib.sha256(text.encode()).hexdigest()}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_closed(path, text.encode())
        # Its name shows new settings. Where Snakemake compares only times, they leave a bundle as it is.
        os.utime(path, (0, 0))
    # Jobs, and runs within a run, inherit what others have written.
    settings_by_study, own_entry = json.loads(os.environ.get(OF_STUDIES, "{}")), [os.getpid(), str(path)]
    pid, earlier = settings_by_study.get(settings.study, own_entry if is_checked else (None, None))
    if not is_checked and earlier != str(path):
        raise UsageError(
            "settings-not-checked",
            f"A job of `{settings.study}` must have the settings that a run has checked, got others or none. "
            f"Run Snakemake without `--mode`, and let jobs inherit the variable {OF_STUDIES}.",
        )
    if pid == os.getpid() and earlier != str(path):
        raise UsageError(
            "study-imported-twice",
            f"A study must be imported with one configuration, got two of `{settings.study}`. Give one of "
            "them a `study` of its own.",
        )
    os.environ[OF_STUDIES] = json.dumps(settings_by_study | {settings.study: own_entry})
    return str(path)


def settings_handed_over(study: str) -> dict[str, Any] | None:
    """Read the settings of a running study; None if a step runs by itself.

    A file with other content than was written is refused.
    """
    _, path = json.loads(os.environ.get(OF_STUDIES, "{}")).get(study, (None, None))
    if path is None:
        return None
    try:
        content = Path(path).read_bytes()
    except OSError:
        content = b""
    if hashlib.sha256(content).hexdigest() != Path(path).stem:
        raise not_as_written(path, kind="JSON", fix=RUN_AGAIN)
    return json.loads(content)


def require_plain(paths: Iterable[Path | str]) -> None:
    """Refuse files of settings that are programs, which Snakemake has run by then.

    A pipe, which can be read only once, is left out.
    """
    for path in paths:
        if Path(path).is_file() and RUNS_CODE in _read(path):
            raise UsageError(
                "settings-run-code",
                f"`{_shown(path)}` must be plain settings, got `{RUNS_CODE}`, by which Snakemake has run the "
                "Python in it. Look at what that did, and remove the key.",
            )


def deep_merge(below: Any, above: Any) -> Any:
    """Return nested settings with others laid over them, by Snakemake's rules; both stay as they are.

    A section is merged key by key, and any other value replaces the one below. An empty section states
    nothing.

    >>> deep_merge({"a": {"b": 1, "c": [2]}, "d": 3}, {"a": {"c": [4]}, "d": {"e": 5}})
    {'a': {'b': 1, 'c': [4]}, 'd': {'e': 5}}
    """
    if not above:
        return below
    merged = dict(below) if isinstance(below, dict) else {}
    for key, value in above.items():
        merged[key] = deep_merge(merged.get(key, {}), value) if isinstance(value, dict) else value
    return merged


class _Loader(yaml.SafeLoader):
    """Reads only plain values, and no key twice."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        node, earlier_keys = super().compose_mapping_node(anchor), set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in earlier_keys:
                    raise yaml.composer.ComposerError(
                        problem=f"found the key `{key.value}` a second time", problem_mark=key.start_mark
                    )
                earlier_keys.add(key.value)
        return node


def _as_it_reads(loader: _Loader, node: yaml.ScalarNode) -> int:
    """Return an integer; 010 and 1:30, which YAML reads as 8 and 90, are refused: they may be text."""
    value = loader.construct_yaml_int(node)
    if not re.fullmatch("[-+]?(0|[1-9][0-9_]*)", node.value):
        raise yaml.constructor.ConstructorError(
            problem=f"found `{node.value}`, which YAML reads as {value}: put text in quotes",
            problem_mark=node.start_mark,
        )
    return value


_Loader.add_constructor("tag:yaml.org,2002:int", _as_it_reads)


def _read(path: Path | str) -> dict[str, Any]:
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            content = file.read(MOST_BYTES + 1)
        if not content and Path(path).is_fifo():
            raise UsageError(
                "settings-from-pipe",
                f"`{_shown(path)}` must be a configuration, got a pipe that nobody writes to. Name a file.",
            )
        if len(content) > MOST_BYTES:
            raise UsageError(
                "settings-too-large",
                f"`{_shown(path)}` must be a configuration of at most {MOST_BYTES} bytes, got more. "
                "Name the right file.",
            )
        text = content.decode("utf-8-sig")
        settings = _loaded(text)
    except UnicodeDecodeError:
        fault = "its text is not UTF-8. Save it as UTF-8."
    except OSError as error:
        fault = f"{error.strerror}. Correct the path."
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, error.position - before.rfind("\n")
        fault = f"line {line}, column {column}: a character that YAML does not allow. Remove it."
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        lines = text.splitlines()
        # Without quotes YAML takes the braces of a pattern for its own.
        has_pattern = mark.line < len(lines) and "{chrom}" in lines[mark.line]
        fix = 'Put the pattern in quotes, as in vcf: "chr{chrom}.vcf.gz".' if has_pattern else ""
        fix = fix or "Look there and just before."
        fault = f"line {mark.line + 1}, column {mark.column + 1}: {error.problem}. {fix}"
    except RecursionError:
        fault = "its brackets are nested too deeply. Correct them."
    except ValueError as error:
        fault = f"it holds a date or number that cannot be: {error}. Correct it."
    else:
        if isinstance(settings, dict) and not is_endless(settings):
            return settings
        fault = "it must have keys with values at its top, and not without end. Correct it."
    raise UsageError(
        "settings-unreadable", f"`{_shown(path)}` must be a configuration in YAML or JSON: {fault}"
    )


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting for a writer, but read written bytes as usual."""
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return descriptor


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except ValueError:
        return yaml.load(text, Loader=_Loader)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError  # the reader of YAML says where
    return dict(pairs)


def is_endless(value: Any) -> bool:
    """Return whether a value holds more than `MOST_VALUES`, each counted as often as aliases repeat it."""
    waiting, n_seen = [value], 0
    while waiting and n_seen <= MOST_VALUES:
        inner = waiting.pop()
        n_seen += 1
        if isinstance(inner, dict):
            waiting += [*inner, *inner.values()]
        elif isinstance(inner, list | tuple | set):
            waiting += inner
    return n_seen > MOST_VALUES


def _parse(change: str) -> dict[str, Any]:
    key, sign, text = change.partition("=")
    if not (key and sign):
        raise UsageError(
            "config-change-invalid",
            f"`--config` must be KEY=VALUE, got {change}. For example --config 'privacy={{epsilon: 2}}'.",
        )
    try:
        value = yaml.load(text, Loader=yaml.BaseLoader) if text else None
    except (yaml.YAMLError, RecursionError):
        return {key: text}
    if is_endless(value):
        raise UsageError(
            "config-change-without-end",
            f"`--config {key}` must be settings of some size, got values without end. Correct it.",
        )
    return {key: value}


def _shown(path: Path | str) -> str:
    text = str(path)
    return text if len(text) <= 80 else f"{text[:77]}..."
