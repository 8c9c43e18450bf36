"""API keys of the wallet interface."""

from __future__ import annotations

import base64

from laari.store.secrets import derive

PREFIX = "wk_"


def sandbox_wallet_key(master_key: bytes, account: int) -> str:
    """The key of a merchant's own sandbox customer: derived, so that it can be shown again."""
    secret = derive(master_key, "sandbox-wallet-key", str(account))
    return PREFIX + base64.urlsafe_b64encode(secret).decode().rstrip("=")
