"""Whether a second fetch, to learn about noise, is worth its request."""

import pytest

from recrawl.fetching import second_fetch as second_fetches
from recrawl.fetching.second_fetch import FLEET_FETCHES, MAX_FETCHES, MIN_CHANCE, SecondFetches

A, B = "a.example", "b.example"


def note(fetches: SecondFetches, host: str, *, noisy: int = 0, quiet: int = 0) -> None:
    for taught in [True] * noisy + [False] * quiet:
        fetches.note(host, taught=taught)


def fetches_until_given_up(fetches: SecondFetches, host: str, other: str | None = None) -> int:
    """Return after how many second fetches from a host that teach nothing there is no other."""
    made = 0
    while fetches.is_worthwhile(host):
        fetches.note(other or host, taught=False)
        made += 1
    return made


def test_a_host_without_noise_is_given_up_after_some_fetches() -> None:
    """With n fetches, the mean over all is 1 / (2 + n), and the host's chance 2 · that / (n + 2).

    That is 0.125 after two, and 0.08 after three.
    """
    assert fetches_until_given_up(SecondFetches(), A) == 3
    # A host without fetches of its own has the chance of all: 1 / (2 + n), down to 0.1 itself.
    assert fetches_until_given_up(SecondFetches(), A, other=B) == 9


def test_what_a_host_taught_counts_for_longer_than_what_others_did() -> None:
    fetches = SecondFetches()
    note(fetches, A, noisy=10)
    assert fetches.is_worthwhile(B)
    note(fetches, B, quiet=100)
    assert fetches.is_worthwhile(A)
    assert not fetches.is_worthwhile(B)


def chance_of(fetches: SecondFetches, host: str, monkeypatch: pytest.MonkeyPatch) -> float:
    """Return the chance that a second fetch is expected to have, by bisection of the minimum."""
    low, high = 0.0, 2.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        monkeypatch.setattr(second_fetches, "MIN_CHANCE", middle)
        low, high = (middle, high) if fetches.is_worthwhile(host) else (low, middle)
    monkeypatch.setattr(second_fetches, "MIN_CHANCE", MIN_CHANCE)
    return low


@pytest.mark.parametrize(("noisy", "quiet"), [(0, 0), (1, 0), (3, 4), (0, 98)])
def test_the_chance_is_a_mean_of_the_host_and_of_all(
    noisy: int, quiet: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetches = SecondFetches()
    note(fetches, A, noisy=noisy, quiet=quiet)
    made = noisy + quiet
    of_all = (1.0 + noisy) / (2.0 + made)
    own = (noisy + FLEET_FETCHES * of_all) / (made + FLEET_FETCHES)
    assert chance_of(fetches, A, monkeypatch) == pytest.approx(own, abs=1e-8)
    assert chance_of(fetches, B, monkeypatch) == pytest.approx(of_all, abs=1e-8)


def test_older_fetches_fade(monkeypatch: pytest.MonkeyPatch) -> None:
    """After very many, the last hundred or so count: each keeps 0.99 of those before."""
    fetches = SecondFetches()
    note(fetches, A, noisy=2_000)
    assert chance_of(fetches, B, monkeypatch) == pytest.approx(1.0, abs=1e-8)
    note(fetches, A, quiet=round(MAX_FETCHES))
    kept = (1.0 - 1.0 / MAX_FETCHES) ** round(MAX_FETCHES)
    assert chance_of(fetches, B, monkeypatch) == pytest.approx(kept, abs=1e-4)


def test_the_hosts_fetched_from_longest_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_fetches, "MAX_HOSTS", 2)
    fetches = SecondFetches()
    note(fetches, A, noisy=9)
    note(fetches, B, noisy=9)
    note(fetches, A, noisy=1)
    note(fetches, "c.example", quiet=300)
    # The average over all is too low now: only what a host has taught itself can be enough.
    assert [fetches.is_worthwhile(host) for host in (A, B)] == [True, False]
