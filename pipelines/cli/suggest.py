"""What is wrong with a config, in one line, with the nearest existing names."""

from __future__ import annotations

import difflib
import re
from typing import Any

from .verbs import CONF
from .words import OVERRIDE


def config_error(error: Exception, words: list[str]) -> str:
    """One line for Hydra's or OmegaConf's exception; unknown keys and options get suggestions."""
    text = str(error).strip()
    known = known_keys()
    for word in words:
        if OVERRIDE.match(word) and not word.startswith(("+", "~", "hydra.")):
            key = word.split("=", 1)[0].split("@")[0]
            if key not in known and not any(k.startswith(key + ".") for k in known):
                near = difflib.get_close_matches(key, known, 3, 0.5) or [k for k in known if k.endswith("." + key)]
                hint = f"; did you mean {' or '.join(near)}?" if near else "; --cfg job prints every key"
                return f"unknown key {key!r}{hint}"
    if found := re.search(r"Could not find '([\w/]+)'", text):
        group, _, option = found[1].rpartition("/")
        if group and (CONF / group).is_dir():
            options = [p.stem for p in sorted((CONF / group).glob("*.yaml"))]
            near = difflib.get_close_matches(option, options, 1, 0.5)
            return f"{group}={option} is not known; want {', '.join(options)}" + (
                f" (did you mean {near[0]}?)" if near else ""
            )
    if found := re.search(r"Could not override '([^']+)'", text):
        return f"{found[1]} is not a key of the options that are chosen here; --cfg job prints every key"
    lines = [
        line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("full_key", "object_type"))
    ]
    if "mismatched input" in text or "token recognition error" in text or "no viable alternative" in text:
        return f"cannot read the settings: {lines[0]} (put values with special characters in quotes: key='\"…\"')"
    return "; ".join(lines[:3])


def known_keys() -> list[str]:
    """Every key of the default configuration and of all options of all groups, and the groups themselves."""
    import yaml

    keys: set[str] = set()

    def walk(node: Any, prefix: str) -> None:
        for name, value in node.items() if isinstance(node, dict) else ():
            path = f"{prefix}{name}"
            keys.add(path)
            walk(value, path + ".")

    for file in CONF.rglob("*.yaml"):
        text = file.read_text(encoding="utf-8")
        folder = file.parent.relative_to(CONF).as_posix()
        node = {k: v for k, v in (yaml.safe_load(text) or {}).items() if k not in ("defaults", "hydra", "verb")}
        walk(node, "" if folder == "." or "@package _global_" in text.split("\n", 1)[0] else folder + ".")
        if folder != ".":
            keys.add(folder)
    return sorted(k for k in keys if not k.endswith("_target_"))
