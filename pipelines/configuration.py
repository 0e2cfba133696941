"""The composed config as plain values, and the config of an existing run with this command's changes on top."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf

from ..data.errors import InputError
from .run_folder import RunFolder, existing

GROUPS = ("model", "strategy", "codec", "distributed", "data")


def plain(cfg: DictConfig) -> dict[str, Any]:
    """Resolved plain values without the verb's own node."""
    values = cast("dict[str, Any]", OmegaConf.to_container(cfg, resolve=True, throw_on_missing=True))
    values.pop("verb", None)
    return values


def keep_settings(run: RunFolder, config: dict[str, Any]) -> None:
    """Store the config and the overrides behind it in the run folder: what a resume replays, what other verbs read.

    Called once the settings have proven to fit what the folder holds, so that a refused command changes nothing.
    """
    write_yaml(run.config, config)
    write_yaml(run.settings, overrides())


def overrides() -> list[str]:
    """This job's overrides as they were written, without the ones of Hydra itself."""
    from hydra.core.hydra_config import HydraConfig

    if not HydraConfig.initialized():
        return []
    return cast("list[str]", OmegaConf.to_container(HydraConfig.get().overrides.task, resolve=False))


def write_yaml(path: Path, config: Any) -> None:
    """Plain values as YAML, atomically."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(OmegaConf.to_yaml(OmegaConf.create(config)), encoding="utf-8")
    temporary.replace(path)


def of_run(cfg: DictConfig) -> tuple[dict[str, Any], RunFolder]:
    """The stored config of `run=FOLDER` with the keys that were set on this command line."""
    folder = existing(cfg.get("run"))
    stored = cast("dict[str, Any]", OmegaConf.to_container(OmegaConf.load(folder.config), resolve=True))
    merged = OmegaConf.create(stored)
    for key in command_line_keys():
        if key in GROUPS:
            raise InputError(
                f"{key}=… cannot change for a finished run; start a new one (train.init={folder.path} begins from it)"
            )
        if key in ("run", "out", "verb", "resume"):
            continue
        OmegaConf.update(merged, key, OmegaConf.select(cfg, key), force_add=True)
    values = plain(cast("DictConfig", merged))
    values["out"] = str(folder.path)
    return values, folder


def command_line_keys() -> list[str]:
    """Keys of this job's overrides."""
    return [o.split("=", 1)[0].lstrip("+~").split("@")[0] for o in overrides()]
