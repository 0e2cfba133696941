"""The data config group: its keys are `load_capture`'s arguments, whatever kind is forced."""

import inspect
from pathlib import Path

import pytest
import sceneloom
from hydra import compose, initialize_config_dir
from hydra.utils import get_method
from omegaconf import OmegaConf
from sceneloom.data.readers.detect import KINDS
from sceneloom.data.sfm.run import SfmOptions

CONF = Path(sceneloom.__file__).resolve().parent / "conf" / "data"


@pytest.mark.parametrize("kind", ["auto", *KINDS])
def test_keys_are_arguments(kind):
    with initialize_config_dir(str(CONF), version_base=None):
        config = OmegaConf.to_container(compose(kind, overrides=["path=somewhere"]))
    assert isinstance(config, dict)
    assert config["kind"] == kind
    load = get_method(config.pop("_target_"))
    config.pop("cache_gb")  # the trainer's
    arguments = inspect.signature(load).parameters
    assert set(config) == set(arguments) - {"progress"}
    for key, value in config.items():
        if key not in ("path", "kind", "sfm"):
            assert value == arguments[key].default, key
    assert SfmOptions(**config["sfm"]) == SfmOptions()
