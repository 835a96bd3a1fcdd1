"""Hosts in trouble are left alone, longer each time, and forgiven at the first answer."""

import pytest

from recrawl.records import Answer
from recrawl.service.health import LONGEST_REST, Health

URL = "https://example.org/"
REFUSED = Answer(URL, 0, at=0, error="no connection")
BUSY = Answer(URL, 503, at=0, error="the server answered 503")
TOO_MANY = Answer(URL, 429, at=0, error="the server answered 429")
FINE = Answer(URL, 200, at=0)
MISSING = Answer(URL, 404, at=0)


@pytest.mark.parametrize("failure", [REFUSED, BUSY])
def test_rest_doubles_from_the_third_failure_and_has_an_end(failure: Answer) -> None:
    health = Health()
    rests = [health.rest("a", failure) for _ in range(20)]
    assert rests[:5] == [0.0, 0.0, 30.0, 60.0, 120.0]
    assert rests[-1] == LONGEST_REST


def test_too_many_requests_are_believed_at_once() -> None:
    assert Health().rest("a", TOO_MANY) == 30.0


def test_what_a_server_asks_for_is_granted() -> None:
    asked = Answer(URL, 429, at=0, error="the server answered 429", retry_after=7.0)
    assert Health().rest("a", asked) == 7.0


@pytest.mark.parametrize("answer", [FINE, MISSING])
def test_an_answer_ends_the_trouble(answer: Answer) -> None:
    health = Health()
    for _ in range(5):
        health.rest("a", REFUSED)
    assert health.rest("a", answer) == 0.0
    assert health.rest("a", REFUSED) == 0.0


def test_hosts_are_told_apart_and_rules_of_ours_are_not_their_fault() -> None:
    health = Health()
    refused_by_us = Answer(URL, 0, at=0, error="robots.txt forbids it", permanent=True)
    assert [health.rest("a", refused_by_us) for _ in range(5)] == [0.0] * 5
    for _ in range(2):
        health.rest("a", REFUSED)
    assert health.rest("b", REFUSED) == 0.0


def test_heavy_pages_give_their_host_a_rest() -> None:
    light, heavy = (Answer(URL, 200, at=0, body=bytes(size)) for size in (1_000_000, 5_000_000))
    assert (Health().rest("a", light), Health().rest("a", heavy)) == (0.0, 5.0)
