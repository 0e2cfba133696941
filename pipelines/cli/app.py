"""The entry point: words -> Hydra -> verb -> exit code.

Exit codes: 0 done; 2 bad input, told in one line on stderr; 1 anything else, with its traceback; 130 stopped by Ctrl-C.
HYDRA_FULL_ERROR=1 shows the traceback of bad input too.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NoReturn

import hydra

from ..._version import __version__
from . import help, resolvers, start
from .complete import answer
from .resume import replayed
from .suggest import CONFIG_ERRORS, exit_code, explained, one_line, told
from .words import Command, config_dir, parse

FULL_ERROR = "HYDRA_FULL_ERROR"


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run one command (default: that of this process) and exit."""
    sys.exit(run(list(sys.argv[1:] if argv is None else argv)))


def run(words: list[str]) -> int:
    """Run one command and return its exit code."""
    start.now = start.Command()
    resolvers.forget()
    resolvers.register()
    overrides: Sequence[str] = ()
    try:
        if "--version" in words:
            print(f"sceneloom {__version__} (Hydra {hydra.__version__})")
            return 0
        if {"-sc", "--shell-completion"} & set(words):
            return _hydra(answer(words))
        command = parse(words)
        if {"-h", "--help"} & set(command.flags):
            print(help.text(command.verb.name, config_dir(command.flags)))
            return 0
        command, changes = replayed(command)
        overrides = command.overrides
        start.now.notes = tuple(f"resume: {line}" for line in changes)
        code = _hydra([*command.flags, *overrides, *_sweep_folder(command)])
        return _swept() if start.now.jobs else code
    except BrokenPipeError:  # the reader of our output has seen enough (| head)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except start.Refused as stop:
        return _refuse(stop.error, code=exit_code(stop.error))
    except KeyboardInterrupt as stop:
        if start.now.jobs:
            _swept()
        print(f"\n{stop}" if str(stop) else "\ninterrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if (known := told(error)) is not None:
            return _refuse(known, code=exit_code(known))
        if isinstance(error, CONFIG_ERRORS) and not _raised_by_verb(error):
            return _refuse(error, explained(error, overrides))
        traceback.print_exc()
        return 1


def _hydra(argv: Sequence[str]) -> int:
    """Hydra's own main with these words; its exceptions come through instead of being printed."""
    package = __name__.split(".")[0]
    app = hydra.main(config_path=f"pkg://{package}.conf", config_name="config", version_base="1.3")(start.run)
    with _arguments(argv), _errors_come_through():
        try:
            app()
        except start.Refused:
            raise
        except SystemExit as stop:
            return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return 0


def _sweep_folder(command: Command) -> list[str]:
    """With -m, `out` is the folder of the sweep; a swept `out` names each job's own folder."""
    words = command.overrides
    if not command.multirun or any(w.startswith("hydra.sweep.") for w in words):
        return []
    out = [w.partition("=")[2] for w in words if w.startswith("out=")]
    if not out:
        return []
    swept = "','" in out[-1] or out[-1].startswith("choice(")
    return ["hydra.sweep.subdir=${out}"] if swept else [f"hydra.sweep.dir={out[-1]}"]


def _swept() -> int:
    """Say how each job of a sweep ended; 0 if all went well, 2 if only bad input failed, else 1."""
    print(f"\n{start.summary(start.now.jobs)}", flush=True)
    failed = [j.error for j in start.now.jobs if j.error is not None]
    return 0 if not failed else 2 if all(exit_code(e) == 2 for e in failed) else 1


def _refuse(error: BaseException, text: str | None = None, code: int = 2) -> int:
    if os.environ.get(FULL_ERROR) == "1":
        traceback.print_exception(error)
    print(f"error: {text or one_line(error)}", file=sys.stderr)
    return code


def _raised_by_verb(error: BaseException) -> bool:
    """Did the traceback pass through a verb? Then it is our fault, not the user's."""
    frames = traceback.extract_tb(error.__traceback__)
    return any(frame.name == "_call" and frame.filename == start.__file__ for frame in frames)


@contextmanager
def _arguments(argv: Sequence[str]) -> Iterator[None]:
    before = sys.argv
    sys.argv = [before[0] if before else "sceneloom", *argv]
    try:
        yield
    finally:
        sys.argv = before


@contextmanager
def _errors_come_through() -> Iterator[None]:
    """Hydra prints exceptions and exits, unless this variable is set."""
    before = os.environ.get(FULL_ERROR)
    os.environ[FULL_ERROR] = "1"
    try:
        yield
    finally:
        with suppress(KeyError):
            del os.environ[FULL_ERROR]
        if before is not None:
            os.environ[FULL_ERROR] = before
