"""Values are checked before any work: type, range, choice. One table; a test holds that every number and switch of conf is in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ...data.errors import InputError


@dataclass(frozen=True)
class Rule:
    """accepts(value) -> whether it is fine; `want` is how the error names what was wanted."""

    accepts: Callable[[Any], bool]
    want: str


def _is_number(v: Any) -> bool:
    return isinstance(v, (int, float)) and not isinstance(v, bool) and v == v


def whole(least: int, most: int | None = None) -> Rule:
    text = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"
    return Rule(
        lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= least and (most is None or v <= most), text
    )


def number(least: float, most: float = float("inf"), above: bool = False) -> Rule:
    text = f"a number above {least:g}" if above else f"a number of at least {least:g}"
    text += f" and at most {most:g}" if most != float("inf") else ""
    return Rule(
        lambda v: _is_number(v) and (v > least if above else v >= least) and v <= most and v != float("inf"), text
    )


def one_of(*options: str) -> Rule:
    return Rule(lambda v: v in options, f"one of {', '.join(options)}")


def optional(rule: Rule) -> Rule:
    return Rule(lambda v: v is None or rule.accepts(v), f"null or {rule.want}")


SWITCH = Rule(lambda v: isinstance(v, bool), "true or false")
NAMES = Rule(lambda v: isinstance(v, list) and all(isinstance(x, str) for x in v), "a list of names: [a,b]")
TEXT = Rule(lambda v: isinstance(v, str) and bool(v), "a text")

RULES: dict[str, Rule] = {
    "seed": whole(0, 2**63 - 1),
    "threads": optional(whole(1)),
    "backend": one_of("auto", "cpu", "cuda"),
    "resume": SWITCH,
    "train.steps": whole(0),
    "train.max_gaussians": whole(1),
    "train.init_points": whole(1),
    "train.init_opacity": number(0, 0.999, above=True),
    "train.init_scale": number(0, above=True),
    "train.triangulate": SWITCH,
    "train.sh_degree": whole(0, 3),
    "train.sh_every": optional(whole(1)),
    "train.ssim_weight": number(0, 1),
    "train.exposure": SWITCH,
    "train.exposure_rate": number(0),
    "train.poses": SWITCH,
    "train.poses_rate": number(0),
    "train.checkpoint_every": whole(1),
    **{
        f"train.rates.{k}": number(0) for k in ("means", "means_end", "quats", "log_scales", "logits", "sh0", "sh_rest")
    },
    "evaluate.every": whole(0),
    "evaluate.save_images": SWITCH,
    "export.formats": NAMES,
    "export.min_opacity": number(0, 1),
    "export.max_gaussians": optional(whole(1)),
    "export.recenter": SWITCH,
    "export.thumbnails": whole(0),
    "viewer.open": optional(SWITCH),
    "viewer.live": SWITCH,
    "log.wandb": one_of("auto", "online", "offline", "disabled"),
    "log.project": TEXT,
    "log.group": optional(TEXT),
    "log.tags": NAMES,
    "log.every": whole(1),
    "data.downscale": number(1),
    "data.every": whole(0),
    "data.strict": SWITCH,
    "data.invert_masks": SWITCH,
    "data.min_views": whole(1),
    "data.cache_gb": number(0),
    "data.sfm.max_size": whole(64),
    "data.sfm.features": whole(16),
    "data.sfm.exhaustive_to": whole(0),
    "data.sfm.overlap": whole(1),
    "data.sfm.neighbours": whole(1),
    "model.antialiased": SWITCH,
    "strategy.every": whole(1),
    **{f"strategy.{k}": number(0, 1) for k in ("grow_from", "grow_until", "grow_share", "min_opacity")},
    **{f"strategy.{k}": number(0, 1) for k in ("prune_opacity", "reset_opacity")},
    **{f"strategy.{k}": number(0) for k in ("grow_gradient", "split_scale", "prune_scale", "noise")},
    **{f"strategy.{k}": number(0) for k in ("opacity_penalty", "scale_penalty")},
    "strategy.pace": one_of("threshold", "budget"),
    "strategy.absgrad": SWITCH,
    "strategy.reset_every": whole(1),
    "strategy.max_copies": whole(1),
}


def validate(cfg: DictConfig) -> None:
    """Raise InputError for the first value that its rule refuses. Keys that this config does not have are skipped."""
    for key, rule in RULES.items():
        node, _, name = key.rpartition(".")
        holder = OmegaConf.select(cfg, node) if node else cfg
        if holder is None or name not in holder:
            continue
        value = OmegaConf.select(cfg, key)
        value = OmegaConf.to_container(value) if OmegaConf.is_config(value) else value
        if not rule.accepts(value):
            raise InputError(f"{key}={value!r}: want {rule.want}")
    if OmegaConf.select(cfg, "viewer.live"):
        raise InputError(
            "viewer.live=true: this version has no viewer while training; the page is written when training is done"
        )
