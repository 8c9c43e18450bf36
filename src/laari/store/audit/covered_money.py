"""The coverage of payouts, the bank and the records around them."""

from laari.rules.journal import BANK_HOLIDAY, PAYOUT_TERMS
from laari.store.audit.coverage import Covered, Journal, Kept

TABLES = {
    "merchant_funds": Covered(
        derived={
            "merchant_funds": "tenant_id refunded_fees",
            "payout_chain": "last_payout paid_out_upto",
        },
    ),
    "fund_movements": Covered(
        kept=Kept("transfer_id", "transfer_id tenant_id reason actor_kind actor_name created_at"),
        derived={"fund_movement": "xid"},
    ),
    "bank_accounts": Covered(
        sealed="id tenant_id account holder bank account_number created_at effective_at "
        "actor_kind actor_name xid",
        added_named="added_row",
    ),
    "payout_terms": Covered(
        journal=Journal.of(PAYOUT_TERMS, "r.tenant_id::text", "tenant_id"),
    ),
    "bank_holidays": Covered(
        journal=Journal.of(BANK_HOLIDAY, "r.day::text", "day"),
    ),
    "payout_runs": Covered(
        kept=Kept(
            "id",
            "id mode number day created_at created_by status approved_at approved_by sent_at "
            "sent_by",
        ),
    ),
    "bank_files": Covered(
        kept=Kept("run_id", "run_id value_date order_count total digest"),
        derived={"bank_file": "content"},
    ),
    "payouts": Covered(
        sealed="id tenant_id account number amount fee cut_off snapshot transfer_id created_at "
        "actor_kind actor_name xid",
        kept=Kept(
            "id",
            "status run_id bank_account_id returned_amount approved_at sent_at settled_at "
            "returned_at cancelled_at cancelled_transfer_id",
        ),
    ),
    "bank_orders": Covered(
        kept=Kept(
            "reference",
            "reference payout_id place amount status settled_at returned_at settled_transfer_id "
            "returned_transfer_id return_reason",
        ),
    ),
    "late_transfers": Covered(
        derived={"late_transfer": "tenant_id created_at transfer_id"},
        deleted="A list of movements would be too short, and its sum shows it.",
    ),
    "bank_lines": Covered(
        kept=Kept(
            "reference",
            "reference day description amount balance imported_at imported_by movement_id use "
            "account order_reference tid booked_at handled_at handled_by",
        ),
    ),
    "bank_statements": Covered(
        derived={"bank_statement": "digest content"},
        open={"It says only when a statement that nobody waits for is deleted.": "stored_at"},
        deleted="One that a second person has confirmed or has to confirm is noticed.",
    ),
    "fee_sweeps": Covered(
        kept=Kept("transfer_id", "mode number transfer_id amount actor_kind actor_name created_at"),
    ),
    "float_signoffs": Covered(
        kept=Kept("id", "id day closing bank_closing note actor_kind actor_name created_at"),
    ),
    "pending_movements": Covered(
        kept=Kept(
            "id",
            "id requested_at requested_by kind amount details account tenant_id payout_id "
            "reference below_zero refund_reason refund_note matches holder bank account_number "
            "status decided_at decided_by reason tid",
        ),
    ),
    "person_days": Covered(kept=Kept("person", "person day alone movements")),
    "record_changes": Covered(
        sealed="id record key before after xid", added_named="record_history kept_record"
    ),
    "till_closings": Covered(
        kept=Kept(
            "id",
            "id tenant_id till number payments gross fees refunds refunded note actor_kind "
            "actor_name snapshot created_at",
        ),
        derived={"till_closing_transaction": "xid"},
    ),
}
