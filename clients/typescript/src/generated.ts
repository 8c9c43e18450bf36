// Made from the OpenAPI document by `make clients`; changes belong there or in
// tools/clients.
import type { CallOptions, Connection, KeyedOptions, Operation } from "./connection.js";
import { Listing } from "./listing.js";

/** The values there are now; others may come. */
export type Open<T extends string> = T | (string & Record<never, never>);

/** A customer's permission to be charged later, within limits. */
export interface Authorization {
  id: string;
  /** Your name for it. */
  reference: string;
  title: string;
  description: string | null;
  type: Open<"one_time" | "recurring" | "unscheduled">;
  currency: Open<"MVR">;
  limits: AuthorizationLimits;
  usage: AuthorizationUsage;
  status: Open<"active" | "cancelled" | "consumed" | "expired" | "pending" | "rejected" | "revoked" | "suspended">;
  /** The page for the customer's approval. Use it exactly as returned. */
  approval_url: string;
  approval_expires_at: string;
  expires_at: string | null;
  return_url: string | null;
  approved_at: string | null;
  rejected_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
  created_at: string;
  updated_at: string;
}

export interface AuthorizationEvent {
  /** The same in every attempt to deliver it. */
  id: string;
  type: "authorization.created" | "authorization.approved" | "authorization.rejected" | "authorization.cancelled" | "authorization.revoked";
  payload_version: number;
  mode: Open<"active" | "sandbox">;
  /** In UTC. */
  created_at: string;
  data: Authorization;
  delivery: EventDelivery | null;
}

/** All of them apply together. */
export interface AuthorizationLimits {
  /** In laari; null is no limit of this kind. */
  per_payment: number | bigint | null;
  period: PeriodLimit | null;
  /** In laari; null is no limit of this kind. */
  total: number | bigint | null;
  /** Number of payments; null is no limit. */
  max_payments: number | null;
}

/** A payment made by charging an authorization. */
export interface AuthorizationPayment {
  id: string;
  /** Your name for it. */
  reference: string;
  /** In laari. */
  amount: number;
  /** In laari; null until paid. */
  fee: number | null;
  /** Amount minus fee; null until paid. */
  net_amount: number | null;
  title: string | null;
  description: string | null;
  bill_number: string | null;
  status: Open<"cancelled" | "expired" | "paid" | "pending" | "refunded" | "rejected">;
  /** The service's transaction reference. */
  payment_reference: string | null;
  created_at: string;
  paid_at: string | null;
  /** The strings sent with the payment. */
  metadata: Record<string, string>;
}

/** Lifetime usage of the authorization; refunds do not reduce it. */
export interface AuthorizationUsage {
  payment_count: number;
  /** In laari. */
  total_paid: number | bigint;
}

/** The result of a new charge now, without the customer's private balance and wallet limits. */
export interface ChargePreview {
  /** In laari. */
  amount: number;
  would_succeed: boolean;
  code: string | null;
  message: string | null;
  remaining: RemainingLimits;
  period_resets_at: string | null;
}

/** The recipient of a payment request. */
export interface Customer {
  type: Open<"email" | "mobile" | "vpa">;
  /** A mobile number as seven digits, an email address, or a VPA's name part. */
  value: string;
}

export type Event = PaymentEvent | RefundEvent | PaymentRequestEvent | AuthorizationEvent | PayoutEvent | SampleEvent;

/** The delivery of the event; `next_attempt_at` only while it is pending. */
export interface EventDelivery {
  status: Open<"delivered" | "failed" | "pending">;
  attempts: number;
  next_attempt_at: string | null;
}

/** A payment with a hosted checkout page, or one made from a payment request. */
export interface HostedPayment {
  id: string;
  /** Your name for it. */
  reference: string;
  /** In laari. */
  amount: number;
  /** In laari; null until paid. */
  fee: number | null;
  /** Amount minus fee; null until paid. */
  net_amount: number | null;
  title: string | null;
  description: string | null;
  terminal_label: string | null;
  bill_number: string | null;
  status: Open<"cancelled" | "expired" | "paid" | "pending" | "refunded" | "rejected">;
  /** The checkout page. Use it exactly as returned. */
  payment_url: string;
  /** The service's transaction reference. */
  payment_reference: string | null;
  /** A PNG image of the checkout page's address. Use it exactly as returned. */
  qr_url: string;
  return_url: string | null;
  created_at: string;
  paid_at: string | null;
  expires_at: string | null;
  /** The strings sent with the payment. */
  metadata: Record<string, string>;
}

/** A merchant's money in one mode, in laari. */
export interface MerchantBalance {
  /** Can be refunded or paid out; may be negative. */
  available: number;
  /** Held back by the operator. */
  held: number;
  /** Paid out, not confirmed by the bank. */
  in_transit: number;
  currency: Open<"MVR">;
}

