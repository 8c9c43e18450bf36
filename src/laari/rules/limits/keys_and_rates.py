"""How long tokens and old keys work, and how often the interfaces may be called."""

from datetime import timedelta

ACCESS_TOKEN_LIFE = timedelta(hours=24)
OLD_KEY_LONGEST_HOURS = 168  # that a replaced secret key still works: a week to change all programs
WALLET_KEYS = 20  # of one wallet that can be used
# How exactly the last use of a key or client is kept: not one write per request.
USE_KNOWN_TO_SECONDS = 60
# The wallet API counts the requests of an account over all endpoints, from its first request on.
WALLET_WINDOW_SECONDS = 60
WALLET_WINDOW_REQUESTS = 60
# LAARI_MERCHANT_RATE_LIVE and …_SANDBOX, requests per second and merchant: far above one shop's
# traffic, and a small part of what one machine serves.
MERCHANT_RATE_LIVE = 100
MERCHANT_RATE_SANDBOX = 25
# LAARI_RECIPIENT_MISSES_PER_MINUTE: a merchant could find out who has a wallet by trying names.
RECIPIENT_MISSES_PER_MINUTE = 30
TOKENS_PER_MINUTE = 600  # LAARI_TOKENS_PER_MINUTE: of one client; a token works for a day
TOKEN_FAILURES_PER_MINUTE = 10  # LAARI_TOKEN_FAILURES_PER_MINUTE: of one client and address
SANDBOX_SIGNUPS_PER_MINUTE = 60  # LAARI_SANDBOX_SIGNUPS_PER_MINUTE: of one address
