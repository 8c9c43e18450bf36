"""Access tokens: renewed in time, by one for all, and kept where a renewal fails."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from laari_client import InvalidResponseError, LaariError, RequestTimeoutError
from laari_client._tokens import AsyncTokens, Token, Tokens, read_token


class Office:
    """Issues tokens, and counts them."""

    def __init__(self, life: float = 3600, renew_after: float = 3000, seconds: float = 0) -> None:
        self.issued = 0
        self.life, self.renew_after, self.seconds = life, renew_after, seconds
        self.fails = False

    def make(self) -> Token:
        self.issued += 1
        if self.fails:
            raise LaariError("away", code="connection_failed")
        now = time.monotonic()
        return Token(f"at_{self.issued}", now + self.renew_after, now + self.life)

    def fetch(self, timeout: float) -> Token:
        time.sleep(self.seconds)
        return self.make()

    async def afetch(self, timeout: float) -> Token:
        await asyncio.sleep(self.seconds)
        return self.make()


def test_threads_share_one_request() -> None:
    office = Office(seconds=0.1)
    tokens = Tokens(office.fetch)
    gate = threading.Barrier(20)

    def ask(_: int) -> str | None:
        gate.wait()
        return tokens.get(None, 5).token

    with ThreadPoolExecutor(20) as pool:
        assert {*pool.map(ask, range(20))} == {"at_1"}
        assert {*pool.map(lambda _: tokens.get("at_1", 5).token, range(20))} == {"at_2"}
    assert office.issued == 2


async def test_tasks_share_one_request() -> None:
    office = Office(seconds=0.05)
    tokens = AsyncTokens(office.afetch)
    got = await asyncio.gather(*(tokens.get(None, 5) for _ in range(20)))
    assert {each.token for each in got} == {"at_1"}
    got = await asyncio.gather(*(tokens.get("at_1", 5) for _ in range(20)))
    assert {each.token for each in got} == {"at_2"}
    assert office.issued == 2


async def test_a_caller_that_is_cancelled_takes_nothing_from_the_others() -> None:
    office = Office(seconds=0.1)
    tokens = AsyncTokens(office.afetch)
    first = asyncio.ensure_future(tokens.get(None, 5))
    second = asyncio.ensure_future(tokens.get(None, 5))
    await asyncio.sleep(0.02)
    first.cancel()
    assert (await second).token == "at_1"
    assert office.issued == 1


def test_those_who_wait_share_the_failure() -> None:
    office = Office(seconds=0.2)
    office.fails = True
    tokens = Tokens(office.fetch)

    def ask(_: int) -> str:
        try:
            return str(tokens.get(None, 5).token)
        except LaariError as error:
            return error.code

    with ThreadPoolExecutor(8) as pool:
        assert {*pool.map(ask, range(8))} == {"connection_failed"}
    assert office.issued == 1
    office.fails = False
    assert tokens.get(None, 5).token == "at_2"


def test_an_interrupted_request_leaves_nobody_waiting() -> None:
    class Interrupted(BaseException):
        pass

    def fetch(timeout: float) -> Token:
        raise Interrupted

    tokens = Tokens(fetch)
    for _ in range(2):
        with pytest.raises(Interrupted):
            tokens.get(None, 5)


def test_nobody_waits_longer_than_the_call_may_take() -> None:
    office = Office(seconds=0.5)
    tokens = Tokens(office.fetch)
    with ThreadPoolExecutor(1) as pool:
        leading = pool.submit(tokens.get, None, 5)
        time.sleep(0.1)
        with pytest.raises(RequestTimeoutError):
            tokens.get(None, 0.05)
        assert leading.result().token == "at_1"


def test_a_token_is_renewed_before_it_expires() -> None:
    office = Office(renew_after=0.05)
    tokens = Tokens(office.fetch)
    assert tokens.get(None, 5).token == "at_1"
    time.sleep(0.06)
    assert tokens.get(None, 5).token == "at_2"


async def test_a_renewal_that_fails_leaves_the_old_token_while_it_is_good() -> None:
    for tokens, office in ((Tokens, Office(renew_after=0)), (AsyncTokens, Office(renew_after=0))):
        if tokens is Tokens:
            kept = Tokens(office.fetch)

            async def get(refused: str | None, kept: Tokens = kept) -> str | None:
                return kept.get(refused, 5).token
        else:
            akept = AsyncTokens(office.afetch)
            akept._token = office.make()

            async def get(refused: str | None, kept: AsyncTokens = akept) -> str | None:
                return (await kept.get(refused, 5)).token

        if tokens is Tokens:
            assert await get(None) == "at_1"
        office.fails = True
        assert await get(None) == "at_1"
        assert await get(None) == "at_1"
        assert office.issued == 2  # and it is not asked for each time
        with pytest.raises(LaariError):
            await get("at_1")


def test_what_is_no_token_is_refused() -> None:
    good = {"access_token": "at_1", "token_type": "Bearer", "expires_in": 86400, "scope": None}
    assert read_token(good, 1000.0).renew_at == 1000 + 86400 - 60
    assert read_token({**good, "expires_in": 100}, 0.0).renew_at == 90
    for wrong in (None, [], {}, {"access_token": "at"}, {**good, "access_token": "a\nb"}):
        with pytest.raises(InvalidResponseError):
            read_token(wrong, 0.0)
    assert "at_1" not in repr(read_token(good, 0.0))
