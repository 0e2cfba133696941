"""The configuration mirrors the code: targets exist in the folder of their group, defaults agree, every number has a range."""

from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_module
from hydra.utils import get_method
from omegaconf import OmegaConf
from sceneloom.pipelines.cli.resolvers import register
from sceneloom.pipelines.cli.validate import RULES, checked
from sceneloom.pipelines.cli.verbs import CONF, load, names
from sceneloom.pipelines.export import ExportOptions
from sceneloom.pipelines.optimizer import Rates
from sceneloom.pipelines.train import TrainOptions

HOME = {
    "data": "sceneloom.data.",
    "model": "sceneloom.renderers.",
    "codec": "sceneloom.renderers.",
    "strategy": "sceneloom.pipelines.strategies.",
    "distributed": "sceneloom.distributed.",
    "verb": "sceneloom.pipelines.verbs.",
}


def composed(*overrides: str):
    register()
    with initialize_config_module("sceneloom.conf", version_base="1.3"):
        return compose("config", overrides=list(overrides))


def targets():
    for file in sorted(CONF.rglob("*.yaml")):
        node = yaml.safe_load(file.read_text()) or {}
        node = node.get("verb", node) if file.parent.name == "verb" else node
        if "_target_" in node:
            yield pytest.param(file, node["_target_"], id=file.relative_to(CONF).as_posix())


@pytest.mark.parametrize(("file", "target"), list(targets()))
def test_targets_exist_in_the_folder_of_their_group(file: Path, target: str):
    assert target.startswith(HOME[file.parent.name])
    assert callable(
        get_method(target) if target.rsplit(".", 1)[1][0].islower() else __import__("hydra").utils.get_class(target)
    )


def test_every_group_has_a_home():
    assert {p.name for p in CONF.iterdir() if p.is_dir() and p.name != "__pycache__"} <= set(HOME) | {"experiment"}


def plain(node) -> dict:
    return OmegaConf.to_container(node)


def test_defaults_of_yaml_and_code_are_the_same():
    train = plain(composed().train)
    assert Rates(**train.pop("rates")) == Rates()
    assert TrainOptions(**train) == TrainOptions()
    export = plain(composed().export)
    assert ExportOptions(**{**export, "formats": tuple(export["formats"])}) == ExportOptions()
    from sceneloom.pipelines.strategies.growth import Growth
    from sceneloom.pipelines.strategies.mcmc import MCMC

    for option, knobs in (("default", Growth), ("mcmc", MCMC)):
        node = plain(composed(f"strategy={option}").strategy)
        node.pop("_target_")
        assert set(node) == {f.name for f in fields(knobs)}
        assert knobs(**node) == knobs()


def test_every_number_has_a_range():
    def leaves(node, prefix=""):
        for name, value in node.items():
            if isinstance(value, dict):
                yield from leaves(value, f"{prefix}{name}.")
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                yield prefix + name

    for strategy in ("default", "mcmc"):
        config = OmegaConf.to_container(composed(f"strategy={strategy}"))
        assert [k for k in leaves(config) if k not in RULES] == []


@pytest.mark.parametrize("verb", names())
def test_defaults_of_every_verb_are_valid_and_explained(verb):
    config = composed(f"verb={verb}")
    checked(config, config, "/")
    assert config.verb.name == verb
    assert load(verb).help
    assert load(verb).show
