<?php

// Made from the OpenAPI document by `make clients`; changes belong there or in tools/clients.

declare(strict_types=1);

namespace Laari;

/** Everything the interface offers, by resource. */
abstract class Resources
{
    protected const API_VERSION = '2027-07-01';
    protected const OPERATIONS = [
        'list_payments' => ['method' => 'GET', 'path' => '/merchant/payments', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => 'after'],
        'create_payment' => ['method' => 'POST', 'path' => '/merchant/payments', 'audience' => 'merchant', 'keyed' => true, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'get_payment' => ['method' => 'GET', 'path' => '/merchant/payments/{id}', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'cancel_payment' => ['method' => 'POST', 'path' => '/merchant/payments/{id}/cancel', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'get_qr' => ['method' => 'GET', 'path' => '/merchant/public/qr/{id}', 'audience' => 'public', 'keyed' => false, 'repeatable' => true, 'binary' => true, 'cursor' => ''],
        'list_payment_refunds' => ['method' => 'GET', 'path' => '/merchant/payments/{id}/refunds', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => 'after'],
        'refund_payment' => ['method' => 'POST', 'path' => '/merchant/payments/{id}/refunds', 'audience' => 'merchant', 'keyed' => true, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'get_refund' => ['method' => 'GET', 'path' => '/merchant/refunds/{id}', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'get_balance' => ['method' => 'GET', 'path' => '/merchant/balance', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'list_payouts' => ['method' => 'GET', 'path' => '/merchant/payouts', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => 'after'],
        'get_payout' => ['method' => 'GET', 'path' => '/merchant/payouts/{id}', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'list_payout_movements' => ['method' => 'GET', 'path' => '/merchant/payouts/{id}/movements', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => 'after'],
        'sandbox_create_payout' => ['method' => 'POST', 'path' => '/merchant/sandbox/payouts', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'sandbox_settle_payout' => ['method' => 'POST', 'path' => '/merchant/sandbox/payouts/{id}/settle', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'sandbox_return_payout' => ['method' => 'POST', 'path' => '/merchant/sandbox/payouts/{id}/return', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'list_payment_requests' => ['method' => 'GET', 'path' => '/merchant/payment-requests', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => 'after'],
        'create_payment_request' => ['method' => 'POST', 'path' => '/merchant/payment-requests', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'get_payment_request' => ['method' => 'GET', 'path' => '/merchant/payment-requests/{id}', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'cancel_payment_request' => ['method' => 'POST', 'path' => '/merchant/payment-requests/{id}/cancel', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'list_authorizations' => ['method' => 'GET', 'path' => '/merchant/authorizations', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => 'after'],
        'create_authorization' => ['method' => 'POST', 'path' => '/merchant/authorizations', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'get_authorization' => ['method' => 'GET', 'path' => '/merchant/authorizations/{id}', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'charge_authorization' => ['method' => 'POST', 'path' => '/merchant/authorizations/{id}/charge', 'audience' => 'merchant', 'keyed' => true, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'preview_charge' => ['method' => 'GET', 'path' => '/merchant/authorizations/{id}/charge-preview', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'list_authorization_payments' => ['method' => 'GET', 'path' => '/merchant/authorizations/{id}/payments', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => 'after'],
        'cancel_authorization' => ['method' => 'POST', 'path' => '/merchant/authorizations/{id}/cancel', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'list_events' => ['method' => 'GET', 'path' => '/merchant/events', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => 'after'],
        'get_event' => ['method' => 'GET', 'path' => '/merchant/events/{id}', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'sandbox_pay_payment' => ['method' => 'POST', 'path' => '/merchant/sandbox/payments/{id}/pay', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'sandbox_reject_payment' => ['method' => 'POST', 'path' => '/merchant/sandbox/payments/{id}/reject', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'sandbox_reserve_payment' => ['method' => 'POST', 'path' => '/merchant/sandbox/payments/{id}/reserve', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'sandbox_release_payment' => ['method' => 'POST', 'path' => '/merchant/sandbox/payments/{id}/release', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'sandbox_pay_payment_request' => ['method' => 'POST', 'path' => '/merchant/sandbox/payment-requests/{id}/pay', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'sandbox_reject_payment_request' => ['method' => 'POST', 'path' => '/merchant/sandbox/payment-requests/{id}/reject', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'sandbox_reserve_payment_request' => ['method' => 'POST', 'path' => '/merchant/sandbox/payment-requests/{id}/reserve', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'sandbox_release_payment_request' => ['method' => 'POST', 'path' => '/merchant/sandbox/payment-requests/{id}/release', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'sandbox_approve_authorization' => ['method' => 'POST', 'path' => '/merchant/sandbox/authorizations/{id}/approve', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'sandbox_reject_authorization' => ['method' => 'POST', 'path' => '/merchant/sandbox/authorizations/{id}/reject', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'sandbox_suspend_authorization' => ['method' => 'POST', 'path' => '/merchant/sandbox/authorizations/{id}/suspend', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'sandbox_resume_authorization' => ['method' => 'POST', 'path' => '/merchant/sandbox/authorizations/{id}/resume', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'sandbox_set_wallet' => ['method' => 'POST', 'path' => '/merchant/sandbox/wallet', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'sandbox_move_clock' => ['method' => 'POST', 'path' => '/merchant/sandbox/clock', 'audience' => 'merchant', 'keyed' => false, 'repeatable' => false, 'binary' => false, 'cursor' => ''],
        'wallet_balance' => ['method' => 'GET', 'path' => '/wallet/balance', 'audience' => 'wallet', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'wallet_usage' => ['method' => 'GET', 'path' => '/wallet/usage', 'audience' => 'wallet', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => ''],
        'wallet_transactions' => ['method' => 'GET', 'path' => '/wallet/transactions', 'audience' => 'wallet', 'keyed' => false, 'repeatable' => true, 'binary' => false, 'cursor' => 'before'],
    ];

    public readonly Payments $payments;
    public readonly Refunds $refunds;
    public readonly Balance $balance;
    public readonly Payouts $payouts;
    public readonly PaymentRequests $paymentRequests;
    public readonly Authorizations $authorizations;
    public readonly Events $events;
    public readonly Sandbox $sandbox;
    public readonly Wallet $wallet;

    public function __construct()
    {
        $this->payments = new Payments($this);
        $this->refunds = new Refunds($this);
        $this->balance = new Balance($this);
        $this->payouts = new Payouts($this);
        $this->paymentRequests = new PaymentRequests($this);
        $this->authorizations = new Authorizations($this);
        $this->events = new Events($this);
        $this->sandbox = new Sandbox($this);
        $this->wallet = new Wallet($this);
    }
}
