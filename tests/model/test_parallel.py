"""Two to four calls at the same time, over two processes, fit some serial order of the model."""

import os
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from threading import Barrier

import pytest

from tests.model.case import Case
from tests.model.choices import Choices
from tests.model.driver import Driver, Reply, wait_for_a_quiet_hour
from tests.model.reference.service import OPERATIONS, apply
from tests.model.reference.state import Name
from tests.model.reference.steps import Call, Credential
from tests.model.reference.unknowns import id_of
from tests.model.serial import Sent, fit
from tests.model.worlds import World

SHORT_SEED = 7
SHORT_CASES, GROUPS_OF_A_CASE = 6, 12
STEPS = int(os.environ.get("LAARI_MODEL_PARALLEL_STEPS", "5000"))  # of the long form
MOST_AT_ONCE = 4
KEY = Credential()
BEFORE = 14  # calls one after the other, so that there is something to fight over

# What meets in one place when it comes at once. Clocks, modes and lists stay as they are
# meanwhile: a list is no single moment.
_WRITES = (
    *("charge",) * 8,
    "create_payment",
    "create_request",
    "create_authorization",
    "cancel_payment",
    "cancel_request",
    "cancel_authorization",
    "cancel_authorization",
    "get_payment",
    "get_request",
    "get_authorization",
    *("sandbox_pay_payment", "sandbox_pay_request", "sandbox_approve_authorization") * 3,
    *(name for name in OPERATIONS if name.startswith("sandbox_")),
    "set_wallet",
)


def related(choices: Choices, case: Case, first: Call, number: int) -> Call:
    """A call about the same thing as the first: the same again, or another about its subject."""
    if choices.sometimes(3):
        return replace(first, number=number)
    call = choices.call(case.state, number, choices.pick(_WRITES))
    same_noun = call.subject and first.subject and call.subject[0] == first.subject[0]
    if same_noun and first.merchant == call.merchant and not choices.sometimes(4):
        return replace(call, subject=first.subject)
    if call.body and first.body and "reference" in first.body and choices.sometimes(2):
        body = {**call.body, "reference": first.body["reference"]}
        return replace(call, body=body)
    return call


def choose_group(choices: Choices, case: Case) -> list[Call]:
    group = [choices.call(case.state, case.number, choices.pick(_WRITES))]
    for more in range(choices.pick((1, 1, 2, 3))):
        group.append(related(choices, case, group[0], case.number + 1 + more))
    return [call if choices.sometimes(8) else replace(call, credential=KEY) for call in group]


def run_group(case: Case, group: Sequence[Call], pool: ThreadPoolExecutor) -> None:
    wait_for_a_quiet_hour()
    for call in group:
        case.driver.prepare(call)
    together = Barrier(len(group))

    def send(place: int) -> Reply:
        together.wait()
        return case.driver.send(group[place], process=place % len(case.driver.processes))

    replies = list(pool.map(send, range(len(group))))
    sent = [Sent(call, reply) for call, reply in zip(group, replies, strict=True)]
    for call in readings(case, group):
        sent.append(Sent(call, case.driver.send(call, process=0)))
    case.calls += [one.call for one in sent]
    case.transcript.append(f"At once, {len(group)}:")
    for one in sent:
        case.note(one.call, one.reply)
    found, problems = fit(case.worlds, sent)
    case.keep(found, ["no serial order fits:\n" + "\n".join(problems)])
    learn_order(case, group)
    case.settle()


def readings(case: Case, group: Sequence[Call]) -> list[Call]:
    """What is read afterwards, and comes last in every order.

    Payments of one wallet may fit in either order, and so may decisions on pages, which show no
    JSON, or an authorization that is suspended and resumed; but they were made in one of them.
    """
    read = histories(case, group)
    calls_about = Counter(call.subject for call in group if call.subject)
    subjects = set()
    for call in group:
        number = group[-1].number + 1 + len(read)
        reading = case.reading_after(call, number)
        if reading is None and call.subject and calls_about[call.subject] > 1:
            reading = case.reading_of(call.subject, number)
        if reading is not None and reading.subject not in subjects:
            subjects.add(reading.subject)
            read.append(reading)
    return read


def histories(case: Case, group: Sequence[Call]) -> list[Call]:
    """The customers' histories."""
    merchants = {call.merchant for call in group}  # none where a customer acts, in live mode
    modes = {name: case.state.merchants[name].mode if name else "live" for name in merchants}
    wallets = [f"sandbox of {name}" for name, mode in modes.items() if mode == "sandbox"]
    if "live" in modes.values():
        wallets += case.driver.accounts.wallet_keys
    query = {"limit": 2 * MOST_AT_ONCE}
    first = group[-1].number + 1
    return [
        Call(number, "wallet_transactions", customer=wallet, query=query)
        for number, wallet in enumerate(wallets, first)
    ]


def learn_order(case: Case, group: Sequence[Call]) -> None:
    """In which order the service lists what was made at once: any is right, and stays so."""
    numbers = {call.number for call in group}
    for noun in ("payment", "payout", "request", "authorization"):
        made = [made_at_once(world, noun, numbers) for world in case.worlds]
        for merchant in case.driver.accounts.shops:
            if any(len(names.get(merchant, ())) > 1 for names in made):
                ids = listed_ids(case, merchant, noun)
                for world, names in zip(case.worlds, made, strict=True):
                    rank_as_listed(world, names.get(merchant, []), ids)