/** The bank account that a payout was sent to. */
export interface PaidAccount {
  /** The code of the bank. */
  bank: string;
  /** The last four digits of the account number. */
  last4: string;
}

/** HostedPayment: A payment with a hosted checkout page, or one made from a payment request. AuthorizationPayment: A payment made by charging an authorization. */
export interface Payment {
  id: string;
  /** Your name for it. */
  reference: string;
  /** In laari. */
  amount: number;
  /** In laari; null until paid. */
  fee: number | null;
  /** Amount minus fee; null until paid. */
  net_amount: number | null;
  title: string | null;
  description: string | null;
  terminal_label?: string | null;
  bill_number: string | null;
  status: Open<"cancelled" | "expired" | "paid" | "pending" | "refunded" | "rejected">;
  /** The checkout page. Use it exactly as returned. */
  payment_url?: string;
  /** The service's transaction reference. */
  payment_reference: string | null;
  /** A PNG image of the checkout page's address. Use it exactly as returned. */
  qr_url?: string;
  return_url?: string | null;
  created_at: string;
  paid_at: string | null;
  expires_at?: string | null;
  /** The strings sent with the payment. */
  metadata: Record<string, string>;
}

export interface PaymentEvent {
  /** The same in every attempt to deliver it. */
  id: string;
  type: "payment.created" | "payment.paid" | "payment.cancelled" | "payment.expired";
  payload_version: number;
  mode: Open<"active" | "sandbox">;
  /** In UTC. */
  created_at: string;
  data: Payment;
  delivery: EventDelivery | null;
}

/** A payment requested from a customer, who finds it in the wallet application. */
export interface PaymentRequest {
  id: string;
  /** Your name for it. */
  reference: string;
  /** In laari. */
  amount: number;
  /** In laari; null until paid. */
  fee: number | null;
  /** Amount minus fee; null until paid. */
  net_amount: number | null;
  title: string | null;
  description: string | null;
  terminal_label: string | null;
  bill_number: string | null;
  status: Open<"cancelled" | "expired" | "paid" | "pending" | "refunded" | "rejected">;
  /** The payment made from it; null until paid. */
  payment_id: string | null;
  /** The service's transaction reference. */
  payment_reference: string | null;
  customer: Customer;
  return_url: string | null;
  created_at: string;
  paid_at: string | null;
  expires_at: string;
  cancelled_at: string | null;
  rejected_at: string | null;
}

export interface PaymentRequestEvent {
  /** The same in every attempt to deliver it. */
  id: string;
  type: "payment_request.created" | "payment_request.paid" | "payment_request.rejected" | "payment_request.cancelled" | "payment_request.expired";
  payload_version: number;
  mode: Open<"active" | "sandbox">;
  /** In UTC. */
  created_at: string;
  data: PaymentRequest;
  delivery: EventDelivery | null;
}

/** Money on its way from the balance to the bank account. */
export interface Payout {
  id: string;
  /** Among your payouts, from 1. */
  number: number;
  /** In laari. */
  amount: number;
  /** In laari; one of the movements of the payout. */
  fee: number;
  status: Open<"approved" | "cancelled" | "requested" | "returned" | "sent" | "settled">;
  /** In laari: the part that the bank returned. */
  returned_amount: number;
  /** The movements of the payout are from before this time. */
  cut_off: string;
  /** The references of its orders on the bank's statement; empty until it is sent. */
  bank_references: string[];
  bank_account: PaidAccount | null;
  created_at: string;
  sent_at: string | null;
  settled_at: string | null;
  returned_at: string | null;
  cancelled_at: string | null;
}

export interface PayoutEvent {
  /** The same in every attempt to deliver it. */
  id: string;
  type: "payout.sent" | "payout.settled" | "payout.returned";
  payload_version: number;
  mode: Open<"active" | "sandbox">;
  /** In UTC. */
  created_at: string;
  data: Payout;
  delivery: EventDelivery | null;
}

/** A change of the balance that belongs to a payout. */
export interface PayoutMovement {
  type: Open<"fee" | "hold" | "merchant_adjustment" | "payment" | "payout_fee" | "payout_returned" | "refund" | "release">;
  /** In laari; negative if the balance fell. */
  amount: number;
  /** Of a payment, its fee or its refund. */
  payment_id: string | null;
  /** Of a refund. */
  refund_id: string | null;
  created_at: string;
}

/** A limit for each calendar period of Maldives time; without an amount it has no effect. */
export interface PeriodLimit {
  interval: Open<"day" | "month" | "week" | "year">;
  /** In laari; null is no limit of this kind. */
  amount: number | bigint | null;
}

