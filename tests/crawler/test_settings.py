"""Every knob: where it can be set, and how it refuses what it cannot use."""

from pathlib import Path

import pytest

from recrawl.crawler.settings import KNOBS, Settings, agent_of, load_settings
from recrawl.errors import SettingsError


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_flags_come_before_the_environment_and_that_before_the_file() -> None:
    Path("recrawl.toml").write_text(
        'budget = "1/h"\nhost_delay = "3s"\nconnections = 7\n', encoding="utf-8"
    )
    environ = {"RECRAWL_BUDGET": "2/h", "RECRAWL_HOST_DELAY": "4s"}
    found = load_settings({"budget": "3/h", "contact": None}, environ=environ)
    assert (found.budget, found.connections) == (72.0, 7)
    assert found.host_delay == pytest.approx(4.0)
    assert found.contact == Settings().contact


def test_without_anything_the_defaults_hold() -> None:
    assert load_settings(environ={}) == Settings()


@pytest.mark.parametrize("name", KNOBS)
def test_every_default_can_be_typed(name: str) -> None:
    typed = KNOBS[name].metadata["typed"]
    found = load_settings(environ={f"RECRAWL_{name.upper()}": typed})
    assert getattr(found, name) == getattr(Settings(), name)


@pytest.mark.parametrize("name", KNOBS)
def test_every_knob_is_described(name: str) -> None:
    described = KNOBS[name].metadata
    assert described["meaning"].endswith(".")
    assert described["kind"].name
    assert described["kind"].examples


def test_lists_numbers_and_truths_of_toml_are_understood() -> None:
    text = 'follow = true\nfollow_hosts = ["a.example", "b.example"]\nlink_share = 0.25\n'
    Path("mine.toml").write_text(text, encoding="utf-8")
    found = load_settings(environ={}, file="mine.toml")
    assert (found.follow, found.link_share) == (True, 0.25)
    assert found.follow_hosts == ("a.example", "b.example")


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"RECRAWL_BUDGET": "fast"}, "RECRAWL_BUDGET: 'fast' is not a rate"),
        ({"RECRAWL_BUDGET": "0/day"}, "RECRAWL_BUDGET: '0/day' is too small"),
        ({"RECRAWL_CONNECTIONS": "0"}, "RECRAWL_CONNECTIONS: '0' is too small; at least 1"),
        ({"RECRAWL_CONNECTIONS": "few"}, "RECRAWL_CONNECTIONS: 'few' is not a number"),
        ({"RECRAWL_FOLLOW": "maybe"}, "RECRAWL_FOLLOW: 'maybe' is not true or false"),
        ({"RECRAWL_MAX_BYTES": "10XB"}, "RECRAWL_MAX_BYTES: '10XB' is not a size"),
        ({"RECRAWL_FINGERPRINT": "magic"}, "fingerprint: 'magic' is not one of"),
        ({"RECRAWL_SELECTOR": "main"}, "selector: goes with fingerprint = selector"),
        ({"RECRAWL_FINGERPRINT": "selector"}, "selector: goes with fingerprint = selector"),
    ],
)
def test_what_cannot_be_used_is_named(environ: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings(environ=environ)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("budgte = 1", "mine.toml: there is no setting 'budgte'; `recrawl settings` lists them"),
        ("budget = ", "mine.toml: this is not TOML: "),
        ('budget = "1"', "mine.toml, budget: '1' has no unit"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(text: str, said: str) -> None:
    Path("mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(environ={}, file="mine.toml")
    assert str(caught.value).startswith(said)


def test_a_file_that_is_named_must_be_there() -> None:
    with pytest.raises(SettingsError, match="No such file"):
        load_settings(environ={}, file="mine.toml")


def test_the_user_agent_says_whom_to_write_to() -> None:
    assert agent_of(Settings(contact="https://a.example/bot")).endswith("(+https://a.example/bot)")
    assert agent_of(Settings(user_agent="mine/1", contact="x")) == "mine/1"
    assert agent_of(Settings()).startswith("recrawl/")
