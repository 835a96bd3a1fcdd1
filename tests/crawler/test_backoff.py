"""Hosts in trouble are left alone, longer each time, and forgiven at the first answer."""

import pytest

from recrawl.crawler.backoff import LONGEST_REST, Backoff
from recrawl.records import Response

URL = "https://example.org/"
REFUSED = Response(URL, 0, at=0, error="no connection")
BUSY = Response(URL, 503, at=0, error="the server answered 503")
TOO_MANY = Response(URL, 429, at=0, error="the server answered 429")
FINE = Response(URL, 200, at=0)
MISSING = Response(URL, 404, at=0)


@pytest.mark.parametrize("failure", [REFUSED, BUSY])
def test_rest_doubles_from_the_third_failure_and_has_an_end(failure: Response) -> None:
    health = Backoff()
    rests = [health.rest("a", failure) for _ in range(20)]
    assert rests[:5] == [0.0, 0.0, 30.0, 60.0, 120.0]
    assert rests[-1] == LONGEST_REST


def test_too_many_requests_are_believed_at_once() -> None:
    assert Backoff().rest("a", TOO_MANY) == 30.0


def test_what_a_server_asks_for_is_granted() -> None:
    asked = Response(URL, 429, at=0, error="the server answered 429", retry_after=7.0)
    assert Backoff().rest("a", asked) == 7.0


@pytest.mark.parametrize("answer", [FINE, MISSING])
def test_an_answer_ends_the_trouble(answer: Response) -> None:
    health = Backoff()
    for _ in range(5):
        health.rest("a", REFUSED)
    assert health.rest("a", answer) == 0.0
    assert health.rest("a", REFUSED) == 0.0


def test_hosts_are_told_apart_and_rules_of_ours_are_not_their_fault() -> None:
    health = Backoff()
    refused_by_us = Response(URL, 0, at=0, error="robots.txt forbids it", permanent=True)
    assert [health.rest("a", refused_by_us) for _ in range(5)] == [0.0] * 5
    for _ in range(2):
        health.rest("a", REFUSED)
    assert health.rest("b", REFUSED) == 0.0


def test_heavy_pages_give_their_host_a_rest() -> None:
    light, heavy = (Response(URL, 200, at=0, body=bytes(size)) for size in (1_000_000, 5_000_000))
    assert (Backoff().rest("a", light), Backoff().rest("a", heavy)) == (0.0, 5.0)
