"""What Hydra and OmegaConf complain about, said in one line with the nearest names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from ...data.errors import Failure, InputError

CONFIG_ERRORS = (HydraException, OmegaConfBaseException)


def told(error: BaseException | None) -> InputError | Failure | None:
    """The error with a line of its own that `error` is or was caused by (Hydra's instantiate wraps what a constructor raises)."""
    while error is not None:
        if isinstance(error, (InputError, Failure)):
            return error
        error = error.__cause__
    return None


def exit_code(error: BaseException) -> int:
    """2 for bad input, 1 for anything else."""
    return 2 if isinstance(told(error), InputError) else 1


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def explained(error: BaseException, overrides: Sequence[str]) -> str:
    """One line for an error that arose while the config was put together."""
    text = str(error)
    if isinstance(error, OverrideParseException):
        return f"cannot read {getattr(error, 'override', '')!r}: {text.splitlines()[0]} (quote the value for Hydra: key='\"the value\"')"
    if found := re.search(r"Could not (?:override|delete from config\.) '([^']+)'", text):
        return unknown_key(found[1].split("@")[0], overrides)
    if found := re.search(r"Could not find '([^']+)'", text):
        return _unknown_choice(found[1], error, text)
    if found := re.search(r"Ambiguous value for argument '(.+)'\n", text):
        return f"{found[1]} has a comma: add -m to run once for each value, write [a,b] for a list, or quote the value: key='\"a,b\"'"
    if found := re.search(r"Sweep parameters '(.+)' requires --multirun", text):
        return f"{found[1]} is a sweep: add -m to run once for each value"
    if found := re.search(r"Could not append to config\. An item is already at '([^']+)'", text):
        return f"{found[1]} exists already: write {found[1]}=… without the +"
    cause = error.__cause__
    return one_line(error) + (f": {one_line(cause)}" if cause is not None and str(cause) not in text else "")


def unknown_key(key: str, overrides: Sequence[str]) -> str:
    """Names the keys that look or end like `key`."""
    known = known_keys(overrides)
    near = [k for k in known if k.rsplit(".", 1)[-1] == key.rsplit(".", 1)[-1] and k != key]
    tails = {k.rsplit(".", 1)[-1]: k for k in reversed(known)}
    near += difflib.get_close_matches(key, known, n=3, cutoff=0.6)
    if "." not in key:
        near += [tails[t] for t in difflib.get_close_matches(key, tails, n=2, cutoff=0.7)]
    near = list(dict.fromkeys(near))[:3]
    hint = f"did you mean {' or '.join(near)}?" if near else "sceneloom --cfg job prints all of them"
    return f"there is no setting {key!r}; {hint}"


def known_keys(overrides: Sequence[str]) -> list[str]:
    """Every key and group of the config that the group choices among `overrides` give."""
    from hydra import compose, initialize_config_module
    from hydra.core.global_hydra import GlobalHydra

    from .validate import leaves
    from .verbs import CONF

    groups = sorted(p.name for p in CONF.iterdir() if p.is_dir() and p.name not in ("__pycache__", "hydra"))
    chosen = [o for o in overrides if o.split("=", 1)[0].lstrip("+") in groups]
    GlobalHydra.instance().clear()
    with initialize_config_module(f"{__name__.split('.')[0]}.conf", version_base="1.3"):
        try:
            cfg = compose("config", chosen)
        except CONFIG_ERRORS:
            cfg = compose("config")
    return [*groups, *_sections(cfg), *(k for k, _ in leaves(_without_interpolations(cfg)))]


def _without_interpolations(cfg: DictConfig) -> Any:
    from omegaconf import OmegaConf

    return OmegaConf.to_container(cfg, resolve=False)


def _sections(cfg: DictConfig) -> list[str]:
    return [str(k) for k in cfg if isinstance(cfg._get_node(k), DictConfig)]


def _unknown_choice(name: str, error: BaseException, text: str) -> str:
    group, _, choice = name.rpartition("/")
    options = list(getattr(error, "options", None) or ())
    options = options or [line.strip() for line in text.splitlines() if line.startswith("\t")]
    if not group or not options:
        return one_line(error)
    near = difflib.get_close_matches(choice, options, n=1, cutoff=0.5)
    return (
        f"{group}={choice}: there is no such {group}; "
        + (f"did you mean {near[0]}? " if near else "")
        + f"There are: {', '.join(options)}"
    )
