"""Our server against h11 and llhttp: what it takes for a request is what they take for one.

A proxy in front reads a request with a parser of its own. Where ours found another end of a body or
another number of requests, one client could speak in the name of another. So whatever we accept, at
least one of the two reads exactly as we do, and where the other one does not, `LENIENT` says why.
`STRICT` says why we refuse what both accept.
"""

import os
import secrets
import time
from collections import Counter
from random import Random
from typing import NamedTuple

import pytest

from tests.http.server.hostile import case, pieces
from tests.http.server.peers import CLOSED, OPEN, Reading, Seen, read_h11, read_llhttp, read_ours

SHORT, LONG = 4_000, int(os.environ.get("LAARI_HTTP_CASES", "1000000"))

# How llhttp ends where we accept a request, and why that is meant. h11 reads all of these as we do.
LENIENT = {
    "Invalid HTTP version": "HTTP/1.2 and later are spoken to as HTTP/1.1 (RFC 9110, 2.5)",
    "Invalid method encountered": "every token is a method; unknown ones are 405",
    "Expected space after method": "every token is a method; unknown ones are 405",
    "Expected HTTP/2 Connection Preface": "PRI is a method as any other",
    "Invalid character in chunk extensions": "extensions are dropped, whatever they hold",
    "Invalid character in chunk extensions name": "extensions are dropped, whatever they hold",
    "Invalid character in chunk extensions value": "extensions are dropped, whatever they hold",
    "Invalid character in chunk extensions quoted value": "extensions are dropped, as above",
    "Invalid character in chunk extensions quote value": "extensions are dropped, as above",
}
# Our refusals where both others accept.
STRICT = {
    "Exactly one valid Host is required.": "routing by a name that is none, or by one of two",
    "Host and the request target differ.": "a proxy may go by the other one",
    "The request target is malformed.": "only a path and an http URL mean something here",
    "This server speaks HTTP/1.1 and is not a proxy.": "HTTP/0.9 and HTTP/2.0 have other forms, "
    "and what follows CONNECT is a tunnel",
    "HTTP/1.0 has no Transfer-Encoding.": "an HTTP/1.0 proxy sees no chunks",
    "The size of a chunk is malformed.": "a size with spaces or more than eight digits",
    "A trailer field is malformed.": "llhttp reads no body after Upgrade, h11 takes bare newlines",
    "A line of the body does not end in CRLF.": "likewise",
    "Lines must end in CRLF.": "likewise",
    CLOSED: "HTTP/1.0 is closed after its response, also with keep-alive",
}


class Case(NamedTuple):
    data: bytes
    ours: Reading
    h11: Reading
    llhttp: Reading


def read(data: bytes) -> Case:
    return Case(data, read_ours([data]), read_h11(data), read_llhttp(data))


def problem(found: Case) -> str | None:
    """What is wrong with our reading, by those of the others."""
    for number, request in enumerate(found.ours.requests):
        h11, llhttp = (_agrees(request, number, each) for each in (found.h11, found.llhttp))
        if not h11:  # it is the stricter one about lengths and never the only one to refuse
            return f"h11 does not read request {number + 1} as we do"
        if not llhttp:
            if not _is_lenient(found, number):
                return f"llhttp does not read request {number + 1} as we do"
            return None  # and it has no opinion about what follows
    count = len(found.ours.requests)
    both = min(len(found.h11.requests), len(found.llhttp.requests))
    if both > count and found.ours.end not in STRICT:
        return f"both others read request {count + 1}; ours: {found.ours.end}"
    return None


def _agrees(request: Seen, number: int, other: Reading) -> bool:
    return len(other.requests) > number and other.requests[number] == request


def _is_lenient(found: Case, number: int) -> bool:
    """Whether llhttp, and not h11, has another opinion for a reason that is known."""
    request, llhttp = found.ours.requests[number], found.llhttp
    if len(llhttp.requests) > number:  # it leaves the body to the protocol that is offered
        names = dict(request.fields)
        return (
            b"upgrade" in names and llhttp.requests[number]._replace(body=request.body) == request
        )
    if llhttp.end == CLOSED:  # by a field of no standard, or since an upgrade was offered
        before = dict(found.ours.requests[number - 1].fields) if number else {}
        return b"proxy-connection" in before or b"upgrade" in before
    return llhttp.end in LENIENT


@pytest.mark.parametrize(
    "cases",
    [
        pytest.param(SHORT, id="short"),
        pytest.param(LONG, marks=pytest.mark.campaign, id="long"),
    ],
)
def test_what_we_accept_others_read_the_same(
    cases: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The short form takes the same way each time; the long form takes a new one."""
    fresh = 1 if cases == SHORT else secrets.randbits(32)
    seed = int(os.environ.get("LAARI_HTTP_SEED", fresh))
    random, seen, began = Random(seed), Counter[str](), time.monotonic()
    for number in range(cases):
        found = read(case(random))
        cut = read_ours(pieces(random, found.data))
        again = f"case {number} of LAARI_HTTP_SEED={seed} LAARI_HTTP_CASES={LONG}: {found.data!r}"
        assert (cut.requests, cut.is_refusal) == (found.ours.requests, found.ours.is_refusal), again
        wrong = problem(found)
        assert wrong is None, f"{wrong}\n{found}\n{again}"
        seen["requests"] += len(found.ours.requests)
        seen["refused"] += found.ours.is_refusal
    # Neither nothing nor everything is refused: both say nothing about the reader.
    assert seen["requests"] > cases / 4
    assert seen["refused"] > cases / 10
    if cases != SHORT:
        with capsys.disabled():
            took = time.monotonic() - began
            print(f"\nhttp: {cases:,} cases, {took:.0f} s, {dict(seen)}, seed {seed}", flush=True)


HEAD = b"POST / HTTP/1.1\r\nHost: a\r\n"
AFTER = b"GET /b HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize(
    ("ours", "why"),
    [
        # As if ours had found this in the bytes below, where two requests stand.
        ([], None),
        ([Seen(b"POST", (b"/", b""), ((b"host", b"a"), (b"content-length", b"2")), b"ab")], None),
        ([Seen(b"POST", (b"/", b""), ((b"host", b"a"), (b"content-length", b"2")), b"a")], "h11"),
        ([Seen(b"POST", (b"/", b""), ((b"host", b"a"),), b"ab")], "h11"),
        ([Seen(b"PUT", (b"/", b""), ((b"host", b"a"), (b"content-length", b"2")), b"ab")], "h11"),
    ],
)
def test_a_difference_is_found(ours: list[Seen], why: str | None) -> None:
    found = read(HEAD + b"Content-Length: 2\r\n\r\nab" + AFTER)
    assert problem(found) is None
    assert len(found.ours.requests) == len(found.h11.requests) == len(found.llhttp.requests) == 2
    refused = found._replace(ours=Reading(ours, "This server speaks HTTP/1.1 and is not a proxy."))
    assert (problem(refused) or "").startswith(why or "")
    waiting = found._replace(ours=Reading(ours, OPEN))
    assert problem(waiting) is not None


def test_one_request_too_many_is_found() -> None:
    found = read(HEAD + b"\r\n")
    twice = found._replace(ours=Reading(found.ours.requests * 2, OPEN))
    assert problem(twice) == "h11 does not read request 2 as we do"