/** A payment, or a part of it, that was returned to the customer. */
export interface Refund {
  id: string;
  payment_id: string;
  /** In laari. */
  amount: number;
  reason: Open<"duplicate" | "fraudulent" | "other" | "requested_by_customer"> | null;
  /** For you; the customer does not see it. */
  note: string | null;
  created_at: string;
}

/** A refund, with its payment as it was right after the refund. */
export interface RefundData {
  id: string;
  payment_id: string;
  /** In laari. */
  amount: number;
  reason: Open<"duplicate" | "fraudulent" | "other" | "requested_by_customer"> | null;
  /** For you; the customer does not see it. */
  note: string | null;
  created_at: string;
  payment: Payment;
}

export interface RefundEvent {
  /** The same in every attempt to deliver it. */
  id: string;
  type: "payment.refunded";
  payload_version: number;
  mode: Open<"active" | "sandbox">;
  /** In UTC. */
  created_at: string;
  data: RefundData;
  delivery: EventDelivery | null;
}

/** The amount that can still be spent, never below 0; null if there is no limit. */
export interface Remaining {
  /** In MVR, exact. */
  daily: number | null;
  /** In MVR, exact. */
  weekly: number | null;
  /** In MVR, exact. */
  monthly: number | null;
}

/** The rest of each limit. */
export interface RemainingLimits {
  /** In laari; null is no limit of this kind. */
  per_payment: number | bigint | null;
  /** In laari; null is no limit of this kind. */
  period: number | bigint | null;
  /** In laari; null is no limit of this kind. */
  total: number | bigint | null;
  /** Number of payments; null is no limit. */
  payments: number | null;
}

export interface ResetAt {
  daily: string;
  weekly: string;
  monthly: string;
}

/** The data of a sample, instead of a resource. */
export interface SampleData {
  message: string;
}

export interface SampleEvent {
  /** The same in every attempt to deliver it. */
  id: string;
  type: "webhook.test";
  payload_version: number;
  mode: Open<"active" | "sandbox">;
  /** In UTC. */
  created_at: string;
  data: SampleData;
  delivery: EventDelivery | null;
}

/** The sandbox's time, and its offset from real time. */
export interface SandboxClock {
  now: string;
  offset_seconds: number;
}

/** The merchant's sandbox customer: balance in laari, tier, and key of the wallet interface. */
export interface SandboxWallet {
  balance: number | bigint;
  tier: string;
  api_key: string;
}

export interface Spent {
  /** In MVR, exact. */
  daily: number;
  /** In MVR, exact. */
  weekly: number;
  /** In MVR, exact. */
  monthly: number;
}

/** The limits of the tier; null is no limit. */
export interface TierLimits {
  /** In MVR, exact. */
  per_transaction: number | null;
  /** In MVR, exact. */
  daily: number | null;
  /** In MVR, exact. */
  weekly: number | null;
  /** In MVR, exact. */
  monthly: number | null;
}

/** The limits of the wallet's tier, and their current usage. */
export interface Usage {
  tier: string;
  limits: TierLimits;
  usage: Spent;
  remaining: Remaining;
  reset_at: ResetAt;
}

/** A wallet's balance; all of it is available, because there are no holds. */
export interface WalletBalance {
  account_number: string;
  currency: string;
  /** In MVR, exact. */
  ledger_balance: number;
  /** In MVR, exact. */
  available_balance: number;
  /** In MVR, exact. */
  hold_balance: number;
}

/** A line of the history; a failed transaction moved no money. */
export interface WalletTransaction {
  tid: string;
  time: string;
  type: Open<"adjustment" | "payment" | "refund" | "topup" | "transfer" | "withdraw">;
  name: string;
  details: string;
  /** In MVR, exact. */
  amount: number;
  status: Open<"failed" | "success">;
}

export interface ListPaymentsParams {
  /** Values outside 1 to 100 become the nearest of the two. */
  limit?: number;
  status?: "pending" | "paid" | "rejected" | "expired" | "cancelled" | "refunded";
  /** The exact label. */
  terminal_label?: string;
  /** The exact bill number. May contain only letters, digits, space, - _ . and /. */
  bill_number?: string;
  /** Created at or after this time. A date means midnight; the default offset is +05:00. */
  created_from?: string | Date;
  /** Created before this time. A date means midnight; the default offset is +05:00. */
  created_to?: string | Date;
  /** The exact reference: at most one payment has it. */
  reference?: string;
}

export interface CreatePaymentParams {
  /** Your name for the payment, unique among your payments, charges and payment requests. */
  reference: string;
  /** In laari: `12500` is MVR 125.00. */
  amount: number;
  /** The purpose of the payment. */
  title?: string | null;
  description?: string | null;
  /** The till; need not be unique. */
  terminal_label?: string | null;
  /** May contain only letters, digits, space, - _ . and /. */
  bill_number?: string | null;
  /** The customer's browser goes here from the checkout page. An absolute http or https URL without credentials. */
  return_url?: string | null;
  /** In the future; default: 24 hours from now. RFC 3339; the default offset is +05:00. */
  expires_at?: string | Date | null;
  /** Your own strings, stored as sent; the customer does not see them. */
  metadata?: Record<string, string>;
}

