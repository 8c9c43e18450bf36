"""The receipt of a line of the history: its refunds, why it failed, sending it, and its case."""

from markupsafe import Markup

from laari.edge.pages.language import Language
from laari.edge.pages.render import own
from laari.edge.pages.request import Access, RefusedForm
from laari.edge.pages.routes import PageRoute, Routes
from laari.edge.pages.wallet.request import WalletRequest
from laari.http.messages import Reply
from laari.rules.ids import is_tid
from laari.rules.limits.messages import RECEIPTS_A_DAY
from laari.rules.limits.texts import MAX_CASE, OPEN_CASES
from laari.rules.payments.receipts import SendReceipt, channels_to
from laari.rules.people.cases import OpenCase, can_be_reported
from laari.rules.records.messages import Channel
from laari.rules.records.wallets import Transaction
from laari.rules.refusals import Refusal
from laari.store.reads import holders, refunds, wallets
from laari.store.reads.people import cases

_OWN_WORDS = ("topup", "withdraw", "adjustment")  # lines that name no shop
_CHANNELS: dict[str, Channel] = {"email": "email", "sms": "sms"}


class LineRequest(WalletRequest):
    """A request about one line of the customer's history; the lines of others do not exist."""

    prefix = "/app/transactions/{tid}"
    line: Transaction

    async def enter(self, access: Access) -> Reply | None:
        stopped = await super().enter(access)
        if stopped is not None:
            return stopped
        tid, line = self.params["tid"], None
        if is_tid(tid):
            line = await self.backend.ask(wallets.line, self.customer.account, tid)
        if line is None:
            return self.refusal(404, "not_found", back="/app/transactions")
        self.line = line
        return None

    @property
    def address(self) -> str:
        return f"/app/transactions/{self.line.tid}"


def words_of(line: Transaction, language: Language) -> Markup:
    """What a line is, such as "Payment to Seagull Café"."""
    if line.type in _OWN_WORDS:
        return language.text(f"history.{line.type}")
    kind = "refund" if line.type == "refund" else "payment"
    return language.text(f"receipt.{kind}", name=own(line.name))


async def show(request: LineRequest) -> Reply:
    line = request.line
    holder = await request.backend.ask(holders.by_account, line.account)
    assert holder is not None  # a line is in a wallet, and wallets stay
    channels = channels_to(
        holder.mode, holder.email, holder.mobile, request.backend.settings.channels
    )
    found = await request.backend.ask(refunds.linked, [line])
    return request.page(
        "transactions/one.html",
        line=line,
        words=words_of(line, request.language),
        holder=holder,
        contacts={"email": holder.email, "sms": holder.mobile},
        channels=channels if line.status == "success" else [],
        refunds=[each for each in found if each.payment_tid == line.tid],
        case=(await request.backend.ask(cases.by_tid, [line.tid])).get(line.tid),
        can_be_reported=can_be_reported(line, holder.mode),
        payment=next((each.payment_tid for each in found if each.tid == line.tid), None),
    )


async def report(request: LineRequest) -> Reply:
    """Opens a case on the operator's desk."""
    text = " ".join(request.form.get("text", "").split())
    if not 1 <= len(text) <= MAX_CASE or not text.isprintable():
        raise RefusedForm(422, request.language.text("case.no_text", most=MAX_CASE))
    customer = request.customer
    outcome = await request.backend.spine.submit(
        OpenCase(request.actor, customer.customer_id, customer.account, request.line.tid, text)
    )
    if isinstance(outcome, Refusal) and outcome.code == "rate_limited":
        words = request.language.text("case.enough", count=OPEN_CASES)
        raise RefusedForm(outcome.status, words)
    # After a refusal, the page shows the case that another tab has opened.
    return request.go(f"{request.address}#case")


async def send(request: LineRequest) -> Reply:
    channel = _CHANNELS.get(request.form.get("channel", ""))
    if channel is None:
        raise RefusedForm(422, request.language.text("receipt.unreachable"))
    customer, line = request.customer, request.line
    outcome = await request.backend.spine.submit(
        SendReceipt(
            customer.customer_id,
            customer.account,
            line.tid,
            channel,
            words_of(line, request.language).striptags(),
        )
    )
    if not isinstance(outcome, Refusal):
        return request.go(f"{request.address}?sent={channel}")
    if outcome.code == "rate_limited":
        words = request.language.text("receipt.enough", count=RECEIPTS_A_DAY)
        raise RefusedForm(outcome.status, words)
    name = "receipt.unreachable" if outcome.code == "conflict" else "approval.busy"
    raise RefusedForm(outcome.status, request.language.text(name))


ROUTES: Routes = [
    PageRoute(LineRequest, "", get=show),
    PageRoute(LineRequest, "/send", post=send, page=show),
    PageRoute(LineRequest, "/report", post=report, page=show),
]
