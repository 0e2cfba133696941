"""From what was typed to what Hydra reads: flags in front, the verb as `verb=NAME`, bare words as the keys they stand for."""

from __future__ import annotations

import difflib
import re
from argparse import Action
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from hydra._internal.utils import get_args_parser

from ...data.errors import InputError
from . import verbs
from .paths import exists, holds_list, holds_path, quoted, quoted_path
from .verbs import REST, Verb

# key=value, +key=value, ++key=value, ~key, group/sub=choice, group@package=choice; the key may not look like anything else.
OVERRIDE = re.compile(r"(?P<sign>\+{0,2}|~)(?P<key>[A-Za-z_$][\w$.\-]*(?:[/@][\w$./@\-]*)?)(?P<value>=.*)?", re.DOTALL)
MULTIRUN = frozenset({"-m", "--multirun"})
SHOWING = frozenset({"--cfg", "-c", "--help", "-h", "--info", "-i", "--hydra-help"})


@dataclass(frozen=True)
class Command:
    """flags and overrides are ready for Hydra; verb is the one that was picked (also when it was written as verb=NAME)."""

    verb: Verb
    flags: tuple[str, ...] = ()
    overrides: tuple[str, ...] = field(default=())

    @property
    def multirun(self) -> bool:
        return bool(MULTIRUN & set(self.flags))

    @property
    def shows(self) -> bool:
        """Is something printed instead of run?"""
        return bool(SHOWING & {flag.partition("=")[0] for flag in self.flags})

    @property
    def argv(self) -> list[str]:
        return [*self.flags, *self.overrides]

    def value(self, key: str) -> str | None:
        """What the last override of `key` says, without quotes; None if it is not overridden."""
        for word in reversed(self.overrides):
            sign, name, value = parts(word)
            if name == key and value is not None and sign != "~":
                return unquoted(value)
        return None


def parse(argv: Sequence[str]) -> Command:
    """InputError for an unknown verb, an unknown flag or a word too many. Order of words and flags does not matter."""
    flags, words = split_flags(argv)
    sweep = bool(MULTIRUN & set(flags))
    folder = config_dir(flags)
    bare = [w for w in words if is_bare(w)]
    if bare:
        name, bare = bare[0], bare[1:]
    else:
        name = next((value for _, key, value in map(parts, words) if key == "verb" and value), verbs.DEFAULT)
    verb = verbs.load(name, folder)
    overrides = [quote_override(w, verb, sweep) for w in words if not is_bare(w)]
    filled = positionals(verb, bare, sweep)
    if not any(parts(w)[1] == "verb" for w in overrides):
        filled = [f"verb={verb.name}", *filled]
    return Command(verb, tuple(flags), (*filled, *overrides))


def parts(word: str) -> tuple[str, str, str | None]:
    """(sign, key, value or None) of an override; ('', '', None) if it is none."""
    found = OVERRIDE.fullmatch(word)
    if found is None:
        return "", "", None
    value = found["value"]
    return found["sign"], found["key"], None if value is None else value[1:]


def is_bare(word: str) -> bool:
    """Neither key=value nor ~key: a verb, or a path. A word such as runs/lr=1/scene.ply is a path where it exists."""
    sign, key, value = parts(word)
    if not key or (value is None and sign != "~"):
        return True
    return "/" in key and exists(word)


def positionals(verb: Verb, words: Sequence[str], sweep: bool) -> list[str]:
    """The bare words after the verb as overrides."""
    left, filled = list(words), []
    for key in verb.positionals:
        if not left:
            break
        if key.endswith(REST):
            filled.append(f"{key.removesuffix(REST)}=[{','.join(quoted_path(w) for w in left)}]")
            left = []
        else:
            word = left.pop(0)
            filled.append(f"{key}={quoted(word, sweep)}" if holds_path(key, verb.paths) else f"{key}={word}")
    if left:
        raise InputError(
            f"{left[0]!r} is one word too many (settings are written key=value); usage: sceneloom {verb.usage} key=value …"
        )
    return filled


def quote_override(word: str, verb: Verb, sweep: bool) -> str:
    sign, key, value = parts(word)
    rest = tuple(p.removesuffix(REST) for p in verb.positionals if p.endswith(REST))
    if value is None or sign == "~" or not holds_path(key, verb.paths + rest):
        return word
    return f"{sign}{key}={quoted(value, sweep, many=holds_list(key, rest))}"


def unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        quote = value[0]
        return re.sub(rf"(\\+)(?={quote}|$)", lambda m: "\\" * (len(m[1]) // 2), value[1:-1])
    return value


def split_flags(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Hydra's flags with their values, and all other words, each in the order typed."""
    known = get_args_parser()._option_string_actions
    flags: list[str] = []
    words: list[str] = []
    rest = deque(argv)
    while rest:
        word = rest.popleft()
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        name, _, value = word.partition("=")
        action = known.get(name) or known.get(_abbreviated(name, known))
        if action is None:
            raise InputError(_unknown_flag(name, value, known))
        flags.append(word)
        wants_next = action.nargs is None or (action.nargs == "?" and rest and rest[0] in (action.choices or ()))
        if wants_next and not value and rest:
            flags.append(rest.popleft())
    return flags, words


def _abbreviated(name: str, known: dict[str, Action]) -> str:
    """A long flag may be cut short as long as it stays unique."""
    fits = [k for k in known if name.startswith("--") and k.startswith(name)]
    return fits[0] if len(fits) == 1 else ""


def _unknown_flag(name: str, value: str, known: dict[str, Action]) -> str:
    key = name.lstrip("-").replace("-", "_")
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    meant = (
        f"did you mean {near[0]}?"
        if near
        else f"settings are written {key or 'key'}={value or 'VALUE'}, without dashes"
    )
    return f"unknown flag {name}; {meant}"


def config_dir(flags: Sequence[str]) -> str | None:
    """The folder that --config-dir names."""
    for i, flag in enumerate(flags):
        name, _, value = flag.partition("=")
        if name in ("--config-dir", "-cd"):
            return value or (flags[i + 1] if i + 1 < len(flags) else None)
    return None
