"""The reasons why a wallet cannot pay; those that the customer cannot change come first."""

from markupsafe import Markup

from laari.edge.pages.decisions import Asked
from laari.edge.pages.render import money, own
from laari.edge.pages.request import PageRequest
from laari.rules import wallets
from laari.rules.lifecycle import Payable
from laari.rules.records.wallets import Wallet
from laari.rules.refusals import Refusal
from laari.store.reads.wallets import WalletStatus

# Only the operator raises the limit per transaction. The others end by themselves, the longest wait
# first. A customer can top up the balance.
_ORDER = ("per_transaction", "monthly", "weekly", "daily", None)


async def blocks_in_words(
    request: PageRequest, wallet_status: WalletStatus, asked: Asked[Payable]
) -> list[Markup]:
    """Why this wallet cannot pay the amount, by the same rules as a payment."""
    text, wallet = request.language.text, wallets.seen_by_customer(wallet_status.wallet)
    tenant, amount, now = asked.tenant, asked.row.amount, asked.now
    if wallet.frozen_at is not None:
        return [frozen_words(request, wallet)]  # its limits are zero: saying so would not help
    moment = await request.backend.moment(tenant.mode, tenant, now, wallets.counted(wallet))
    spending = wallets.spent_now(wallet, moment)
    found = wallets.spending_blocks(wallet, wallet_status.tier, amount, spending)
    return [
        text("checkout.short_balance", missing=money(amount - block.left))
        if block.limit is None
        else text(
            f"checkout.limit_{block.limit}", limit=money(block.allowed), left=money(block.left)
        )
        for block in sorted(found, key=lambda block: _ORDER.index(block.limit))
    ]


def frozen_words(request: PageRequest, wallet: Wallet) -> Markup:
    """Says that the wallet is blocked and whom to contact; the reason is not shown.

    A silent freeze is not named.
    """
    if wallet.frozen_silently:
        return request.language.text("checkout.declined")
    contact = request.backend.settings.support_contact
    whom = request.language.text("checkout.provider") if contact is None else own(contact)
    return request.language.text("checkout.frozen", contact=whom)


async def refused_words(
    request: PageRequest, asked: Asked[Payable], refusal: Refusal, account: int
) -> Markup:
    blocks: list[Markup] = []
    if refusal.code in ("insufficient_balance", "wallet_limit_exceeded"):
        wallet_status = await request.backend.wallets.get(account)
        assert wallet_status is not None  # wallets stay
        blocks = await blocks_in_words(request, wallet_status, asked)
        if not blocks and wallet_status.wallet.frozen_silently:
            blocks = [frozen_words(request, wallet_status.wallet)]
    if not blocks:
        return request.language.text("checkout.busy")
    return Markup(" ").join([*blocks, request.language.text("checkout.untouched")])
