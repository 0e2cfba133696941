"""What is typed reaches the configuration as it was meant, whatever a path looks like and in whatever order."""

import itertools

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf
from sceneloom.data.errors import InputError
from sceneloom.pipelines.cli.paths import absolute, quoted, quoted_path, split
from sceneloom.pipelines.cli.words import parse, unquoted


def value(words: list[str], key: str):
    """What Hydra and OmegaConf make of an override."""
    parsed = {o.key_or_group: o for o in OverridesParser.create().parse_overrides(list(parse(words).overrides))}
    node = OmegaConf.create({"value": parsed[key].value()})
    return OmegaConf.to_container(node, resolve=True)["value"]  # type: ignore[index]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


NAMES = [
    "my photos",
    "a,b [1] {x}=2 (3)",
    "[a,b]",
    "Säule é 照片",
    "it's",
    'say "hi"',
    "back\\slash\\",
    "tail\\'s",
    "C:\\new\\table",
    "a:b;c&d",
    "~tilde",
    "100%",
    "$HOME x",
    "null x",
    "key=value",
]


@pytest.mark.parametrize("there", [True, False], ids=["exists", "absent"])
@pytest.mark.parametrize("name", NAMES)
def test_paths_come_through(name, there, here):
    if there:
        (here / name).mkdir()
    for key in ("data.path", "out", "train.init", "++data.image_path"):
        assert value([f"{key}={name}"], key.lstrip("+")) == str(here / name)


def test_home_interpolation_and_hydras_own_quotes(here, monkeypatch):
    monkeypatch.setenv("HOME", str(here / "home"))
    monkeypatch.setenv("USERPROFILE", str(here / "home"))
    monkeypatch.setenv("PLACE", "/p")
    assert value(["data.path=~/x y"], "data.path") == str(here / "home" / "x y")
    assert value(["data.path=${oc.env:PLACE}/x y"], "data.path") == "/p/x y"
    (here / "a${b}").mkdir()
    assert value(["data.path=a${b}"], "data.path") == str(here / "a${b}")
    assert value(["data.path='by hand, so'"], "data.path") == "by hand, so"
    assert value(["data.path=null"], "data.path") is None


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="$"), min_size=1, max_size=30))
def test_any_text_survives_quoting(text):
    written = quoted_path("/" + text)
    assert (
        OverridesParser.create().parse_override(f"out={written}").value() == absolute("/" + text) == unquoted(written)
    )


def test_order_of_words_and_flags_never_matters(here):
    words = ["view", "seed=3", "-m", "a b.ply", "threads=1"]
    wanted = {"verb=view", "seed=3", "threads=1", f"run='{here / 'a b.ply'}'"}
    for order in itertools.permutations(words):
        if order.index("view") < order.index("a b.ply"):
            command = parse(order)
            assert set(command.overrides) == wanted
            assert command.flags == ("-m",)


def test_flags_keep_their_values(here):
    assert parse(["--cfg", "job", "evaluate", "--resolve", "-cn=other"]).argv == [
        "--cfg",
        "job",
        "--resolve",
        "-cn=other",
        "verb=evaluate",
    ]
    assert parse(["--info", "view", "x"]).argv == ["--info", "verb=view", f"run='{here / 'x'}'"]
    assert parse(["--info", "defaults"]).argv == ["--info", "defaults", "verb=reconstruct"]
    assert parse(["--multi", "seed=1,2"]).flags == ("--multi",)


def test_positionals_of_verbs(here):
    (here / "x=1.ply").touch()
    (here / "runs" / "lr=1").mkdir(parents=True)
    assert value(["view", "runs/lr=1"], "run") == str(here / "runs" / "lr=1")
    assert value(["seed=3", "reconstruct", "threads=1", "photos"], "data.path") == str(here / "photos")
    assert parse([]).argv == ["verb=reconstruct"]
    assert parse(["seed=3", "verb=export"]).argv == ["seed=3", "verb=export"]
    assert (
        parse(["~strategy", "+experiment=x", "hydra/launcher=basic", "model@other=splats"]).verb.name == "reconstruct"
    )


def test_sweeps_split_at_commas_unless_a_path_has_them(here):
    both = parse(["-m", "data.path=a b,c"])
    assert both.overrides[-1] == f"data.path='{here / 'a b'}','{here / 'c'}'"
    (here / "a b,c").mkdir()
    assert value(["-m", "data.path=a b,c"], "data.path") == str(here / "a b,c")
    assert split("x,a b,c,y") == ["x", "a b,c", "y"]
    assert quoted("choice(a,b)", sweep=True) == "choice(a,b)"
    assert quoted("a,b", sweep=False) == f"'{here / 'a,b'}'"


def test_lists_of_paths(here):
    assert value(["evaluate.lpips_weights=[a b.pth,c.pth]"], "evaluate.lpips_weights") == [
        str(here / "a b.pth"),
        str(here / "c.pth"),
    ]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["viw", "x"], "did you mean view"),
        (["photos"], "sceneloom reconstruct 'photos'"),
        (["doctor", "x"], "'x' is one word too many"),
        (["view", "a", "b"], "'b' is one word too many.*usage: sceneloom view"),
        (["seed", "=", "3"], "'seed' is not a verb"),
        (["=3"], "key=value"),
        (["--data", "x"], "unknown flag --data; settings are written data=VALUE"),
        (["--max-steps=7"], "max_steps=7"),
        (["--multirum"], "did you mean --multirun"),
    ],
)
def test_wrong_words_are_told_with_what_was_wanted(words, text, here):
    (here / "photos").mkdir()
    with pytest.raises(InputError, match=text):
        parse(words)
