"""Settings are looked at before any work starts: types as the defaults have them, ranges of the keys that every run shares."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ...data.errors import InputError
from .paths import absolute, holds_list, holds_path

Check = Callable[[Any], str | None]  # None, or what was wanted


def whole(least: int, most: int | None = None) -> Check:
    wanted = f"a whole number, {least} or more" if most is None else f"a whole number from {least} to {most}"

    def check(value: Any) -> str | None:
        good = (
            isinstance(value, int)
            and not isinstance(value, bool)
            and value >= least
            and (most is None or value <= most)
        )
        return None if good else wanted

    return check


def number(above: float | None = None, least: float | None = None, most: float = math.inf) -> Check:
    bounds = [f"above {above:g}" if above is not None else "", f"{least:g} or more" if least is not None else ""]
    bounds += [f"at most {most:g}" if most < math.inf else ""]
    wanted = ", ".join(["a number", *filter(None, bounds)])

    def check(value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            return wanted
        good = (above is None or value > above) and (least is None or value >= least) and value <= most
        return None if good else wanted

    return check


def one_of(*choices: Any) -> Check:
    def check(value: Any) -> str | None:
        return (
            None
            if any(value is c or (value == c and type(value) is type(c)) for c in choices)
            else f"one of {', '.join(map(_said, choices))}"
        )

    return check


def texts(least: int) -> Check:
    def check(value: Any) -> str | None:
        good = isinstance(value, (list, ListConfig)) and len(value) >= least and all(isinstance(v, str) for v in value)
        return None if good else "a list such as [a,b]"

    return check


def optional(check: Check) -> Check:
    def checked_or_null(value: Any) -> str | None:
        wanted = None if value is None else check(value)
        return wanted and f"{wanted} or null"

    return checked_or_null


switch = one_of(True, False)

RULES: dict[str, Check] = {
    "seed": whole(0, 2**63 - 1),
    "threads": optional(whole(1)),
    "backend": one_of("auto", "cpu", "cuda"),
    "resume": switch,
    "data.downscale": number(least=1),
    "data.cache_gb": number(above=0),
    "data.every": whole(0),
    "data.min_views": whole(1),
    "data.sfm.max_size": whole(64),
    "data.sfm.features": whole(16),
    "data.sfm.exhaustive_to": whole(0),
    "data.sfm.overlap": whole(1),
    "data.sfm.neighbours": whole(1),
    "train.steps": whole(0),
    "train.max_gaussians": whole(1),
    "train.init_points": whole(1),
    "train.init_opacity": number(above=0, most=0.999),
    "train.init_scale": number(above=0),
    "train.sh_degree": whole(0, 3),
    "train.sh_every": optional(whole(1)),
    "train.ssim_weight": number(least=0, most=1),
    "train.exposure_rate": number(least=0),
    "train.poses_rate": number(least=0),
    "train.checkpoint_every": whole(1),
    **{
        f"train.rates.{k}": number(least=0)
        for k in ("means", "means_end", "quats", "log_scales", "logits", "sh0", "sh_rest")
    },
    "train.rates.boost": optional(number(above=0)),
    "evaluate.every": whole(0),
    "export.formats": texts(1),
    "export.min_opacity": number(least=0, most=1),
    "export.max_gaussians": optional(whole(1)),
    "export.thumbnails": whole(0),
    "viewer.open": optional(switch),
    "viewer.port": optional(whole(0, 65535)),
    "log.wandb": one_of("auto", "online", "offline", "disabled"),
    "log.tags": texts(0),
    "log.every": whole(1),
    "strategy.every": whole(1),
    "strategy.reset_every": whole(1),
    "strategy.max_copies": whole(1),
    "strategy.pace": one_of("threshold", "budget"),
    **{
        f"strategy.{k}": number(least=0, most=1)
        for k in ("grow_from", "grow_until", "prune_opacity", "reset_opacity", "min_opacity")
    },
    **{
        f"strategy.{k}": number(least=0) for k in ("grow_share", "grow_gradient", "split_scale", "prune_scale", "noise")
    },
    **{f"strategy.{k}": number(least=0) for k in ("opacity_penalty", "scale_penalty")},
}
INPUTS = ("data.path", "data.image_path", "data.mask_path", "train.init", "run")  # must be there before anything starts


def checked(cfg: DictConfig, defaults: DictConfig, base: str, extra_paths: tuple[str, ...] = ()) -> DictConfig:
    """`cfg` with resolved values and absolute paths; the first thing that is wrong as InputError.

    defaults     the config of the same groups without single values changed: it says what type each key wants
    base         the folder that the command was typed in
    extra_paths  keys of the verb that hold paths
    """
    try:
        own = OmegaConf.masked_copy(cfg, [str(k) for k in cfg if k != "hydra"])
        cfg = OmegaConf.create(OmegaConf.to_container(own, resolve=True, throw_on_missing=True))  # type: ignore[assignment]
    except OmegaConfBaseException as error:
        raise InputError(_unresolved(error)) from error
    for key, value in list(leaves(cfg)):
        if holds_path(key, extra_paths) and key != "resume":
            OmegaConf.update(cfg, key, _absolute(key, value, base))
        else:
            OmegaConf.update(cfg, key, _typed(key, value, OmegaConf.select(defaults, key)))
    for key, check in RULES.items():
        value = OmegaConf.select(cfg, key, default=_ABSENT)
        if value is not _ABSENT and (wanted := check(value)):
            raise InputError(f"{key}={_said(value)}: want {wanted}")
    if OmegaConf.select(cfg, "viewer.live"):
        raise InputError(
            "viewer.live=true: this version has no viewer while training; the page is written when it is done"
        )
    for key in INPUTS:
        value = OmegaConf.select(cfg, key)
        if value is not None and not Path(value).exists():
            raise InputError(f"{key}={value}: there is no such file or folder{_nearby(Path(value))}")
    return cfg


_ABSENT = object()


def leaves(node: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, value) of everything that is not a mapping; lists count as values."""
    for key in node:
        value, name = node[key], f"{prefix}{key}"
        if isinstance(value, (dict, DictConfig)):
            yield from leaves(value, f"{name}.")
        else:
            yield name, value


def _typed(key: str, value: Any, default: Any) -> Any:
    """`value` as the type of the default. A whole float counts as a whole number (3e4), a bare number as text where text is wanted."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(default, int) and not isinstance(default, bool) and isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(default, str) and is_number and key not in RULES:
        return str(value)
    if key in RULES or value is None or default is None:
        return value
    if isinstance(default, bool):
        wanted = None if isinstance(value, bool) else "true or false"
    elif isinstance(default, (int, float)):
        whole_wanted = isinstance(default, int)
        good = is_number and not (whole_wanted and isinstance(value, float))
        wanted = None if good else "a whole number" if whole_wanted else "a number"
    else:
        wanted = None
    if wanted:
        raise InputError(f"{key}={_said(value)}: want {wanted}")
    return value


def _absolute(key: str, value: Any, base: str) -> Any:
    if isinstance(value, ListConfig):
        return [absolute(str(v), base) for v in value]
    if value is None or isinstance(value, bool):
        return value
    return [absolute(str(value), base)] if holds_list(key) else absolute(str(value), base)


def _unresolved(error: OmegaConfBaseException) -> str:
    key = error.full_key or ""
    if type(error).__name__ == "MissingMandatoryValue":
        return f"{key} is not set and has no default; write {key}=VALUE"
    return f"{key}: {str(error).splitlines()[0]}"


def _nearby(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    near = difflib.get_close_matches(path.name, [p.name for p in path.parent.iterdir()], n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _said(value: Any) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
