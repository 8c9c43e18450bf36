"""Why a wallet cannot pay, in words: all reasons at once.

Those that the customer cannot change come first.
A frozen wallet has one reason alone. Its limits are zero, which would read as nonsense.
"""

from markupsafe import Markup

from laari.edge.moments import moment_at
from laari.edge.pages.asked import Asked
from laari.edge.pages.render import money, own
from laari.edge.pages.visit import Visit
from laari.rules import wallets
from laari.rules.records import Payment, PaymentRequest
from laari.rules.refusals import Refusal
from laari.store.reads.wallets import WalletStatus

# A higher limit is the operator's to give; the others end by themselves, the longest wait first. A
# balance is topped up by the customer.
_ORDER = ("per_transaction", "monthly", "weekly", "daily", None)


async def blocks_in_words(
    visit: Visit, wallet_status: WalletStatus, asked: Asked[Payment] | Asked[PaymentRequest]
) -> list[Markup]:
    """What keeps this wallet from paying what is asked, as the rules decide it."""
    text, wallet = visit.language.text, wallet_status.wallet
    tenant, amount, now = asked.tenant, asked.row.amount, asked.now
    if wallet.frozen_at is not None:
        return [frozen_words(visit)]
    moment = await moment_at(visit.backend, tenant.mode, tenant, now, wallets.counted(wallet))
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


def frozen_words(visit: Visit) -> Markup:
    """That the wallet is blocked and whom to ask; why is between the operator and the customer."""
    contact = visit.backend.settings.support_contact
    whom = visit.language.text("checkout.provider") if contact is None else own(contact)
    return visit.language.text("checkout.frozen", contact=whom)


async def refused_words(
    visit: Visit, asked: Asked[Payment] | Asked[PaymentRequest], refusal: Refusal, account: int
) -> Markup:
    """What a customer reads whose payment was just refused."""
    blocks: list[Markup] = []
    if refusal.code in ("insufficient_balance", "wallet_limit_exceeded"):
        wallet_status = await visit.backend.wallets.get(account)
        blocks = await blocks_in_words(visit, wallet_status, asked) if wallet_status else []
    if not blocks:
        return visit.language.text("checkout.busy")
    return Markup(" ").join([*blocks, visit.language.text("checkout.untouched")])