export interface ListPaymentRefundsParams {
  /** Values outside 1 to 100 become the nearest of the two. */
  limit?: number;
}

export interface RefundPaymentParams {
  /** In laari; default: all that is left. */
  amount?: number | null;
  reason?: "requested_by_customer" | "duplicate" | "fraudulent" | "other" | null;
  /** For you; the customer does not see it. */
  note?: string | null;
}

export interface ListPayoutsParams {
  /** Values outside 1 to 100 become the nearest of the two. */
  limit?: number;
  /** Created at or after this time. A date means midnight; the default offset is +05:00. */
  created_from?: string | Date;
  /** Created before this time. A date means midnight; the default offset is +05:00. */
  created_to?: string | Date;
  status?: "requested" | "approved" | "sent" | "settled" | "returned" | "cancelled";
}

export interface ListPayoutMovementsParams {
  /** Values outside 1 to 100 become the nearest of the two. */
  limit?: number;
}

export interface ListPaymentRequestsParams {
  /** Values outside 1 to 100 become the nearest of the two. */
  limit?: number;
  status?: "pending" | "paid" | "rejected" | "expired" | "cancelled" | "refunded";
  /** The exact label. */
  terminal_label?: string;
  /** The exact bill number. May contain only letters, digits, space, - _ . and /. */
  bill_number?: string;
  /** Created at or after this time. A date means midnight; the default offset is +05:00. */
  created_from?: string | Date;
  /** Created before this time. A date means midnight; the default offset is +05:00. */
  created_to?: string | Date;
}

export interface CreatePaymentRequestParams {
  /** Your name for the payment, unique among your payments, charges and payment requests. */
  reference: string;
  /** In laari: `12500` is MVR 125.00. */
  amount: number;
  customer: {
    type: "mobile" | "email" | "vpa";
    /** A mobile number, an email address, or a VPA with or without its suffix. */
    value: string;
  };
  /** The purpose of the payment. */
  title?: string | null;
  description?: string | null;
  /** The till; need not be unique. */
  terminal_label?: string | null;
  /** May contain only letters, digits, space, - _ . and /. */
  bill_number?: string | null;
  /** The customer's browser goes here from the wallet application. An absolute http or https URL without credentials. */
  return_url?: string | null;
  /** In the future; default: 24 hours from now. RFC 3339; the default offset is +05:00. */
  expires_at?: string | Date | null;
}

export interface ListAuthorizationsParams {
  /** Values outside 1 to 100 become the nearest of the two. */
  limit?: number;
  status?: "pending" | "active" | "rejected" | "revoked" | "expired" | "cancelled" | "suspended" | "consumed";
}

export interface CreateAuthorizationParams {
  /** Your unique name for the authorization. */
  reference: string;
  /** The purpose that the customer agrees to. */
  title: string;
  description?: string | null;
  /** Default: `unscheduled`. */
  type?: "recurring" | "unscheduled" | "one_time" | null;
  /** All given limits apply together. */
  limits?: {
    /** In laari. */
    per_payment?: number | bigint | null;
    /** Calendar periods of Maldives time; a week begins on Sunday. */
    period?: {
      interval?: "day" | "week" | "month" | "year" | null;
      /** In laari; needs an interval. */
      amount?: number | bigint | null;
    } | null;
    /** In laari, over the whole lifetime. */
    total?: number | bigint | null;
    /** If the type is `one_time`: 1 or omitted. */
    max_payments?: number | null;
  } | null;
  /** The end of all charges; default: never. RFC 3339; the default offset is +05:00. */
  expires_at?: string | Date | null;
  /** The customer's browser goes here after the decision. An absolute http or https URL without credentials. */
  return_url?: string | null;
}

export interface ChargeAuthorizationParams {
  /** Your name for the payment, unique among your payments, charges and payment requests. */
  reference: string;
  /** In laari: `12500` is MVR 125.00. */
  amount: number;
  /** The purpose of the payment. */
  title?: string | null;
  description?: string | null;
  /** May contain only letters, digits, space, - _ . and /. */
  bill_number?: string | null;
}

export interface PreviewChargeParams {
  /** In laari: `12500` is MVR 125.00. */
  amount: number;
}

