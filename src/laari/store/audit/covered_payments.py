"""The coverage of payments, the ledger, events and figures."""

from laari.store.audit.coverage import Covered

_SHOWN_ONLY = "It is only shown: nothing is decided by it."
_ATTEMPT = "An attempt to pay that is in progress ends by itself, and moves no money."
_DELIVERY = "It is about the sending of an event. The event itself is sealed."
_REPLAY = "A repeated request would be refused or carried out again, and its reference is taken."

TABLES = {
    "installation": Covered(
        keyed="master_key_check",
        open={
            "A note about the last run of the service or of a command.": "one created_at "
            "public_url last_backup_at last_audit_at last_audit_ok",
            "The audit expects no deliveries from before this moment.": (
                "deliveries_purged_before"
            ),
        },
    ),
    "reference_claims": Covered(
        derived={"reference_claim": "tenant_id reference kind resource_id"},
    ),
    "payments": Covered(
        derived={
            "payment_event reference_claim request_payment": "id tenant_id",
            "reference_claim request_payment authorization_usage": "kind request_id "
            "authorization_id",
            "event_body": "token reference amount title description terminal_label bill_number "
            "return_url metadata created_at expires_at",
            "payment_event payment_transfer request_payment": "status",
            "event_body fee_transfer": "fee paid_at payment_reference",
            "payment_transfer": "payer_account",
            "event_time": "cancelled_at",
            "refund_payment": "refunded_at refunded_amount",
        },
        open={
            _ATTEMPT: "reserved_at reserved_by",
            "A customer who declines leaves no trace: no event records it.": "rejected_at",
        },
    ),
    "payment_requests": Covered(
        derived={
            "request_event": "id tenant_id",
            "request_event request_payment": "status",
            "request_event_body": "reference amount title description terminal_label bill_number "
            "return_url customer_type customer_value created_at expires_at",
            "sealed_rows": "account",
            "request_payment": "fee paid_at payment_id payment_reference",
            "event_time": "cancelled_at rejected_at",
        },
        open={_ATTEMPT: "reserved_at"},
    ),
    "authorizations": Covered(
        derived={
            "authorization_event": "id tenant_id",
            "authorization_event_body": "token reference title description type currency "
            "per_payment period_interval period_amount total max_payments return_url created_at "
            "approval_expires_at expires_at",
            "sealed_rows": "account",
            "authorization_event authorization_consumed": "status",
            "authorization_usage": "payment_count total_paid",
            "authorization_period": "period_start period_paid",
            "event_time": "approved_at rejected_at revoked_at cancelled_at",
        },
        traceless="active suspended",
        open={
            _SHOWN_ONLY: "last_used_at updated_at",
            "Only a sandbox's clock can be moved.": "counted_offset_seconds",
        },
    ),
    "refunds": Covered(
        sealed="id tenant_id payment_id amount reason note actor_kind actor_name tid created_at "
        "xid",
        added_named="refund_payment refund_event refund_transfer",
    ),
    "saved_responses": Covered(
        derived={"saved_response": "tenant_id status code body resource_id"},
        deleted="Responses are purged after 24 hours.",
        added="A request with its key gets the response of another one, and moves no money.",
        open={
            _REPLAY: "operation key fingerprint completed_at",
            _SHOWN_ONLY: "replays last_replayed_at",
        },
    ),
    "transfers": Covered(
        sealed="id kind debit_account credit_account amount payment_id tid created_at xid",
        added_named="transaction transaction_twice event_transaction payout_transfer payout_fee "
        "fund_movement fee_sweep unallocated bank_line",
    ),
    "transactions": Covered(
        sealed="tid account recorded time type name details amount status failure unpaid_id xid",
        added_named="transaction",
        added="A failed attempt to pay moves no money.",
    ),
    "topup_slips": Covered(derived={"topup_slip": "mode tid", "sealed_rows": "slip"}),
    "events": Covered(
        sealed="id tenant_id type object_id created_at body xid",
        added_named="payment_event request_event authorization_event payout_event event_twice",
    ),
    "seals": Covered(
        derived={
            "seal_mac seal_chain": "number subject from_xid from_key upto_xid upto_key row_count "
            "deliveries content sealed_at mac",
        },
    ),
    "daily_figures": Covered(
        derived={
            "daily_figures": "tenant_id day terminal_label payments gross fees refunds refunded "
            "others",
        },
    ),
    "figures_upto": Covered(derived={"daily_figures": "xid"}),
    "merchant_totals": Covered(derived={"merchant_balance": "tenant_id available held"}),
    "deliveries": Covered(
        derived={
            "delivery_event sealed_deliveries": "event_id tenant_id",
            "delivery_attempt": "status failed_attempts",
        },
        traceless="pending failed",
        deleted="Deliveries are purged. Seals count the live ones of the last 7 days.",
        open={_DELIVERY: "leases next_attempt_at delivered_at"},
    ),
    "delivery_attempts": Covered(
        derived={"delivery_event delivery_attempt": "event_id lease"},
        open={_DELIVERY: "started_at duration_ms url http_status error answer"},
    ),
    "journal": Covered(
        sealed="id time actor_kind actor_name actor_role action object_type object_id "
        "merchant_id mode before after reason xid",
        open={"Addresses are removed after a while.": "address"},
        added_named="setting_history added_row",
        added="An action without a setting, such as a refund, has no row for its entry.",
    ),
}
