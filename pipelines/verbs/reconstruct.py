"""`sceneloom reconstruct`: capture in, walkable scene out."""

from __future__ import annotations

from pathlib import Path

from omegaconf import DictConfig

from ..configuration import keep_settings, plain
from ..run_folder import RunFolder
from ..session import session
from ..stages.evaluate import Evaluate
from ..stages.export import Export, options_of
from ..stages.load import load
from ..stages.state import run_stages
from ..stages.train import Train
from ..written_report import write_report


class Interrupted(KeyboardInterrupt):
    """Stopped by a signal after a checkpoint was written; the text says how to go on."""


def run(cfg: DictConfig) -> None:
    config = plain(cfg)
    options_of(config["export"])  # a typo in export.* is told before an hour of training, not after
    run_folder = RunFolder(Path(config["out"]))
    with session(config, run_folder.path) as state:
        state = run_stages(load(state), [Train(), Evaluate(), Export()])
        keep_settings(run_folder, config)
        if state.interrupted:
            assert state.training is not None
            raise Interrupted(
                f"stopped after step {state.training.step}; go on with: sceneloom reconstruct out='{state.run.path}' resume=true"
            )
        write_report(state)
        page = state.run.exports / "viewer.html"
        if page.is_file():
            state.log.line(f"walk through it: {page.resolve().as_uri()}")
        if config["viewer"]["open"] and page.is_file():
            import webbrowser

            webbrowser.open(page.resolve().as_uri())
