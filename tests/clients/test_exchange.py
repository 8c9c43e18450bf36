"""What is sent again and when: the rules, without a network."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from laari_client import ConnectionFailedError, _transport, errors
from laari_client import _operations as ops
from laari_client._call import Call, Operation
from laari_client._client import DEADLINE_SECONDS, MAX_ATTEMPTS, TIMEOUT_SECONDS
from laari_client._exchange import (
    Authenticate,
    Failure,
    Policy,
    Proof,
    Refused,
    Reply,
    Result,
    Send,
    Wait,
    exchange,
    judge,
    pause,
    read_error,
)

PAY = ops.CREATE_PAYMENT
CLOCK = ops.SANDBOX_MOVE_CLOCK
ORIGIN = "http://127.0.0.1:8000"
POLICY = Policy(timeout=5, deadline=30, max_attempts=4)


def reply(status: int, code: str = "", **headers: str) -> Reply:
    body = f'{{"error": {{"code": "{code}", "message": "No."}}}}' if code else "<html>"
    return Reply(status, {k.replace("_", "-"): v for k, v in headers.items()}, body.encode())


ALWAYS = [
    reply(429, "rate_limited"),
    reply(429),
    reply(408, "invalid_request"),
    reply(503, "service_unavailable"),
    Failure("refused", begun=False),
]
WHERE_REPEATABLE = [
    reply(500, "internal_error"),
    reply(502),
    reply(503),
    reply(504),
    reply(503, "idempotency_unavailable"),
    reply(409, "idempotency_in_progress"),
    reply(409, "payment_in_progress"),
    Failure("reset"),
    Failure("slow", timed_out=True),
    reply(200),
    Reply(201, {}, b'{"data": {"id"'),
    Reply(200, {}, b"[]"),
]
NEVER = [
    reply(400, "invalid_request"),
    reply(401, "unauthorized"),
    reply(402),
    reply(403),
    reply(404, "not_found"),
    reply(409, "reference_conflict"),
    reply(409),
    reply(422),
    reply(501, "not_implemented"),
    reply(302),
    reply(304),
    Failure("certificate", begun=False, lasting=True),
]


def again(operation: Operation, outcome: Reply | Failure) -> bool:
    verdict = judge(operation, outcome, ORIGIN)
    assert isinstance(verdict, Refused)
    return verdict.retry


def test_nothing_begun_is_sent_again_whatever_it_is() -> None:
    assert [again(PAY, each) for each in ALWAYS] == [True] * len(ALWAYS)
    assert [again(CLOCK, each) for each in ALWAYS] == [True] * len(ALWAYS)


def test_an_unknown_outcome_is_sent_again_only_where_that_is_safe() -> None:
    assert [again(PAY, each) for each in WHERE_REPEATABLE] == [True] * len(WHERE_REPEATABLE)
    assert [again(CLOCK, each) for each in WHERE_REPEATABLE] == [False] * len(WHERE_REPEATABLE)


def test_a_refusal_is_not_sent_again() -> None:
    assert [again(PAY, each) for each in NEVER] == [False] * len(NEVER)


def test_everything_but_controls_is_repeatable() -> None:
    operations = [each for each in vars(ops).values() if isinstance(each, Operation)]
    unsafe = {each.name for each in operations if not each.repeatable}
    assert unsafe == {
        each.name
        for each in operations
        if each.name.startswith("sandbox_") and each is not ops.SANDBOX_SET_WALLET
    }
    assert [each.name for each in operations if each.keyed] == [
        "create_payment",
        "refund_payment",
        "charge_authorization",
    ]


class Run:
    """Plays a client: gives each attempt its outcome and keeps what was asked for."""

    def __init__(self, *outcomes: Reply | Failure, policy: Policy = POLICY) -> None:
        self.waits: list[float] = []
        self.sent: list[Send] = []
        self.refused: list[str | None] = []
        self.outcomes = list(outcomes)
        self.policy = policy
        self.token: str | None = None

    def __call__(self, call: Call) -> Result:
        steps = exchange(call.prepared(), self.policy, ORIGIN)
        done = None
        try:
            while True:
                step = steps.send(done)
                done = None
                if isinstance(step, Authenticate):
                    self.refused.append(step.refused)
                    done = Proof((), self.token and f"{self.token}{len(self.refused)}")
                elif isinstance(step, Send):
                    self.sent.append(step)
                    done = self.outcomes.pop(0)
                else:
                    assert isinstance(step, Wait)
                    self.waits.append(step.seconds)
        except StopIteration as end:
            return end.value


GOOD = Reply(201, {"request-id": "r-1"}, b'{"data": {}}')
CREATE = Call(PAY, body={"reference": "p-1", "amount": 100})


def test_every_attempt_is_the_same_request() -> None:
    run = Run(Failure("reset"), reply(503), GOOD)
    assert run(CREATE).request_id == "r-1"
    assert len({each.prepared for each in run.sent}) == 1
    keys = [dict(each.prepared.headers)["Idempotency-Key"] for each in run.sent]
    assert len(keys) == 3
    assert len({*keys}) == 1
    assert dict(CREATE.prepared().headers)["Idempotency-Key"] not in keys  # another call's


def test_attempts_come_to_an_end() -> None:
    run = Run(*[reply(503)] * 9)
    with pytest.raises(errors.ServerError):
        run(CREATE)
    assert (len(run.sent), len(run.waits)) == (4, 3)


def test_a_service_that_is_down_is_named_within_the_time_that_is_told() -> None:
    """clients/python/README.md: 12 to 24 seconds with the defaults."""
    policy = Policy(TIMEOUT_SECONDS, DEADLINE_SECONDS, MAX_ATTEMPTS)
    down = Run(*[Failure("ConnectError: refused", begun=False)] * MAX_ATTEMPTS, policy=policy)
    with pytest.raises(ConnectionFailedError, match=f"{ORIGIN}: ConnectError: refused") as failed:
        down(Call(PAY, body={}))
    assert "Is it running?" in str(failed.value)
    assert len(down.sent) == MAX_ATTEMPTS
    longest = [0.25, 0.5, 1, 2, 4, 8, 8]
    assert all(most / 2 <= wait <= most for wait, most in zip(down.waits, longest, strict=True))
    assert (int(sum(longest) / 2) + 1, int(sum(longest)) + 1) == (12, 24)


@pytest.mark.parametrize("failure", [Failure("reset"), Failure("late", timed_out=True)])
def test_no_answer_names_the_address(failure: Failure) -> None:
    verdict = judge(PAY, failure, ORIGIN)
    assert isinstance(verdict, Refused)
    assert ORIGIN in str(verdict.error)


def test_the_steps_of_an_attempt_share_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(_transport.time, "monotonic", lambda: now[0])
    left = _transport.TimeLeft(115.0, https=False)
    assert dict(left) == dict.fromkeys(("connect", "read", "write", "pool"), 15.0)
    now[0] = 112.0  # connecting took that long
    assert left.get("read") == 3.0
    assert _transport.TimeLeft(115.0, https=True).get("connect") == 1.5  # and 1.5 for TLS


def test_waits_grow_are_spread_and_have_a_ceiling() -> None:
    for attempt, (low, high) in enumerate([(0.125, 0.25), (0.25, 0.5), (0.5, 1), (1, 2)], 1):
        waits = [pause(attempt, None) for _ in range(200)]
        assert low <= min(waits) < max(waits) <= high
        assert len({*waits}) > 100
    assert max(pause(500, None) for _ in range(50)) <= 8


def test_the_service_says_how_long_to_wait() -> None:
    assert all(3 < pause(1, 3.0) <= 3.25 for _ in range(50))
    assert pause(1, 0.0) > 0.1
    assert read_error(reply(429, "rate_limited", retry_after="7")).retry_after == 7
    in_a_minute = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    told = read_error(reply(503, retry_after=in_a_minute)).retry_after
    assert told is not None
    assert 55 < told <= 60
    for nonsense in ("", "soon", "-5", "1e9", "\u0663", "9" * 400, "Wed, 99 Foo 2026 25:00:00 GMT"):
        told = read_error(reply(503, retry_after=nonsense)).retry_after
        assert told is None or told > 1e9


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    run = Run(reply(429, "rate_limited", retry_after="31"), GOOD)
    with pytest.raises(errors.RateLimitedError):
        run(CREATE)
    assert run.waits == []


def test_a_refused_token_is_replaced_once_and_costs_no_attempt() -> None:
    one = Policy(timeout=5, deadline=30, max_attempts=1)
    run = Run(reply(401, "unauthorized"), GOOD, policy=one)
    run.token = "at_"
    run(CREATE)
    assert run.refused == [None, "at_1"]
    run = Run(reply(401, "unauthorized"), reply(401, "unauthorized"), policy=one)
    run.token = "at_"
    with pytest.raises(errors.UnauthorizedError):
        run(CREATE)
    run = Run(reply(401, "unauthorized"))  # a key cannot be renewed
    with pytest.raises(errors.UnauthorizedError):
        run(CREATE)


def test_errors_in_the_services_three_shapes() -> None:
    token = Reply(400, {}, b'{"error": "invalid_scope", "error_description": "Not yours."}')
    assert type(read_error(token)) is errors.InvalidScopeError
    assert read_error(token).message == "Not yours."
    wallet = b'{"success": false, "error": {"code": "invalid_pagination", "message": "No."}}'
    assert type(read_error(Reply(400, {}, wallet))) is errors.InvalidPaginationError
    for odd in (
        b"",
        b"null",
        b"[]",
        b'{"error": 5}',
        b'{"error": {"code": 5}}',
        b"\xff",
        b"[" * 9999,
    ):
        assert read_error(Reply(418, {}, odd)).code == "http_418"
