"""Values of keys that hold paths: made absolute, and quoted so that Hydra takes any file name as it is."""

from __future__ import annotations

import os
from pathlib import Path

from hydra.core.override_parser.types import Quote, QuotedString

PATH_KEYS = frozenset({"out", "run", "resume", "file", "data.path", "data.image_path", "data.mask_path", "train.init"})
LIST_KEYS = frozenset({"runs", "evaluate.lpips_weights"})
SUFFIXES = ("path", "_file", "_folder")  # a key that ends so holds a path, whatever group it is of
LITERALS = frozenset({"", "null", "true", "false"})
FUNCTIONS = ("choice(", "glob(", "sort(", "shuffle(")


def holds_path(key: str, extra: tuple[str, ...] = ()) -> bool:
    """Is `key` (without + or ~) one whose value is a path?"""
    return key in PATH_KEYS or key in LIST_KEYS or key in extra or key.endswith(SUFFIXES)


def holds_list(key: str, extra: tuple[str, ...] = ()) -> bool:
    return key in LIST_KEYS or key in extra


def exists(text: str) -> bool:
    try:
        return os.path.exists(expanded(text))
    except (OSError, ValueError):
        return False


def quoted(value: str, sweep: bool = False, many: bool = False) -> str:
    """The text that follows `key=` so that Hydra reads `value` as the path it is.

    sweep   with -m a comma separates jobs, unless the text around it is a path that exists
    many    the key holds a list: [a,b] stays one
    A value that already carries Hydra's own quotes, an interpolation or a sweep function is left to Hydra, unless it exists as a path.
    """
    if value.lower() in LITERALS:
        return value
    if exists(value):
        return quoted_path(value)
    if many and value.startswith("[") and value.endswith("]"):
        return "[" + ",".join(quoted_path(v.strip()) for v in split(value[1:-1])) + "]"
    if sweep and value.startswith(FUNCTIONS):
        return value
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value
    if sweep:
        return ",".join(quoted_path(v) for v in split(value))
    return quoted_path(value)


def split(text: str) -> list[str]:
    """Pieces between commas; the longest run of pieces that exists as a path stays together."""
    pieces, found = text.split(","), []
    while pieces:
        take = next((n for n in range(len(pieces), 1, -1) if exists(",".join(pieces[:n]))), 1)
        found.append(",".join(pieces[:take]))
        pieces = pieces[take:]
    return found


def quoted_path(text: str) -> str:
    """Absolute from the folder that the command was typed in, in Hydra's quotes. `${…}` is an interpolation unless it exists as a path."""
    if text.lower() in LITERALS:
        return text
    if "${" in text and not exists(text):
        return QuotedString(text, Quote.single).with_quotes()
    return QuotedString(absolute(text).replace("${", r"\${"), Quote.single).with_quotes()


def absolute(text: str, base: str | Path = "") -> str:
    """`text` with ~ expanded, from `base` (default: the current folder); links are not followed."""
    return os.path.abspath(os.path.join(base, expanded(text)))


def expanded(text: str) -> str:
    """~/x is in the home folder; ~x is a name like any other."""
    return os.path.expanduser(text) if text == "~" or text.startswith(("~/", "~\\")) else text
