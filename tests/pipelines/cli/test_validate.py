"""Values are refused with what was wanted, and taken as the type that the defaults have."""

import pytest
from omegaconf import OmegaConf
from sceneloom.data.errors import InputError
from sceneloom.pipelines.cli.suggest import unknown_key
from sceneloom.pipelines.cli.validate import RULES, checked, leaves, number, one_of, optional, texts, whole

DEFAULTS = {
    "seed": 0,
    "threads": None,
    "backend": "auto",
    "data": {"path": None, "downscale": 1, "strict": False},
    "train": {"steps": 10, "max_gaussians": 5, "init": None},
    "group": {"share": 0.5, "count": 3, "on": True, "title": "x", "list": [1], "anything": None, "table_file": None},
    "runs": [],
}


def config(**changes):
    cfg = OmegaConf.create(DEFAULTS)
    for key, value in changes.items():
        OmegaConf.update(cfg, key.replace("__", "."), value)
    return cfg


def check(base="/base", **changes):
    return OmegaConf.to_container(checked(config(**changes), config(), str(base)))


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"train__steps": -1}, "train.steps=-1: want a whole number, 0 or more"),
        ({"train__steps": True}, "train.steps=true: want a whole number, 0 or more"),
        ({"train__max_gaussians": 0}, "train.max_gaussians=0: want a whole number, 1 or more"),
        ({"train__max_gaussians": "many"}, "train.max_gaussians=many: want a whole number, 1 or more"),
        ({"data__downscale": 0.5}, "data.downscale=0.5: want a number, 1 or more"),
        ({"data__downscale": float("inf")}, "data.downscale=inf: want a number"),
        ({"threads": 0}, "threads=0: want a whole number, 1 or more or null"),
        ({"backend": "gpu"}, "backend=gpu: want one of auto, cpu, cuda"),
        ({"seed": None}, "seed=null: want a whole number"),
        ({"group__share": "half"}, "group.share=half: want a number"),
        ({"group__count": 2.5}, "group.count=2.5: want a whole number"),
        ({"group__on": 1}, "group.on=1: want true or false"),
        ({"group__count": "${nothing}"}, "group.count: .*nothing"),
        ({"group__title": "???"}, "group.title is not set and has no default"),
        ({"data__path": "nowhere"}, "data.path=.*nowhere: there is no such file or folder"),
        ({"train__init": "gone.ply"}, "train.init=.*gone.ply: there is no such"),
    ],
    ids=str,
)
def test_refused(changes, text):
    with pytest.raises(InputError, match=text):
        check(**changes)


def test_taken_as_the_type_of_the_default(tmp_path):
    (tmp_path / "photos").mkdir()
    got = check(
        tmp_path,
        train__steps=3e4,
        group__share=1,
        group__count=4.0,
        group__title=7,
        group__anything="free",
        data__path="photos",
    )
    assert (got["train"]["steps"], got["group"]["count"]) == (30000, 4)
    assert isinstance(got["train"]["steps"], int)
    assert (got["group"]["share"], got["group"]["title"], got["group"]["anything"]) == (1, "7", "free")
    assert got["data"]["path"] == str(tmp_path / "photos")
    assert check(tmp_path, group__table_file="a b")["group"]["table_file"] == str(tmp_path / "a b")
    assert check(tmp_path, runs=["x", "/y"])["runs"] == [str(tmp_path / "x"), "/y"]


def test_a_near_name_is_offered_for_a_path(tmp_path):
    (tmp_path / "photos").mkdir()
    with pytest.raises(InputError, match="did you mean photos"):
        check(tmp_path, data__path="photo")


def test_rules():
    assert whole(0, 3)(3) is None
    assert whole(0, 3)(4) == "a whole number from 0 to 3"
    assert number(above=0)(0) == "a number, above 0"
    assert number(least=0, most=1)(2) == "a number, 0 or more, at most 1"
    assert number()(float("nan"))
    assert one_of(True, False)(1) == "one of true, false"
    assert optional(whole(1))(None) is None
    assert texts(1)([]) == texts(1)("ply") == "a list such as [a,b]"


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("train.stepz", "did you mean train.steps"),
        ("trian.steps", "did you mean train.steps"),
        ("steps", "did you mean train.steps"),
        ("max_gausians", "train.max_gaussians"),
        ("stratgy", "did you mean strategy"),
        ("data.down_scale", "did you mean data.downscale"),
        ("zzzzzz", "--cfg job prints all"),
    ],
)
def test_unknown_keys_get_the_nearest(key, text):
    assert text in unknown_key(key, [])


def test_rules_name_keys_that_exist():
    from sceneloom.pipelines.cli.suggest import known_keys

    known = {k for choice in ("default", "mcmc") for k in known_keys([f"strategy={choice}"])}
    assert set(RULES) - known <= {"viewer.port"}
    assert list(leaves({"a": {"b": 1, "c": [1]}})) == [("a.b", 1), ("a.c", [1])]
