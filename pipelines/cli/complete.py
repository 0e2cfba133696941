"""Tab completion is Hydra's own; here verbs are put into the words it understands, and offered themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence

from . import verbs
from .words import is_bare


def answer(words: Sequence[str]) -> list[str]:
    """The words for Hydra. For a query, $COMP_LINE is rewritten (`export` to `verb=export`) and fitting verbs are printed."""
    line = os.environ.get("COMP_LINE")
    if line is not None and any(w.startswith("query=") for w in words):
        rewritten, offered = understood(line)
        os.environ["COMP_LINE"] = rewritten
        if offered:
            print(" ".join(offered), end=" ")
    return list(words)


def understood(line: str) -> tuple[str, list[str]]:
    """The line with the verb as an override and without other bare words, and the verbs that the last word may become."""
    typed = line.split()
    last = "" if line.endswith(" ") or len(typed) < 2 else typed.pop()
    app, before = typed[0] if typed else "", typed[1:]
    known = verbs.names()
    verb = next((w for w in before if w in known), None)
    kept = [w for w in before if w.startswith("-") or not is_bare(w)]
    offered = [v for v in known if v.startswith(last)] if verb is None and "=" not in last else []
    return " ".join([app, *([f"verb={verb}"] if verb else []), *kept, last]), offered
