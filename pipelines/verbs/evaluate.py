"""`sceneloom evaluate run=FOLDER`: score a trained run again from its checkpoint."""

from __future__ import annotations

from omegaconf import DictConfig

from ..configuration import of_run
from ..session import session
from ..stages.evaluate import Evaluate
from ..stages.load import load
from ..stages.state import run_stages
from ..written_report import write_report


def run(cfg: DictConfig) -> None:
    config, folder = of_run(cfg)
    with session(config, folder.path) as state:
        state = run_stages(load(state), [Evaluate()], force=True)
        write_report(state)
