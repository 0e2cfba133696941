"""From what was typed to what Hydra understands: verb, positionals, quoted paths, replayed overrides of a resumed run.

sceneloom view 'my scene, v2.ply' -> verb=view run='/here/my scene, v2.ply'
"""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from ...data.errors import InputError
from .verbs import DEFAULT, Verb, verbs

# Keys that hold a path, for every verb.
PATH_KEYS = frozenset({"data.path", "data.image_path", "data.mask_path", "out", "run", "train.init"})
# Hydra's flags that take the next word.
FLAGS_WITH_VALUE = frozenset(
    [
        "--cfg",
        "-c",
        "--package",
        "-p",
        "--config-name",
        "-cn",
        "--config-path",
        "-cp",
        "--config-dir",
        "-cd",
        "--experimental-rerun",
    ]
)
SHOWING = frozenset("--cfg -c --help -h --info -i --hydra-help".split())  # nothing is run
INFO_WORDS = frozenset(["all", "config", "defaults", "defaults-tree", "plugins", "searchpath"])
MULTIRUN = frozenset({"-m", "--multirun"})
SWEEP_FUNCTION = re.compile(r"^(choice|range|interval|glob|sort|shuffle)\(.*\)$", re.S)
OVERRIDE = re.compile(r"^(\+\+|\+|~)?[A-Za-z_][\w.@/:\-]*=")


def to_hydra(words: list[str]) -> list[str]:
    """Command line words (without the program) -> Hydra's. Raises InputError for an unknown verb or a word too many."""
    flags, plain = _without_flags(words)
    if any(f in ("-sc", "--shell-completion") for f in flags):
        return words
    verb, plain = _verb(plain)
    overrides = _with_positionals(verb, plain)
    keys = PATH_KEYS | set(verb.paths)
    multirun = any(f in MULTIRUN for f in flags)
    overrides = [_quoted(o, keys, multirun) for o in overrides]
    if verb.name == DEFAULT and not any(f in SHOWING for f in flags):
        _refuse_to_overwrite(overrides)
    return [*flags, f"verb={verb.name}", *_resumed(overrides)]


def _without_flags(words: list[str]) -> tuple[list[str], list[str]]:
    """(flags with their values, the rest), each in the order given."""
    flags, plain, pending = [], [], iter(range(len(words)))
    for i in pending:
        word = words[i]
        if not word.startswith("-") or word == "-":
            plain.append(word)
            continue
        flags.append(word)
        follows = words[i + 1] if i + 1 < len(words) else None
        if follows is not None and (word in FLAGS_WITH_VALUE or (word in ("--info", "-i") and follows in INFO_WORDS)):
            flags.append(follows)
            next(pending)
    return flags, plain


def _verb(plain: list[str]) -> tuple[Verb, list[str]]:
    """The verb that the first bare word names, and the other words."""
    known = verbs()
    for i, word in enumerate(plain):
        if _bare(word):
            if word in known:
                return known[word], plain[:i] + plain[i + 1 :]
            near = difflib.get_close_matches(word, known, 1, 0.5)
            hint = f"; did you mean {near[0]}?" if near else ""
            if _expanded(word).exists():
                hint = f"; to reconstruct that capture: sceneloom reconstruct data.path={word}"
            raise InputError(f"{word!r} is not a verb (they are {', '.join(known)}){hint}")
    return known[DEFAULT], plain


def _bare(word: str) -> bool:
    return not OVERRIDE.match(word) and not re.match(r"^~[A-Za-z_]", word)


