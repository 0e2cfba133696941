"""The console application: a Hydra app whose first bare word picks the verb, with one line for every error that is the user's."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from ...data.errors import InputError

FULL_ERROR = "HYDRA_FULL_ERROR"
USER_ERROR, FAILURE, INTERRUPTED = 2, 1, 130


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 2 the user's error (one line), 1 failure, 130 interrupted."""
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(words: list[str]) -> int:
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    wish = os.environ.get(FULL_ERROR)
    wants_traceback = wish == "1"
    try:
        os.environ[FULL_ERROR] = "1"  # errors come to us as they are; we say them in one line
        _hydra(words)
    except InputError as error:
        return _tell(str(error), USER_ERROR, wants_traceback)
    except (HydraException, OmegaConfBaseException) as error:
        if isinstance(cause := _cause(error), InputError):
            return _tell(str(cause), USER_ERROR, wants_traceback)
        from .suggest import config_error

        return _tell(config_error(error, words), USER_ERROR, wants_traceback)
    except BrokenPipeError:  # the reader of our output has seen enough (| head)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as stop:
        return _tell(str(stop) or "interrupted", INTERRUPTED, False)
    except _Told as error:
        return _tell(str(error), FAILURE, wants_traceback)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else FAILURE if stop.code else 0
    finally:
        os.environ.pop(FULL_ERROR)
        if wish is not None:
            os.environ[FULL_ERROR] = wish
    return 0


class _Told(RuntimeError):
    """A failure that has a line of its own and needs no traceback."""


def _hydra(words: list[str]) -> None:
    import hydra
    from hydra.core.hydra_config import HydraConfig

    from .resolvers import forget_unused, register
    from .words import to_hydra

    _completion_words()
    arguments = to_hydra(words)
    register()
    sys.argv = [sys.argv[0], *arguments]
    failed: list[Exception] = []

    def job(cfg: Any) -> None:
        try:
            _job(cfg)
        except Exception as error:
            if isinstance(error, InputError):
                forget_unused(Path(HydraConfig.get().runtime.output_dir))
            if _in_sweep():  # Hydra notes the failure and goes on with the next job
                raise
            failed.append(error)  # kept from Hydra, which would print a text of its own

    hydra.main(version_base="1.3", config_path="pkg://sceneloom.conf", config_name="config")(job)()
    if failed:
        raise failed[0]


def _in_sweep() -> bool:
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    return HydraConfig.get().mode == RunMode.MULTIRUN


def _completion_words() -> None:
    """Hydra completes overrides only: show it the verb as one."""
    line = os.environ.get("COMP_LINE")
    if line:
        from .verbs import verbs

        words = line.split(" ")
        if len(words) > 2 and words[1] in verbs():
            os.environ["COMP_LINE"] = " ".join([words[0], f"verb={words[1]}", *words[2:]])


def _job(cfg: Any) -> None:
    """One job: check the values, then call the verb."""
    from importlib import import_module

    from hydra.core.hydra_config import HydraConfig
    from omegaconf import OmegaConf

    from .validate import validate

    hydra_config = HydraConfig.get()
    overridden = {o.split("=", 1)[0].lstrip("+") for o in hydra_config.overrides.task}
    if _in_sweep() and "out" not in overridden:
        OmegaConf.update(cfg, "out", hydra_config.runtime.output_dir)
    validate(cfg)
    module, name = cfg.verb._target_.rsplit(".", 1)
    verb = getattr(import_module(module), name)
    try:
        verb(cfg)
    except RuntimeError as error:
        if type(error).__name__ == "TrainingDiverged":
            raise _Told(str(error)) from error
        raise


def _cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _tell(text: str, code: int, wants_traceback: bool) -> int:
    if wants_traceback:
        import traceback

        traceback.print_exc()
    prefix = "" if code == INTERRUPTED else "error: "
    print(prefix + " ".join(text.split()), file=sys.stderr)
    return code
