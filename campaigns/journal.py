"""What the clients did and what they were told: every attempt of every operation, with times.

It is kept outside the service and its database, and held against them at the end.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, TextIO

Outcome = Literal["ok", "refused", "unknown"]

# Refusals that say no more than "not now"; every other refusal has no place in this load.
NOT_NOW = {
    "service_unavailable",
    "idempotency_unavailable",
    "idempotency_in_progress",
    "payment_in_progress",
    "payment_conflict",
    "authorization_unavailable",
}


def outcome_of(status: int | None) -> Outcome:
    """No answer at all is as good as a 500: what came of the request is not known."""
    if status is None or status in (500, 502, 504):
        return "unknown"
    return "ok" if status < 300 else "refused"


@dataclass(slots=True)
class Attempt:
    node: str
    began: float
    ended: float
    status: int | None  # None: the connection failed or the client lost patience
    code: str | None = None
    payment_id: str | None = None  # what the answer shows
    state: str | None = None
    retry_after: bool = False
    replayed: bool = False  # it was the response saved under the key

    @property
    def outcome(self) -> Outcome:
        return outcome_of(self.status)

    @property
    def seconds(self) -> float:
        return self.ended - self.began


@dataclass(slots=True)
class Operation:
    kind: str  # what is asked for, as the campaign calls it
    merchant: str
    reference: str  # of what it creates; for the others, of what they are about
    amount: int = 0
    payment_id: str | None = None  # what an operation that creates nothing is about
    key: str | None = None  # its Idempotency-Key
    authorization_id: str | None = None  # what a charge is made with
    expected_state: str | None = None  # of a read: what had been acknowledged before
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def acknowledged(self) -> Attempt | None:
        return next((each for each in self.attempts if each.outcome == "ok"), None)

    @property
    def was_in_doubt(self) -> bool:
        return any(each.outcome == "unknown" for each in self.attempts)

    @property
    def was_refused(self) -> bool:
        """Nothing may have come of it: every attempt was refused, none is in doubt."""
        return bool(self.attempts) and all(each.outcome == "refused" for each in self.attempts)


class Journal:
    """The operations, in memory for the checker and line by line in a file for people."""

    def __init__(self, file: Path) -> None:
        self.operations: list[Operation] = []
        self._file: TextIO = file.open("w")

    def begin(self, operation: Operation) -> Operation:
        self.operations.append(operation)
        return operation

    def record(self, operation: Operation, attempt: Attempt) -> None:
        operation.attempts.append(attempt)
        line = {
            "kind": operation.kind,
            "merchant": operation.merchant,
            "reference": operation.reference,
            "amount": operation.amount,
            **asdict(attempt),
            "outcome": attempt.outcome,
        }
        self._file.write(json.dumps(line) + "\n")

    def attempts(self, since: float, until: float) -> Iterator[tuple[Operation, Attempt]]:
        """Those that were under way at any time in between."""
        for operation in self.operations:
            for attempt in operation.attempts:
                if attempt.ended >= since and attempt.began <= until:
                    yield operation, attempt

    def close(self) -> None:
        self._file.close()