def _with_positionals(verb: Verb, plain: list[str]) -> list[str]:
    """Bare words become overrides of the verb's positional keys. A word with '=' that exists as a file is a bare word too."""
    given = {_split(w)[0] for w in plain if not _bare(w)}
    keys = [k for k in verb.positionals if k not in given]
    overrides, filled = [], []
    for word in plain:
        is_file = bool(keys) and not _bare(word) and _split(word)[0] not in verb.positionals and Path(word).exists()
        if not _bare(word) and not is_file:
            overrides.append(word)
        elif keys:
            filled.append(f"{keys.pop(0)}={word}")
        else:
            takes = f"takes {', '.join(verb.positionals)}" if verb.positionals else "takes no bare words"
            raise InputError(f"unexpected word {word!r}: {verb.name} {takes}, settings are written key=value")
    return filled + overrides


def _split(override: str) -> tuple[str, str]:
    key, _, value = override.partition("=")
    return key.lstrip("+"), value


def _quoted(override: str, keys: frozenset[str] | set[str], multirun: bool) -> str:
    """The override with a path value made absolute and quoted for Hydra's grammar."""
    name, value = override.partition("=")[::2]
    if name.lstrip("+") not in keys or override.startswith("~"):
        return override
    if value in ("", "null", "None", "true", "false") or value.startswith(("[", "${")) or SWEEP_FUNCTION.match(value):
        return override
    if not _expanded(value).exists():
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":  # quoted by hand, as Hydra users do
            return override
        if multirun and "," in value:
            return f"{name}=" + ",".join(_quote(part.strip()) for part in value.split(","))
    return f"{name}={_quote(value)}"


def _quote(path: str) -> str:
    """Absolute against the folder of launch; interpolation and quotes inside are taken literally."""
    text = str(_expanded(path).absolute())
    text = re.sub(r"(\\*)'", lambda m: m[1] * 2 + r"\'", text)  # backslashes count only before a quote
    text = re.sub(r"(\\+)$", lambda m: m[1] * 2, text)
    return "'" + text.replace("${", r"\${") + "'"


def _expanded(path: str) -> Path:
    """~/x is in the home folder; ~x is a name like any other."""
    return Path(path).expanduser() if path == "~" or path.startswith(("~/", "~\\")) else Path(path)


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == "'":
        value = re.sub(r"(\\*)\\'", lambda m: m[1][: len(m[1]) // 2] + "'", value[1:-1])
        value = re.sub(r"(\\+)$", lambda m: m[1][: len(m[1]) // 2], value)
    return value.replace(r"\${", "${")


def _refuse_to_overwrite(overrides: list[str]) -> None:
    """Before Hydra writes into `out`: a folder that holds a run is continued or left alone."""
    values = dict(_split(o) for o in overrides)
    if values.get("resume", "false").lower() == "false" and (folder := Path(_unquoted(values.get("out", "")))).is_dir():
        if any(folder.glob("checkpoints/step_*")):
            raise InputError(f"out={folder} holds a run already: resume=true goes on with it, another out= starts anew")


def _resumed(overrides: list[str]) -> list[str]:
    """With resume=true: the overrides of the run in `out`, then those of this command line on top."""
    values = dict(_split(o) for o in overrides)
    wish = values.get("resume", "false")
    if wish.lower() in ("false", "0", "null"):
        return overrides
    if wish.lower() != "true":
        hint = (
            f"train.init={wish} starts a new run from a splat file"
            if wish.endswith((".ply", ".spz"))
            else f"out={wish} resume=true goes on with a run"
        )
        raise InputError(f"resume={wish}: want true or false; {hint}")
    if "out" not in values:
        raise InputError("resume=true needs the run to go on with: out=FOLDER")
    folder = Path(_unquoted(values["out"]))
    stored = folder / ".hydra" / "overrides.yaml"
    if not stored.is_file():
        what = "is not a run folder (.hydra/overrides.yaml is missing)" if folder.is_dir() else "does not exist"
        raise InputError(f"resume=true: out={folder} {what}")
    import yaml

    old = yaml.safe_load(stored.read_text(encoding="utf-8")) or []
    kept = [o for o in old if _split(o)[0] not in values and _split(o)[0] not in ("verb", "resume", "out")]
    return kept + overrides
