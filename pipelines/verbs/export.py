"""`sceneloom export run=FOLDER export.formats=[ply,html]`: write files from a trained run's checkpoint."""

from __future__ import annotations

from omegaconf import DictConfig

from ..configuration import of_run
from ..session import session
from ..stages.export import Export, options_of
from ..stages.load import load
from ..stages.state import run_stages


def run(cfg: DictConfig) -> None:
    config, folder = of_run(cfg)
    options_of(config["export"])
    with session(config, folder.path) as state:
        run_stages(load(state), [Export()], force=True)
