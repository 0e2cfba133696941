"""Verbs: one file conf/verb/NAME.yaml each. Adding a file adds a verb; nothing here names one.

# @package _global_
verb:
  name: compare
  _target_: sceneloom.pipelines.verbs.compare.run    # called with the composed config
  help: one line for --help
  positionals: [runs...]     # bare words after the verb fill these keys in turn; `...` on the last takes all that are left
  paths: [compare.table]     # keys of this verb that hold paths, beyond those of paths.py
  show: [runs, export]       # keys and sections that --help lists
hydra: {run: {dir: .}, output_subdir: null}          # for a verb that has no run folder of its own
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from omegaconf import OmegaConf

from ...data.errors import InputError

DEFAULT = "reconstruct"
CONF = Path(__file__).resolve().parents[2] / "conf"
REST = "..."


@dataclass(frozen=True)
class Verb:
    """What its file says. positionals: keys in order, the last may end in `...`; show: keys and sections for --help."""

    name: str
    help: str = ""
    positionals: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    file: Path | None = None

    @property
    def usage(self) -> str:
        return " ".join(
            [
                self.name,
                *(
                    f"[{p.removesuffix(REST).split('.')[-1].upper()}{REST * p.endswith(REST)}]"
                    for p in self.positionals
                ),
            ]
        )


def folders(config_dir: str | None = None) -> list[Path]:
    """Where verb files lie: the package's conf/verb and, if given, --config-dir's."""
    return [CONF / "verb"] + ([Path(config_dir, "verb")] if config_dir else [])


def names(config_dir: str | None = None) -> list[str]:
    return sorted({f.stem for folder in folders(config_dir) for f in folder.glob("*.yaml")})


def load(name: str, config_dir: str | None = None) -> Verb:
    """The verb called `name`; InputError with the nearest names if there is none."""
    for folder in reversed(folders(config_dir)):
        file = folder / f"{name}.yaml"
        if file.is_file():
            node = OmegaConf.to_container(OmegaConf.load(file), resolve=False)
            assert isinstance(node, dict)
            verb = node.get("verb", node)
            lists = {k: tuple(verb.get(k) or ()) for k in ("positionals", "paths", "show")}
            return Verb(name, verb.get("help") or "", file=file, **lists)
    raise InputError(unknown(name, names(config_dir)))


def unknown(word: str, known: Sequence[str]) -> str:
    text = f"{word!r} is not a verb"
    if Path(word).expanduser().exists():
        return f"{text}; to reconstruct that capture write: sceneloom reconstruct {word!r}"
    if "=" in word:
        return f"cannot read {word!r}: settings are written key=value, without spaces around the ="
    near = difflib.get_close_matches(word, known, n=2, cutoff=0.5)
    return f"{text}; " + (f"did you mean {' or '.join(near)}? " if near else "") + f"There are: {', '.join(known)}"