export interface ListAuthorizationPaymentsParams {
  /** Values outside 1 to 100 become the nearest of the two. */
  limit?: number;
  status?: "paid" | "refunded";
  /** The exact bill number. May contain only letters, digits, space, - _ . and /. */
  bill_number?: string;
  /** Created at or after this time. A date means midnight; the default offset is +05:00. */
  created_from?: string | Date;
  /** Created before this time. A date means midnight; the default offset is +05:00. */
  created_to?: string | Date;
}

export interface ListEventsParams {
  /** Values outside 1 to 100 become the nearest of the two. */
  limit?: number;
  type?: "payment.created" | "payment.paid" | "payment.cancelled" | "payment.expired" | "payment.refunded" | "payment_request.created" | "payment_request.paid" | "payment_request.rejected" | "payment_request.cancelled" | "payment_request.expired" | "authorization.created" | "authorization.approved" | "authorization.rejected" | "authorization.cancelled" | "authorization.revoked" | "payout.sent" | "payout.settled" | "payout.returned";
  delivered?: boolean;
  /** Created at or after this time. A date means midnight; the default offset is +05:00. */
  created_from?: string | Date;
  /** Created before this time. A date means midnight; the default offset is +05:00. */
  created_to?: string | Date;
}

export interface SandboxSetWalletParams {
  /** In laari. */
  balance?: number | bigint | null;
  /** The verification tier, which sets the wallet's limits. */
  tier?: string | null;
}

export interface SandboxMoveClockParams {
  /** Added to the present offset of the clock. */
  advance_seconds?: number | null;
  /** `true` returns to real time. */
  reset?: boolean | null;
}

export interface WalletTransactionsParams {
  /** The number of transactions on a page. */
  limit?: number;
}

