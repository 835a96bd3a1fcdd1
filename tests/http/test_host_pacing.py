"""When a host may be asked, and for how long it is left alone: no clock, no network."""

import pytest

from recrawl.http.host_pacing import (
    MAX_BACKOFF,
    TOO_EXPENSIVE,
    TOO_MANY_PAUSE,
    TOO_SLOW,
    HostPacing,
)
from recrawl.records import Response

URL = "https://example.org/"
REFUSED = Response(URL, 0, at=0, error="no connection")
BUSY = Response(URL, 503, at=0, error="the server answered 503")
TOO_MANY = Response(URL, 429, at=0, error="the server answered 429")
FINE = Response(URL, 200, at=0)
MISSING = Response(URL, 404, at=0)
FORBIDDEN = Response(URL, 0, at=0, error="robots.txt forbids it", permanent=True)


def test_the_delay_lies_between_the_end_of_a_request_and_the_next_start() -> None:
    pacing = HostPacing(2.0, host_connections=4)
    assert pacing.may_request("a", 0.0)
    pacing.start_request("a")
    assert not pacing.may_request("a", 100.0)
    pacing.end_request("a", 100.0)
    assert [pacing.may_request("a", now) for now in (100.0, 101.9, 102.0)] == [False, False, True]
    assert pacing.may_request("b", 0.0)


def test_without_a_delay_a_host_has_as_many_requests_as_connections() -> None:
    pacing = HostPacing(0.0, host_connections=2)
    pacing.start_request("a")
    assert pacing.may_request("a", 0.0)
    pacing.start_request("a")
    assert not pacing.may_request("a", 0.0)
    pacing.end_request("a", 1.0)
    assert pacing.may_request("a", 1.0)


def test_robots_txt_can_only_raise_the_delay() -> None:
    pacing = HostPacing(1.0)
    for asked, delay in ((5.0, 5.0), (0.1, 1.0), (0.0, 1.0), (2.0, 2.0)):
        pacing.set_delay("a", asked)
        assert pacing.delay_of("a") == delay
    assert pacing.delay_of("b") == 1.0


def test_a_retry_after_closes_the_host_and_a_longer_one_stands() -> None:
    pacing = HostPacing(0.0)
    assert pacing.close_host("a", 503, 60.0, now=10.0) == 60.0
    assert pacing.close_host("a", 503, 5.0, now=10.0) == 5.0
    assert pacing.opens_at("a") == 70.0
    assert [pacing.may_request("a", now) for now in (69.9, 70.0)] == [False, True]


def test_429_closes_the_host_even_without_a_retry_after_and_503_does_not() -> None:
    pacing = HostPacing(0.0)
    assert pacing.close_host("a", 503, None, now=10.0) is None
    assert pacing.may_request("a", 10.0)
    assert pacing.close_host("a", 429, None, now=10.0) == TOO_MANY_PAUSE
    assert pacing.opens_at("a") == 10.0 + TOO_MANY_PAUSE


@pytest.mark.parametrize("failure", [REFUSED, BUSY])
def test_backoff_doubles_from_the_third_failure_and_has_a_maximum(failure: Response) -> None:
    pacing = HostPacing()
    pauses = [pacing.backoff("a", failure) for _ in range(2_000)]
    assert pauses[:5] == [0.0, 0.0, 30.0, 60.0, 120.0]
    assert pauses[-1] == MAX_BACKOFF


def test_too_many_requests_are_believed_at_once() -> None:
    pacing = HostPacing()
    assert [pacing.backoff("a", TOO_MANY) for _ in range(3)] == [30.0, 60.0, 120.0]


@pytest.mark.parametrize("status", [429, 503])
def test_a_retry_after_that_is_too_short_is_not_believed_for_ever(status: int) -> None:
    pacing = HostPacing()
    at_once = Response(URL, status, at=0, retry_after=0.0)
    assert [pacing.backoff("a", at_once) for _ in range(5)] == [0.0, 0.0, 30.0, 60.0, 120.0]


def test_what_a_server_asks_for_is_granted() -> None:
    asked = Response(URL, 429, at=0, error="the server answered 429", retry_after=7.0)
    assert HostPacing().backoff("a", asked) == 7.0


@pytest.mark.parametrize("answer", [FINE, MISSING])
def test_an_answer_ends_the_trouble(answer: Response) -> None:
    pacing = HostPacing()
    for _ in range(5):
        pacing.backoff("a", REFUSED)
    assert pacing.backoff("a", answer) == 0.0
    assert pacing.backoff("a", REFUSED) == 0.0


def test_hosts_are_kept_apart_and_what_we_refuse_is_not_their_fault() -> None:
    pacing = HostPacing()
    assert [pacing.backoff("a", FORBIDDEN) for _ in range(5)] == [0.0] * 5
    for _ in range(2):
        pacing.backoff("a", REFUSED)
    assert pacing.backoff("b", REFUSED) == 0.0


def test_heavy_pages_pause_their_host() -> None:
    light, heavy = (Response(URL, 200, at=0, body=bytes(size)) for size in (1_000_000, 5_000_000))
    pacing = HostPacing()
    assert (pacing.backoff("a", light), pacing.backoff("a", heavy)) == (0.0, 5.0)
    # What was received counts even if nothing came of it, as with a gzip header without end.
    nothing = Response(URL, 200, at=0, body=b"", transferred=5_000_000)
    assert pacing.backoff("a", nothing) == 5.0


