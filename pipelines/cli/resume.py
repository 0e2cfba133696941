"""`resume=`: the settings of the run in `out` come back, then this command line on top."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from omegaconf import OmegaConf

from ...data.errors import InputError
from .paths import absolute, quoted_path
from .resolvers import capture_name
from .verbs import DEFAULT
from .words import Command, parts, unquoted

NOT_KEPT = ("out", "resume", "verb", "run")
OVERRIDES = Path(".hydra", "overrides.yaml")
ACCEPTED = Path("overrides.yaml")


def replayed(command: Command) -> tuple[Command, list[str]]:
    """The command with the stored overrides in front, and a line about each setting that this command line changes.

    resume=true goes on with the run in `out`; resume=FOLDER is short for both; resume=latest takes the newest run below runs/.
    A sweep (-m) is repeated as it was typed: each of its jobs goes on by itself.
    """
    wanted = command.value("resume")
    if wanted is None or wanted.lower() in ("false", "null", ""):
        _refuse_to_overwrite(command)
        return command, []
    out = _folder(command, wanted)
    if command.multirun:
        return command, []
    stored = [w for w in _stored(out) if parts(w)[1] not in NOT_KEPT]
    typed = {_key(w): w for w in command.overrides}
    changes = []
    for word in stored:
        if (now := typed.get(_key(word))) and (old := _value(word)) != (new := _value(now)):
            changes.append(f"{_key(word)}: {old} -> {new}")
    kept = [w for w in stored if _key(w) not in typed]
    added = {_key(w) for w in stored if w.startswith("+")}
    new = [
        f"++{w}" if _key(w) in added and not w.startswith("+") else w
        for w in command.overrides
        if _key(w) not in ("out", "resume")
    ]
    return replace(command, overrides=(*kept, *new, f"out={quoted_path(str(out))}", "resume=true")), changes


def _refuse_to_overwrite(command: Command) -> None:
    """Before Hydra writes into `out`: a folder that holds a run is continued or left alone."""
    out = command.value("out")
    if out and command.verb.name == DEFAULT and not command.shows and any(Path(out).glob("checkpoints/step_*")):
        raise InputError(f"out={out} holds a run already: resume=true goes on with it, another out= starts anew")


def _folder(command: Command, wanted: str) -> Path:
    """The run folder that is meant; InputError if it is none."""
    given = command.value("out")
    if wanted.lower() == "true":
        if not given:
            raise InputError(
                "resume=true needs out=RUN_FOLDER, the folder of the run to go on with (or resume=RUN_FOLDER, or resume=latest)"
            )
        out = Path(absolute(given))
    elif Path(wanted).name == "latest" and not Path(wanted).exists():
        out = _latest(command.value("data.path"))
    else:
        out = Path(absolute(wanted))
        if out.is_file() or out.suffix.lower() in (".ply", ".spz", ".splat"):
            raise InputError(
                f"resume={out} is a file, not a run folder: it holds no optimizer or step; train.init='{out}' starts a new run from it"
            )
        if given and Path(absolute(given)) != out:
            raise InputError(f"resume={out} and out={given} name different runs; leave one of them out")
    if not out.is_dir():
        raise InputError(f"cannot resume: there is no run folder {out}")
    if not command.multirun and not (out / OVERRIDES).is_file():
        raise InputError(f"cannot resume: {out} is not a run folder ({OVERRIDES.as_posix()} is missing)")
    return out


def _latest(capture: str | None) -> Path:
    pattern = f"{capture_name(capture)}/*" if capture else "*/*"
    found = [p.parent.parent for p in Path("runs").glob(f"{pattern}/{OVERRIDES.as_posix()}")]
    if not found:
        raise InputError(
            f"resume=latest: there is no run below {absolute('runs')}" + (f" of {capture}" if capture else "")
        )
    return Path(absolute(str(max(found, key=lambda p: (p / OVERRIDES).stat().st_mtime))))


def _stored(out: Path) -> list[str]:
    """The overrides that the run accepted; those that Hydra noted where training has not begun."""
    path = out / ACCEPTED if (out / ACCEPTED).is_file() else out / OVERRIDES
    return [str(w) for w in OmegaConf.to_container(OmegaConf.load(path), resolve=False) or []]


def _key(word: str) -> str:
    return parts(word)[1]


def _value(word: str) -> str:
    value = parts(word)[2]
    return "deleted" if value is None else unquoted(value)