def made_at_once(world: World, noun: str, numbers: set[int]) -> dict[str, list[Name]]:
    """By merchant."""
    made: dict[str, list[Name]] = {}
    for name, row in getattr(world.state, f"{noun}s").items():
        if name[1] in numbers:
            made.setdefault(row.tenant.merchant, []).append(name)
    return made


def rank_as_listed(world: World, names: list[Name], ids: list[str]) -> None:
    names.sort(key=lambda name: -ids.index(world.bound.text(id_of(name))))
    world.state.ranks |= {name: rank for rank, name in enumerate(names)}


def listed_ids(case: Case, merchant: str, noun: str) -> list[str]:
    """The model cannot say in which order they come, but reading them does what it always does."""
    call = Call(case.number, f"list_{noun}s", merchant, query={"limit": 100})
    reply = case.driver.send(call, process=0)
    case.calls.append(call)
    case.note(call, reply)
    for world in case.worlds:
        apply(world.state, call, reply.start, reply.end)
    return [row["id"] for row in reply.body["data"]]


def run(driver: Driver, seed: int, cases: int) -> int:
    random, steps = Random(seed), 0
    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        for place in range(cases):
            case = Case(driver, ("live" if place % 3 == 2 else "sandbox", "sandbox"))
            choices = Choices(random, case.begun, ())
            try:
                steps += run_case(case, choices, pool)
            except BaseException as error:
                error.add_note(
                    f"Again, as far as chance allows: LAARI_MODEL_SEED={seed} "
                    f"LAARI_MODEL_CASES={cases} make test ARGS=tests/model/test_parallel.py"
                )
                raise
    return steps


def run_case(case: Case, choices: Choices, pool: ThreadPoolExecutor) -> int:
    steps = 0
    for merchant, held in case.state.merchants.items():
        if held.mode == "sandbox":  # it shows the key that reads the history
            case.call("set_wallet", merchant, body={})
    for _ in range(BEFORE):
        choices.seen = case.seen
        kind = choices.pick(("create", "create", "create", "decide", "charge"))
        case.do(choices.call(case.state, case.number, choices.operation(kind)))
    for _ in range(GROUPS_OF_A_CASE):
        choices.seen = case.seen
        group = choose_group(choices, case)
        run_group(case, group, pool)
        steps += len(group)
        if choices.sometimes(3):
            choices.seen = case.seen
            case.do(choices.call(case.state, case.number, choices.pick(("move_clock", "charge"))))
    case.finish()
    return steps


@pytest.mark.ci
def test_calls_at_once_fit_a_serial_order(driver: Driver) -> None:
    seed = int(os.environ.get("LAARI_MODEL_SEED", SHORT_SEED))
    assert run(driver, seed, int(os.environ.get("LAARI_MODEL_CASES", SHORT_CASES))) > 100
    driver.audit()


def test_the_order_of_decisions_on_a_page_is_read_afterwards(driver: Driver) -> None:
    """Both are answered with a redirect, whichever came first."""
    case = Case(driver, ("live", "sandbox"))
    wanted = {"title": "Box", "type": "unscheduled", "limits": {"total": 1000}}
    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        for place in range(8):  # half of them approved first, by chance
            subject = ("authorization", case.number)
            case.call("create_authorization", "A", body={"reference": f"a{place}", **wanted})
            group = [
                Call(number, operation, subject=subject, customer="Aisha")
                for number, operation in enumerate(("page_reject", "page_approve"), case.number)
            ]
            run_group(case, group, pool)
    case.finish()


def test_what_no_response_tells_is_kept_open_until_one_does(driver: Driver) -> None:
    """Of two customers who approve at once nothing says whose it is, until it is charged."""
    case = Case(driver, ("live", "sandbox"))
    wanted = {"title": "Box", "type": "unscheduled", "limits": {"total": 1000}}
    open_ones = 0
    with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
        for place in range(8):
            subject = ("authorization", case.number)
            case.call("create_authorization", "A", body={"reference": f"a{place}", **wanted})
            group = [
                Call(number, "page_approve", subject=subject, customer=customer)
                for number, customer in enumerate(("Aisha", "Binya"), case.number)
            ]
            run_group(case, group, pool)
            open_ones += len(case.worlds) == 2
            body = {"reference": f"c{place}", "amount": 100}
            case.call("charge", "A", subject=subject, body=body)
            case.call("wallet_transactions", customer="Aisha", query={"limit": 5})
            assert len(case.worlds) == 1
    assert open_ones == 8
    case.finish()


@pytest.mark.campaign
def test_calls_at_once_fit_a_serial_order_for_long(
    driver: Driver, capsys: pytest.CaptureFixture[str]
) -> None:
    done, begun = 0, time.monotonic()
    while done < STEPS:
        done += run(driver, secrets.randbelow(2**32), 10)
        with capsys.disabled():
            took = time.monotonic() - begun
            print(f"parallel: {done:,} of {STEPS:,} calls, {took:.0f} s, all fit", flush=True)
    driver.audit()