def test_hosts_with_very_long_pages_share_half_of_the_connections() -> None:
    """Their visits may have to wait for memory, and must not take all connections meanwhile."""
    pacing = HostPacing(connections=2)
    for host in ("a", "b"):
        pacing.backoff(host, Response(URL, 200, at=0, body=bytes(1_000_001)))
    pacing.start_visit("a")
    assert pacing.is_held_back("b")
    pacing.backoff("b", Response(URL, 200, at=0, body=bytes(1_000_000)))
    assert not pacing.is_held_back("b")


def test_half_of_the_connections_are_for_suspects() -> None:
    pacing = HostPacing(0.0, host_connections=1, connections=4)
    for host in "abc":
        pacing.backoff(host, REFUSED)
        assert not pacing.is_held_back(host)
    pacing.start_visit("a")
    assert pacing.free_suspects == 1
    pacing.start_visit("b")
    assert pacing.is_held_back("c")
    assert not pacing.is_held_back("unknown")
    pacing.backoff("a", FINE)
    assert not pacing.is_held_back("c")


def test_a_host_that_becomes_a_suspect_counts_with_all_its_visits() -> None:
    pacing = HostPacing(0.0, host_connections=4, connections=8)
    for _ in range(3):
        pacing.start_visit("a")
    assert pacing.free_suspects == 4
    pacing.end_visit("a")
    pacing.backoff("a", REFUSED)
    pacing.backoff("a", REFUSED)
    assert pacing.free_suspects == 2
    pacing.end_visit("a")
    assert pacing.free_suspects == 3


@pytest.mark.parametrize("answer", [FINE, BUSY, FORBIDDEN])
def test_whoever_answers_is_no_suspect(answer: Response) -> None:
    pacing = HostPacing(0.0, connections=2)
    pacing.backoff("a", REFUSED)
    pacing.start_visit("a")
    assert pacing.free_suspects == 0
    pacing.backoff("a", answer)
    assert pacing.free_suspects == 1


def test_a_host_has_as_many_visits_as_connections() -> None:
    pacing = HostPacing(5.0, host_connections=2)
    for expected in (True, True, False):
        assert pacing.has_free_visit("a") is expected
        pacing.start_visit("a")


def test_hosts_in_trouble_are_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recrawl.http.host_pacing.MAX_HOSTS", 3)
    pacing = HostPacing(1.0)
    for host, response in (("failing", BUSY), ("suspect", REFUSED)):
        pacing.start_request(host)
        pacing.end_request(host, 0.0)
        pacing.backoff(host, response)
    pacing.start_visit("visited")
    for number in range(50):
        pacing.start_request(str(number))
        pacing.end_request(str(number), 2.0 * number)
    assert len(pacing) <= 8
    assert [pacing.backoff("failing", BUSY) for _ in range(2)] == [0.0, 30.0]
    assert pacing.free_suspects == 1
    pacing.end_visit("visited")


def test_hosts_in_trouble_are_forgotten_after_the_longest_backoff(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("recrawl.http.host_pacing.MAX_HOSTS", 3)
    pacing = HostPacing(1.0)
    for number in range(50):
        pacing.start_request(str(number))
        pacing.end_request(str(number), 3_700.0 * number)
        pacing.backoff(str(number), REFUSED)
    assert len(pacing) <= 8


def test_whoever_takes_what_others_need_is_left_alone_at_once() -> None:
    for error in (TOO_EXPENSIVE, TOO_SLOW):
        pacing = HostPacing(0.0, connections=2)
        blamed = Response(URL, 200, at=0, error=error)
        assert [pacing.backoff("a", blamed) for _ in range(3)] == [30.0, 60.0, 120.0]
        pacing.start_visit("a")
        assert pacing.is_held_back("a")
        assert pacing.backoff("a", FINE) == 0.0


def test_a_plain_server_error_is_a_failure_and_no_body_is_not_heavy() -> None:
    pacing = HostPacing()
    broken = Response(URL, 500, at=0, error="the server answered 500")
    assert [pacing.backoff("a", broken) for _ in range(3)] == [0.0, 0.0, 30.0]
    assert pacing.backoff("a", FINE) == 0.0


def test_by_default_a_host_has_one_request_a_second_and_one_visit() -> None:
    pacing = HostPacing()
    assert pacing.delay_of("a") == 1.0
    pacing.start_visit("a")
    assert not pacing.has_free_visit("a")
    assert HostPacing(0.0, 3).free_suspects == 1


def test_a_delay_of_robots_txt_that_is_the_usual_one_needs_no_memory() -> None:
    pacing = HostPacing(2.0)
    pacing.set_delay("a", 2.0)
    assert len(pacing) == 0
    pacing.set_delay("a", 2.5)
    assert len(pacing) == 1


def test_idle_hosts_are_forgotten_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recrawl.http.host_pacing.MAX_HOSTS", 4)
    pacing = HostPacing(1.0)

    def request(*hosts: str, at: float) -> None:
        for host in hosts:
            pacing.start_request(host)
            pacing.end_request(host, at)

    request("a", "b", "c", "d", at=10.0)
    assert len(pacing) == 4
    # Their delay is just over, and that of the fifth is not.
    request("e", at=11.0)
    assert len(pacing) == 1
    # None may be forgotten: they are next looked at when there are twice as many.
    request(*"fghi", at=11.5)
    assert len(pacing) == 5
    request(*"jklmn", at=99.0)
    assert len(pacing) == 10
    request("o", at=100.0)
    assert len(pacing) == 1
