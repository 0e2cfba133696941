"""The text of --help: verbs from conf/verb, settings and their meaning from the comments in conf/ itself."""

from __future__ import annotations

import re
from pathlib import Path

from ..._version import __version__
from . import verbs
from .verbs import CONF, Verb

EXAMPLES = (
    ("sceneloom", "the built-in demo capture, from photos to a page to walk through"),
    ("sceneloom reconstruct data.path=my_photos", "your own capture: photos, COLMAP or transforms.json"),
    ("sceneloom data.path=my_photos data.downscale=2 train.steps=7000", "smaller pictures, longer training"),
    ("sceneloom -m data.path=my_photos strategy=default,mcmc seed=1,2", "a sweep: four runs"),
    ("sceneloom out=runs/my_photos/TIME resume=true", "go on with a run that was stopped"),
    ("sceneloom export run=runs/my_photos/TIME export.formats=[spz]", "other files of a finished run"),
)
FLAGS = [
    "-m             run once for each value of key=a,b",
    "--cfg job      print the config instead of running",
    '--hydra-help   Hydra\'s own flags; tab completion: eval "$(sceneloom -sc install=bash)"',
]
LINE = re.compile(r"(?P<indent> *)(?P<key>[\w.]+):(?P<value>[^#]*)(?:#\s*(?P<comment>.*))?$")


def text(name: str, config_dir: str | None = None) -> str:
    """Help for the verb `name`."""
    verb = verbs.load(name, config_dir)
    known = verbs.names(config_dir)
    width = max(map(len, known))
    return "\n\n".join(
        [
            f"sceneloom {__version__}: photos go in, a scene you can walk through comes out",
            f"usage: sceneloom {verb.usage} [key=value …] [flags]",
            _block(
                "verbs",
                [
                    f"{v:<{width}}  {verbs.load(v, config_dir).help}{'  (default)' * (v == verbs.DEFAULT)}"
                    for v in known
                ],
            ),
            _block(f"settings of {name} (all of them: sceneloom {name} --cfg job)", settings(verb)),
            _block("groups (group=choice)", groups()),
            _block("flags", FLAGS),
            _block("examples", [f"{command}\n      {what}" for command, what in EXAMPLES]),
        ]
    )


def groups() -> list[str]:
    """The config groups and their choices."""
    found = sorted(
        p for p in CONF.iterdir() if p.is_dir() and p.name not in ("hydra", "verb") and any(p.glob("*.yaml"))
    )
    return [f"{folder.name}: {', '.join(sorted(f.stem for f in folder.glob('*.yaml')))}" for folder in found]


def settings(verb: Verb) -> list[str]:
    """`key=default  meaning` for the keys and sections that the verb's file lists under `show`."""
    known = {**documented(CONF / "config.yaml"), **documented(CONF / "data" / "auto.yaml", "data.")}
    known |= documented(verb.file) if verb.file else {}
    shown = [k for w in verb.show for k in known if k == w or k.startswith(f"{w}.")]
    rows = [(f"{key}={known[key][0]}", known[key][1]) for key in shown]
    width = min(34, max((len(left) for left, _ in rows), default=0))
    return [f"{left:<{width}}  {comment}".rstrip() for left, comment in rows]


def documented(file: Path, prefix: str = "") -> dict[str, tuple[str, str]]:
    """{dotted key: (default, comment)} of a YAML file in block style with a comment behind each value."""
    found: dict[str, tuple[str, str]] = {}
    above: list[tuple[int, str]] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        match = LINE.match(line)
        if match is None:
            continue
        indent = len(match["indent"])
        above = [(i, k) for i, k in above if i < indent]
        value = match["value"].strip()
        if not value:
            above.append((indent, match["key"]))
            continue
        key = ".".join([*(k for _, k in above), match["key"]])
        value = "" if value.startswith("${") else value
        found[prefix + key] = (value, match["comment"] or "")
    return found


def _block(title: str, lines: list[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)])