const OPERATIONS = {
  list_payments: { name: "list_payments", method: "GET", path: "/merchant/payments", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "after" },
  create_payment: { name: "create_payment", method: "POST", path: "/merchant/payments", audience: "merchant", keyed: true, repeatable: true, binary: false, cursor: "" },
  get_payment: { name: "get_payment", method: "GET", path: "/merchant/payments/{id}", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "" },
  cancel_payment: { name: "cancel_payment", method: "POST", path: "/merchant/payments/{id}/cancel", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "" },
  get_qr: { name: "get_qr", method: "GET", path: "/merchant/public/qr/{id}", audience: "public", keyed: false, repeatable: true, binary: true, cursor: "" },
  list_payment_refunds: { name: "list_payment_refunds", method: "GET", path: "/merchant/payments/{id}/refunds", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "after" },
  refund_payment: { name: "refund_payment", method: "POST", path: "/merchant/payments/{id}/refunds", audience: "merchant", keyed: true, repeatable: true, binary: false, cursor: "" },
  get_refund: { name: "get_refund", method: "GET", path: "/merchant/refunds/{id}", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "" },
  get_balance: { name: "get_balance", method: "GET", path: "/merchant/balance", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "" },
  list_payouts: { name: "list_payouts", method: "GET", path: "/merchant/payouts", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "after" },
  get_payout: { name: "get_payout", method: "GET", path: "/merchant/payouts/{id}", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "" },
  list_payout_movements: { name: "list_payout_movements", method: "GET", path: "/merchant/payouts/{id}/movements", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "after" },
  sandbox_create_payout: { name: "sandbox_create_payout", method: "POST", path: "/merchant/sandbox/payouts", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  sandbox_settle_payout: { name: "sandbox_settle_payout", method: "POST", path: "/merchant/sandbox/payouts/{id}/settle", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  sandbox_return_payout: { name: "sandbox_return_payout", method: "POST", path: "/merchant/sandbox/payouts/{id}/return", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  list_payment_requests: { name: "list_payment_requests", method: "GET", path: "/merchant/payment-requests", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "after" },
  create_payment_request: { name: "create_payment_request", method: "POST", path: "/merchant/payment-requests", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "" },
  get_payment_request: { name: "get_payment_request", method: "GET", path: "/merchant/payment-requests/{id}", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "" },
  cancel_payment_request: { name: "cancel_payment_request", method: "POST", path: "/merchant/payment-requests/{id}/cancel", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "" },
  list_authorizations: { name: "list_authorizations", method: "GET", path: "/merchant/authorizations", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "after" },
  create_authorization: { name: "create_authorization", method: "POST", path: "/merchant/authorizations", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "" },
  get_authorization: { name: "get_authorization", method: "GET", path: "/merchant/authorizations/{id}", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "" },
  charge_authorization: { name: "charge_authorization", method: "POST", path: "/merchant/authorizations/{id}/charge", audience: "merchant", keyed: true, repeatable: true, binary: false, cursor: "" },
  preview_charge: { name: "preview_charge", method: "GET", path: "/merchant/authorizations/{id}/charge-preview", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "" },
  list_authorization_payments: { name: "list_authorization_payments", method: "GET", path: "/merchant/authorizations/{id}/payments", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "after" },
  cancel_authorization: { name: "cancel_authorization", method: "POST", path: "/merchant/authorizations/{id}/cancel", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "" },
  list_events: { name: "list_events", method: "GET", path: "/merchant/events", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "after" },
  get_event: { name: "get_event", method: "GET", path: "/merchant/events/{id}", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "" },
  sandbox_pay_payment: { name: "sandbox_pay_payment", method: "POST", path: "/merchant/sandbox/payments/{id}/pay", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  sandbox_reject_payment: { name: "sandbox_reject_payment", method: "POST", path: "/merchant/sandbox/payments/{id}/reject", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  sandbox_reserve_payment: { name: "sandbox_reserve_payment", method: "POST", path: "/merchant/sandbox/payments/{id}/reserve", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  sandbox_release_payment: { name: "sandbox_release_payment", method: "POST", path: "/merchant/sandbox/payments/{id}/release", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  sandbox_pay_payment_request: { name: "sandbox_pay_payment_request", method: "POST", path: "/merchant/sandbox/payment-requests/{id}/pay", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  sandbox_reject_payment_request: { name: "sandbox_reject_payment_request", method: "POST", path: "/merchant/sandbox/payment-requests/{id}/reject", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  sandbox_reserve_payment_request: { name: "sandbox_reserve_payment_request", method: "POST", path: "/merchant/sandbox/payment-requests/{id}/reserve", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  sandbox_release_payment_request: { name: "sandbox_release_payment_request", method: "POST", path: "/merchant/sandbox/payment-requests/{id}/release", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  sandbox_approve_authorization: { name: "sandbox_approve_authorization", method: "POST", path: "/merchant/sandbox/authorizations/{id}/approve", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  sandbox_reject_authorization: { name: "sandbox_reject_authorization", method: "POST", path: "/merchant/sandbox/authorizations/{id}/reject", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  sandbox_suspend_authorization: { name: "sandbox_suspend_authorization", method: "POST", path: "/merchant/sandbox/authorizations/{id}/suspend", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  sandbox_resume_authorization: { name: "sandbox_resume_authorization", method: "POST", path: "/merchant/sandbox/authorizations/{id}/resume", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  sandbox_set_wallet: { name: "sandbox_set_wallet", method: "POST", path: "/merchant/sandbox/wallet", audience: "merchant", keyed: false, repeatable: true, binary: false, cursor: "" },
  sandbox_move_clock: { name: "sandbox_move_clock", method: "POST", path: "/merchant/sandbox/clock", audience: "merchant", keyed: false, repeatable: false, binary: false, cursor: "" },
  wallet_balance: { name: "wallet_balance", method: "GET", path: "/wallet/balance", audience: "wallet", keyed: false, repeatable: true, binary: false, cursor: "" },
  wallet_usage: { name: "wallet_usage", method: "GET", path: "/wallet/usage", audience: "wallet", keyed: false, repeatable: true, binary: false, cursor: "" },
  wallet_transactions: { name: "wallet_transactions", method: "GET", path: "/wallet/transactions", audience: "wallet", keyed: false, repeatable: true, binary: false, cursor: "before" },
} as const;

export const operations: Readonly<Record<keyof typeof OPERATIONS, Operation>> =
  OPERATIONS;

export class SandboxPayouts {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Pay out all that is available in the sandbox. */
  create(options: CallOptions = {}): Promise<Payout> {
    return this.#connection.run(operations.sandbox_create_payout, { options });
  }

  /** Confirm a payout as the bank. */
  settle(id: string, options: CallOptions = {}): Promise<Payout> {
    return this.#connection.run(operations.sandbox_settle_payout, { options, id });
  }

  /** Return a payout as the bank; the money is available again. */
  sendBack(id: string, options: CallOptions = {}): Promise<Payout> {
    return this.#connection.run(operations.sandbox_return_payout, { options, id });
  }
}

export class SandboxPayments {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Pay as the sandbox customer. */
  pay(id: string, options: CallOptions = {}): Promise<HostedPayment> {
    return this.#connection.run(operations.sandbox_pay_payment, { options, id });
  }

  /** Decline as the sandbox customer. */
  reject(id: string, options: CallOptions = {}): Promise<HostedPayment> {
    return this.#connection.run(operations.sandbox_reject_payment, { options, id });
  }

  /** Start an attempt to pay that stays in processing. */
  reserve(id: string, options: CallOptions = {}): Promise<HostedPayment> {
    return this.#connection.run(operations.sandbox_reserve_payment, { options, id });
  }

  /** Release the attempt in processing. */
  release(id: string, options: CallOptions = {}): Promise<HostedPayment> {
    return this.#connection.run(operations.sandbox_release_payment, { options, id });
  }
}

export class SandboxPaymentRequests {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Pay a request as the sandbox customer. */
  pay(id: string, options: CallOptions = {}): Promise<PaymentRequest> {
    return this.#connection.run(operations.sandbox_pay_payment_request, { options, id });
  }

  /** Decline a request as the sandbox customer. */
  reject(id: string, options: CallOptions = {}): Promise<PaymentRequest> {
    return this.#connection.run(operations.sandbox_reject_payment_request, { options, id });
  }

  /** Start an attempt to pay a request that stays in processing. */
  reserve(id: string, options: CallOptions = {}): Promise<PaymentRequest> {
    return this.#connection.run(operations.sandbox_reserve_payment_request, { options, id });
  }

  /** Release the attempt in processing on a request. */
  release(id: string, options: CallOptions = {}): Promise<PaymentRequest> {
    return this.#connection.run(operations.sandbox_release_payment_request, { options, id });
  }
}

export class SandboxAuthorizations {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Approve as the sandbox customer. */
  approve(id: string, options: CallOptions = {}): Promise<Authorization> {
    return this.#connection.run(operations.sandbox_approve_authorization, { options, id });
  }

  /** Decline as the sandbox customer. */
  reject(id: string, options: CallOptions = {}): Promise<Authorization> {
    return this.#connection.run(operations.sandbox_reject_authorization, { options, id });
  }

  /** Stop charges until the authorization is resumed. */
  suspend(id: string, options: CallOptions = {}): Promise<Authorization> {
    return this.#connection.run(operations.sandbox_suspend_authorization, { options, id });
  }

  /** Allow charges again. */
  resume(id: string, options: CallOptions = {}): Promise<Authorization> {
    return this.#connection.run(operations.sandbox_resume_authorization, { options, id });
  }
}

export class Payments {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** List payments, newest first. */
  list(params: ListPaymentsParams = {}, options: CallOptions = {}): Listing<Payment> {
    return new Listing(this.#connection, operations.list_payments, { options, query: params });
  }

  /** Create a hosted payment. */
  create(params: CreatePaymentParams, options: KeyedOptions = {}): Promise<HostedPayment> {
    return this.#connection.run(operations.create_payment, { options, body: params });
  }

  /** Get a payment. */
  get(id: string, options: CallOptions = {}): Promise<Payment> {
    return this.#connection.run(operations.get_payment, { options, id });
  }

  /** Cancel a pending payment. */
  cancel(id: string, options: CallOptions = {}): Promise<HostedPayment> {
    return this.#connection.run(operations.cancel_payment, { options, id });
  }

  /** QR image of a payment link. */
  qr(id: string, options: CallOptions = {}): Promise<Uint8Array> {
    return this.#connection.run(operations.get_qr, { options, id });
  }

  /** List the refunds of a payment, newest first. */
  refunds(id: string, params: ListPaymentRefundsParams = {}, options: CallOptions = {}): Listing<Refund> {
    return new Listing(this.#connection, operations.list_payment_refunds, { options, id, query: params });
  }

  /** Refund a payment, or a part of it. */
  refund(id: string, params: RefundPaymentParams = {}, options: KeyedOptions = {}): Promise<Refund> {
    return this.#connection.run(operations.refund_payment, { options, id, body: params });
  }
}

export class Refunds {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Get a refund. */
  get(id: string, options: CallOptions = {}): Promise<Refund> {
    return this.#connection.run(operations.get_refund, { options, id });
  }
}

export class Balance {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Get your balance. */
  get(options: CallOptions = {}): Promise<MerchantBalance> {
    return this.#connection.run(operations.get_balance, { options });
  }
}

export class Payouts {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** List payouts, newest first. */
  list(params: ListPayoutsParams = {}, options: CallOptions = {}): Listing<Payout> {
    return new Listing(this.#connection, operations.list_payouts, { options, query: params });
  }

  /** Get a payout. */
  get(id: string, options: CallOptions = {}): Promise<Payout> {
    return this.#connection.run(operations.get_payout, { options, id });
  }

  /** List the movements of a payout, newest first. */
  movements(id: string, params: ListPayoutMovementsParams = {}, options: CallOptions = {}): Listing<PayoutMovement> {
    return new Listing(this.#connection, operations.list_payout_movements, { options, id, query: params });
  }
}

export class PaymentRequests {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** List payment requests, newest first. */
  list(params: ListPaymentRequestsParams = {}, options: CallOptions = {}): Listing<PaymentRequest> {
    return new Listing(this.#connection, operations.list_payment_requests, { options, query: params });
  }

  /** Request a payment from a customer. */
  create(params: CreatePaymentRequestParams, options: CallOptions = {}): Promise<PaymentRequest> {
    return this.#connection.run(operations.create_payment_request, { options, body: params });
  }

  /** Get a payment request. */
  get(id: string, options: CallOptions = {}): Promise<PaymentRequest> {
    return this.#connection.run(operations.get_payment_request, { options, id });
  }

  /** Cancel a pending payment request. */
  cancel(id: string, options: CallOptions = {}): Promise<PaymentRequest> {
    return this.#connection.run(operations.cancel_payment_request, { options, id });
  }
}

export class Authorizations {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** List authorizations, newest first. */
  list(params: ListAuthorizationsParams = {}, options: CallOptions = {}): Listing<Authorization> {
    return new Listing(this.#connection, operations.list_authorizations, { options, query: params });
  }

  /** Create an authorization for the customer to approve. */
  create(params: CreateAuthorizationParams, options: CallOptions = {}): Promise<Authorization> {
    return this.#connection.run(operations.create_authorization, { options, body: params });
  }

  /** Get an authorization. */
  get(id: string, options: CallOptions = {}): Promise<Authorization> {
    return this.#connection.run(operations.get_authorization, { options, id });
  }

  /** Charge an active authorization. */
  charge(id: string, params: ChargeAuthorizationParams, options: KeyedOptions = {}): Promise<AuthorizationPayment> {
    return this.#connection.run(operations.charge_authorization, { options, id, body: params });
  }

  /** Preview a charge, and show the rest of each limit. */
  previewCharge(id: string, params: PreviewChargeParams, options: CallOptions = {}): Promise<ChargePreview> {
    return this.#connection.run(operations.preview_charge, { options, id, query: params });
  }

  /** List the payments of an authorization, newest first. */
  payments(id: string, params: ListAuthorizationPaymentsParams = {}, options: CallOptions = {}): Listing<AuthorizationPayment> {
    return new Listing(this.#connection, operations.list_authorization_payments, { options, id, query: params });
  }

  /** Cancel a pending authorization, revoke an approved one. */
  cancel(id: string, options: CallOptions = {}): Promise<Authorization> {
    return this.#connection.run(operations.cancel_authorization, { options, id });
  }
}

export class Events {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** List events, newest first. */
  list(params: ListEventsParams = {}, options: CallOptions = {}): Listing<Event> {
    return new Listing(this.#connection, operations.list_events, { options, query: params });
  }

  /** Get an event. */
  get(id: string, options: CallOptions = {}): Promise<Event> {
    return this.#connection.run(operations.get_event, { options, id });
  }
}

export class Sandbox {
  readonly #connection: Connection;
  readonly authorizations: SandboxAuthorizations;
  readonly paymentRequests: SandboxPaymentRequests;
  readonly payments: SandboxPayments;
  readonly payouts: SandboxPayouts;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.authorizations = new SandboxAuthorizations(connection);
    this.paymentRequests = new SandboxPaymentRequests(connection);
    this.payments = new SandboxPayments(connection);
    this.payouts = new SandboxPayouts(connection);
  }

  /** Set the sandbox customer's balance and tier. */
  setWallet(params: SandboxSetWalletParams = {}, options: CallOptions = {}): Promise<SandboxWallet> {
    return this.#connection.run(operations.sandbox_set_wallet, { options, body: params });
  }

  /** Move the sandbox's time. */
  moveClock(params: SandboxMoveClockParams = {}, options: CallOptions = {}): Promise<SandboxClock> {
    return this.#connection.run(operations.sandbox_move_clock, { options, body: params });
  }
}

export class Wallet {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Read the balances. */
  balance(options: CallOptions = {}): Promise<WalletBalance[]> {
    return this.#connection.run(operations.wallet_balance, { options });
  }

  /** Read limits and usage. */
  usage(options: CallOptions = {}): Promise<Usage> {
    return this.#connection.run(operations.wallet_usage, { options });
  }

  /** Read the history, newest first. */
  transactions(params: WalletTransactionsParams = {}, options: CallOptions = {}): Listing<WalletTransaction> {
    return new Listing(this.#connection, operations.wallet_transactions, { options, query: params });
  }
}

/** Everything the interface offers, by what it is about. */
export class Resources {
  readonly payments: Payments;
  readonly refunds: Refunds;
  readonly balance: Balance;
  readonly payouts: Payouts;
  readonly paymentRequests: PaymentRequests;
  readonly authorizations: Authorizations;
  readonly events: Events;
  readonly sandbox: Sandbox;
  readonly wallet: Wallet;

  constructor(connection: Connection) {
    this.payments = new Payments(connection);
    this.refunds = new Refunds(connection);
    this.balance = new Balance(connection);
    this.payouts = new Payouts(connection);
    this.paymentRequests = new PaymentRequests(connection);
    this.authorizations = new Authorizations(connection);
    this.events = new Events(connection);
    this.sandbox = new Sandbox(connection);
    this.wallet = new Wallet(connection);
  }
}
