"""What is measured: each workload, and what its figures stand beside."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Wanted:
    """A ratio that has to be shown: of the service's figure to another one of the same run.

    `beside` names a contestant, or another workload as `workload:name`.
    """

    beside: str
    clients: int
    value: float
    at_most: bool = False
    of: str = "per_second"

    def is_reached(self, ratio: float) -> bool:
        return ratio <= self.value if self.at_most else ratio >= self.value


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    script: str  # in bench/wrk
    extra: str = ""  # handed to the script; what stands in braces comes from bench/stage.py
    ceiling: str | None = None  # a script in bench/sql
    function: str | None = None  # a script that calls one function of bench/sql/functions.sql
    echo: bool = False  # beside the bare route
    unbatched: bool = False  # beside a service that commits each command by itself
    bearer: bool = False  # beside the same with an access token instead of a key
    peers: tuple[str, ...] = ()
    wanted: tuple[Wanted, ...] = field(default=())


WORKLOADS = (
    Workload(
        "create",
        "create payment",
        "create",
        ceiling="create",
        function="create_function",
        unbatched=True,
        peers=("localstripe", "lnbits"),
        wanted=(
            Wanted("pgbench", 64, 2.0),
            Wanted("function", 64, 2.0),
            Wanted("one by one", 64, 3),
            Wanted("localstripe", 64, 3),
            Wanted("lnbits", 64, 5),
        ),
    ),
    Workload(
        "create_keyed",
        "create payment, idempotency key",
        "create_keyed",
        ceiling="create_keyed",
    ),
    Workload(
        "charge",
        "charge authorization",
        "charge",
        ceiling="charge",
        function="charge_function",
        wanted=(
            Wanted("pgbench", 64, 2.0),
            Wanted("function", 64, 2.0),
            Wanted("function", 1, 2.0, at_most=True, of="p50_ms"),
            Wanted("pgbench", 1, 2.5, at_most=True, of="p50_ms"),
        ),
    ),
    Workload(
        "get",
        "get payment",
        "get",
        echo=True,
        bearer=True,
        wanted=(Wanted("echo", 64, 0.8), Wanted("bearer", 64, 1 / 0.9, at_most=True)),
    ),
    Workload(
        "list",
        "list 20 payments, first page",
        "path",
        extra="/merchant/payments",
        echo=True,
        wanted=(Wanted("echo", 64, 0.45),),
    ),
    # Equal pages that are asked for at once are read once; these are never equal.
    Workload(
        "list_apart",
        "list 20 paid payments, another page each time",
        "list_apart",
        echo=True,
        wanted=(Wanted("echo", 64, 0.45),),
    ),
    Workload(
        "list_deep",
        "list 20 payments, 100,000 rows on",
        "path",
        extra="/merchant/payments?after={deep}",
        echo=True,
        wanted=(Wanted("workload:list", 1, 1.2, at_most=True, of="p50_ms"),),
    ),
    Workload(
        "list_filtered",
        "list 20 paid payments of one till",
        "path",
        extra="/merchant/payments?status=paid&terminal_label=Till%201",
        echo=True,
        wanted=(Wanted("workload:list", 64, 0.7),),
    ),
    Workload(
        "pay",
        "create a payment request, then pay it",
        "pay",
        "{sandbox_key}",
        peers=("lnbits paying",),
    ),
    Workload("balance", "wallet balance", "balance", echo=True),
    Workload("token", "access token", "token", "{basic}", echo=True),
    Workload("qr", "QR image", "qr", peers=("segno",), wanted=(Wanted("segno", 64, 8),)),
    Workload("mixed", "a mixed day, 70 % reads", "mixed", echo=True),
)
