"""The verbs: one file of conf/verb each. Read as YAML, so that the parser needs no list of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

CONF = Path(__file__).resolve().parents[2] / "conf"
DEFAULT = "reconstruct"


@dataclass(frozen=True)
class Verb:
    """positionals: the keys that bare words fill, in order; paths: further keys of this verb that hold paths."""

    name: str
    help: str
    positionals: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


@cache
def verbs() -> dict[str, Verb]:
    import yaml

    found = {}
    for file in sorted((CONF / "verb").glob("*.yaml")):
        node = yaml.safe_load(file.read_text(encoding="utf-8"))["verb"]
        found[file.stem] = Verb(file.stem, node["help"], tuple(node["positionals"]), tuple(node["paths"]))
    return found
