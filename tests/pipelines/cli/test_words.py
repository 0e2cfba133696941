"""What is typed reaches the configuration as it was meant, whatever the path looks like."""

from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st
from sceneloom.data.errors import InputError
from sceneloom.pipelines.cli.words import _quote, _unquoted, to_hydra


def value(overrides: list[str], key: str):
    parsed = {o.key_or_group: o for o in OverridesParser.create().parse_overrides([w for w in overrides if "=" in w])}
    return parsed[key].value()


NAMES = [
    "my photos",
    "a,b [1] {x}=2 (3)",
    "Säule é 照片",
    "it's",
    'say "hi"',
    "back\\slash\\",
    "tail\\'s",
    "a:b;c&d",
    "~tilde",
    "100%",
    "$HOME x",
    "null x",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["data.path={}", "out={}", "train.init={}"])
def test_paths_come_through(name, form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    key = form.split("=")[0]
    assert value(to_hydra([form.format(name)]), key) == str(tmp_path / name)


@given(st.text(st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="$"), min_size=1, max_size=30))
def test_any_text_survives_quoting(text):
    quoted = _quote("/" + text)
    parsed = OverridesParser.create().parse_override(f"out={quoted}").value()
    assert parsed == _unquoted(quoted)
    assert parsed == str(Path("/" + text))


def test_positionals_of_verbs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x=1.ply").touch()
    assert "verb=view" in to_hydra(["view", "a b.ply"])
    assert value(to_hydra(["view", "a b.ply"]), "run") == str(tmp_path / "a b.ply")
    assert value(to_hydra(["view", "x=1.ply"]), "run") == str(tmp_path / "x=1.ply")
    assert value(to_hydra(["seed=3", "reconstruct", "threads=1", "photos"]), "data.path") == str(tmp_path / "photos")
    assert to_hydra(["--cfg", "job", "evaluate", "--resolve"]) == ["--cfg", "job", "--resolve", "verb=evaluate"]
    assert to_hydra([]) == ["verb=reconstruct"]


def test_sweeps_split_at_commas_unless_the_whole_exists(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    both = to_hydra(["-m", "data.path=a b,c"])
    assert both == ["-m", "verb=reconstruct", f"data.path='{tmp_path / 'a b'}','{tmp_path / 'c'}'"]
    (tmp_path / "a b,c").mkdir()
    assert value(to_hydra(["-m", "data.path=a b,c"]), "data.path") == str(tmp_path / "a b,c")


def test_wrong_words_are_told_with_what_was_wanted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").mkdir()
    for words, text in [
        (["viw", "x"], "did you mean view"),
        (["photos"], "sceneloom reconstruct data.path=photos"),
        (["doctor", "x"], "doctor takes no bare words"),
        (["view", "a", "b"], "unexpected word 'b'"),
        (["resume=true"], "out=FOLDER"),
        (["resume=true", "out=nowhere"], "does not exist"),
        (["resume=true", "out=photos"], "not a run folder"),
        (["resume=point_cloud.ply"], "train.init=point_cloud.ply"),
    ]:
        with pytest.raises(InputError, match=text):
            to_hydra(words)


def test_resume_replays_the_stored_overrides_below_the_new_ones(tmp_path):
    (tmp_path / ".hydra").mkdir()
    (tmp_path / ".hydra" / "overrides.yaml").write_text(
        "- verb=reconstruct\n- train.steps=10\n- data.path='/x y'\n- seed=4\n- out='/old'\n"
    )
    words = to_hydra(["reconstruct", f"out={tmp_path}", "resume=true", "train.steps=20"])
    assert words == [
        "verb=reconstruct",
        "data.path='/x y'",
        "seed=4",
        f"out='{tmp_path}'",
        "resume=true",
        "train.steps=20",
    ]
