"""The coverage of merchants, people, customers, wallets and log-ins."""

from laari.rules.journal import (
    APPLICATION,
    CASE,
    CONTACT_CHANGE,
    CUSTOMER,
    IDENTITY,
    MERCHANT,
    OAUTH_CLIENT,
    PASSKEY,
    REMEMBERED_DEVICE,
    REUSABLE_LINK,
    SCHEDULED_FEES,
    TENANT,
    TIER,
    TILL,
    TILL_DEVICE,
    TRUSTED_PERSON,
    WALLET,
    WALLET_KEY,
)
from laari.store.audit.coverage import Covered, Journal, Kept

_OWN_ONLY = "A change can only prolong or shorten what its person already has."
_USE = "It is only shown: the last use."
_COUNTER = "A count of attempts: set back, it gives a guesser a few more."

TABLES = {
    "merchants": Covered(
        journal=Journal.of(MERCHANT, "r.id", "id"),
        keyed="secret_encrypted old_secret_encrypted",
    ),
    "tenants": Covered(
        journal=Journal.of(TENANT, "r.id::text", "id"),
        open={"Only a sandbox's clock can be moved.": "clock_offset_seconds"},
    ),
    "fee_history": Covered(
        sealed="recorded merchant_id since fee_bps fee_fixed xid", added_named="added_row"
    ),
    "scheduled_fees": Covered(
        journal=Journal.of(
            SCHEDULED_FEES,
            "r.merchant_id || ' ' || floor(extract(epoch FROM r.starts_at))::bigint",
            "merchant_id",
        ),
    ),
    "applications": Covered(
        journal=Journal.of(APPLICATION, "'app_' || encode(uuid_send(r.id), 'hex')", "id"),
    ),
    "oauth_clients": Covered(
        journal=Journal.of(OAUTH_CLIENT, "r.id", "id"),
        open={_USE: "last_used_at"},
    ),
    "tills": Covered(
        journal=Journal.of(TILL, "'till_' || encode(uuid_send(r.id), 'hex')", "id"),
    ),
    "reusable_links": Covered(
        journal=Journal.of(REUSABLE_LINK, "'link_' || encode(uuid_send(r.id), 'hex')", "id"),
    ),
    "till_devices": Covered(
        journal=Journal.of(TILL_DEVICE, "encode(r.digest, 'hex')", "digest"),
        keyed="binding",
        open={_USE: "last_seen_at"},
    ),
    "access_tokens": Covered(
        keyed="digest binding client_id scope",
        open={_OWN_ONLY: "issued_at expires_at sandbox_offset_seconds"},
    ),
    "persons": Covered(
        journal=Journal(
            "person",
            "'per_' || encode(uuid_send(r.id), 'hex')",
            "id",
            "email #password_hash created_at password_must_change password_first proven",
        ),
    ),
    "memberships": Covered(
        journal=Journal(
            "membership",
            "'per_' || encode(uuid_send(r.person_id), 'hex') || ' ' "
            "|| coalesce(r.merchant_id, 'operator')",
            "person_id merchant_id",
            "role till created_at",
        ),
        open={_USE: "last_seen_at"},
    ),
    "invitations": Covered(
        journal=Journal(
            "invitation",
            "r.merchant_id || ' ' || r.email",
            "merchant_id",
            "digest email role till invited_by created_at expires_at proves",
        ),
    ),
    "second_factors": Covered(
        journal=Journal(
            "second_factor",
            "'per_' || encode(uuid_send(r.person_id), 'hex')",
            "person_id",
            "created_at confirmed_at codes_made_at",
        ),
        keyed="seed_encrypted recovery_codes",
        open={_COUNTER: "last_step failures blocked_until"},
    ),
    "tiers": Covered(
        journal=Journal.of(TIER, "r.name", "name"),
    ),
    "customers": Covered(
        journal=Journal.of(CUSTOMER, "'cus_' || encode(uuid_send(r.id), 'hex')", "id"),
    ),
    "customer_identities": Covered(
        journal=Journal.of(
            IDENTITY, "'cus_' || encode(uuid_send(r.customer_id), 'hex')", "customer_id"
        ),
    ),
    "customer_signups": Covered(
        keyed="digest mobile name password_hash code_digest",
        open={
            "The customer who signs up sees it, and can change it.": "language",
            _COUNTER: "attempts expires_at",
        },
    ),
    "contact_changes": Covered(
        journal=Journal.of(CONTACT_CHANGE, "'chg_' || encode(uuid_send(r.id), 'hex')", "id"),
        open={_COUNTER: "attempts"},
    ),
    "cases": Covered(
        journal=Journal.of(CASE, "'case_' || encode(uuid_send(r.id), 'hex')", "id"),
    ),
    "trusted_people": Covered(
        journal=Journal.of(
            TRUSTED_PERSON, "'cus_' || encode(uuid_send(r.customer_id), 'hex')", "customer_id"
        ),
    ),
    "customer_notes": Covered(
        sealed="id customer_id time author text xid", added_named="added_row"
    ),
    "wallets": Covered(
        journal=Journal.of(WALLET, "r.account::text", "account"),
        derived={
            "wallet_balance": "balance",
            "wallet_period": "day_start day_spent week_start week_spent month_start month_spent",
        },
        open={"Only a sandbox's clock can be moved.": "counted_offset_seconds"},
    ),
    "wallet_freezes": Covered(
        sealed="recorded account time action reason silent xid", added_named="added_row"
    ),
    "sandbox_periods": Covered(
        derived={"sandbox_period": "unit start spent"},
        deleted="It is about a sandbox only.",
        open={"It is about a sandbox only, and does nothing without an owner.": "owner"},
    ),
    "wallet_keys": Covered(
        journal=Journal.of(WALLET_KEY, "encode(r.digest, 'hex')", "digest"),
        open={_USE: "last_used_at"},
    ),
    "wallet_windows": Covered(
        open={"A count of requests in this minute.": "account opened_at used"},
    ),
    "sessions": Covered(
        keyed="digest binding customer_id person_id page factor_due",
        open={
            _OWN_ONLY: "created_at authenticated_at seen_at merchant_id ended_for",
            "It is only shown: where the person logged in.": "address device",
        },
    ),
    "passkeys": Covered(
        journal=Journal.of(PASSKEY, "'psk_' || encode(uuid_send(r.id), 'hex')", "id"),
        keyed="binding",
        open={
            "Set back, a copied authenticator or an answer of the last minutes may count once "
            "more.": "counter challenged_at",
            _USE: "used_at",
        },
    ),
    "remembered_devices": Covered(
        journal=Journal.of(REMEMBERED_DEVICE, "'dev_' || encode(uuid_send(r.id), 'hex')", "id"),
        keyed="binding",
    ),
    "device_payments": Covered(
        kept=Kept("payment_id", "payment_id device_id customer_id day amount")
    ),
    "password_links": Covered(
        keyed="whose kind digest binding code_digest",
        open={_COUNTER: "attempts", _OWN_ONLY: "expires_at"},
    ),
    "failed_logins": Covered(
        open={"It is only shown: a count by day.": "kind whose day attempts last_at"},
    ),
    "messages": Covered(
        keyed="id kind channel recipient language parameters",
        open={
            "It is about the sending. Deleted, the message is not sent.": "created_at status "
            "attempts next_attempt_at last_error sent_at",
            "The sender counts messages of some kinds by it: changed, one too many is sent, or one "
            "is not sent, as if it was deleted.": "tenant_id customer_id",
            "It is only shown: the cause.": "object_id",
        },
    ),
    "messages_upto": Covered(
        open={"Moved, messages about movements are missing or written again.": "xid"},
    ),
    "message_choices": Covered(
        open={
            "Its owner can choose it. Messages about security ignore it.": "customer_id person_id "
            "channel least",
        },
    ),
}
