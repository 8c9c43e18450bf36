<?php

// Every method of the client once; arguments: origin, key, OAuth client, its secret.

declare(strict_types=1);

require dirname(__DIR__, 3) . '/clients/php/autoload.php';

use Laari\Client;
use Laari\LaariError;

[, $origin, $key, $clientId, $clientSecret] = $argv;
$client = new Client($origin, secretKey: $key);

function check(bool $holds, string $what): void
{
    if (!$holds) {
        throw new Exception("not so: $what");
    }
}

function refusal(callable $work): LaariError
{
    try {
        $work();
    } catch (LaariError $error) {
        return $error;
    }
    throw new Exception('it worked');
}

function references(iterable $items): string
{
    return implode(',', array_column(iterator_to_array($items, false), 'reference'));
}

function first(iterable $items): array
{
    foreach ($items as $item) {
        return $item;
    }
    throw new Exception('it is empty');
}

$purse = $client->sandbox->setWallet(balance: 50_000_000, tier: 'business');
check($purse['balance'] === 50_000_000, 'wallet');

$made = $client->payments->create(reference: 'p-1', amount: 9_999_999_999, metadata: ['basket' => 'b-77']);
check($made['status'] === 'pending' && $made['metadata'] === ['basket' => 'b-77'], 'created');
check(str_starts_with($client->payments->qr($made['id']), "\x89PNG"), 'QR image');
check($client->sandbox->payments->reserve($made['id'])['status'] === 'pending', 'reserved');
check($client->sandbox->payments->release($made['id'])['status'] === 'pending', 'released');
check($client->payments->cancel($made['id'])['status'] === 'cancelled', 'cancelled');
check($client->payments->get($made['id'])['amount'] === 9_999_999_999, 'read');
$other = $client->payments->create(reference: 'p-2', amount: 100, metadata: []);
check($client->sandbox->payments->reject($other['id'])['status'] === 'rejected', 'rejected');
$third = $client->payments->create(reference: 'p-3', amount: 12_550);
check($client->sandbox->payments->pay($third['id'])['status'] === 'paid', 'paid');
check(references($client->payments->list(limit: 2)) === 'p-3,p-2', 'a limit is a limit');
check(references($client->payments->list()) === 'p-3,p-2,p-1', 'listed');
check(references($client->payments->list(reference: 'p-2')) === 'p-2', 'by reference');
$pages = iterator_to_array($client->payments->list(limit: 2)->pages(), false);
check(array_map(static fn ($page) => references($page->items), $pages) === ['p-3,p-2', 'p-1'], 'pages');
check($pages[1]->nextCursor === null, 'the last page');
$rest = $client->payments->list(limit: 2)->pages($pages[0]->nextCursor)->current();
check(references($rest->items) === 'p-1', 'from a cursor');

$ids = [];
foreach (['r-0', 'r-1', 'r-2'] as $reference) {
    $customer = ['type' => 'vpa', 'value' => 'sandbox'];
    $ids[] = $client->paymentRequests->create(reference: $reference, amount: 500, customer: $customer)['id'];
}
$requests = $client->sandbox->paymentRequests;
check($requests->reserve($ids[0])['status'] === 'pending', 'request reserved');
check($requests->release($ids[0])['status'] === 'pending', 'request released');
check($requests->pay($ids[0])['payment_id'] !== null, 'request paid');
check($requests->reject($ids[1])['status'] === 'rejected', 'request rejected');
check($client->paymentRequests->cancel($ids[2])['status'] === 'cancelled', 'request cancelled');
check($client->paymentRequests->get($ids[2])['customer']['value'] === 'sandbox', 'request read');
check(references($client->paymentRequests->list()) === 'r-2,r-1,r-0', 'requests listed');

$limits = ['total' => 999_999_999_999_999_999, 'period' => ['interval' => 'month', 'amount' => 5_000]];
$asked = $client->authorizations->create(reference: 'a-1', title: 'Box', limits: $limits);
check($asked['limits']['total'] === 999_999_999_999_999_999, 'exact beyond 2^53');
check($client->sandbox->authorizations->approve($asked['id'])['status'] === 'active', 'approved');
check($client->sandbox->authorizations->suspend($asked['id'])['status'] === 'suspended', 'suspended');
check($client->sandbox->authorizations->resume($asked['id'])['status'] === 'active', 'resumed');
check($client->authorizations->previewCharge($asked['id'], amount: 6_000)['code'] === 'period_limit_exceeded', 'preview');
$charge = $client->authorizations->charge($asked['id'], reference: 'c-1', amount: 4_000);
check(first($client->authorizations->payments($asked['id']))['id'] === $charge['id'], 'charged');
check($client->authorizations->cancel($asked['id'])['status'] === 'revoked', 'revoked');
$unwanted = $client->authorizations->create(reference: 'a-2', title: 'Box');
check($client->sandbox->authorizations->reject($unwanted['id'])['status'] === 'rejected', 'declined');
check($client->authorizations->get($asked['id'])['usage']['total_paid'] === 4_000, 'usage');
check(references($client->authorizations->list(status: 'revoked')) === 'a-1', 'by status');

$event = first($client->events->list(type: 'payment.cancelled', delivered: false));
check($event['data']['payment_url'] === $made['payment_url'], 'event');
check($client->events->get($event['id'])['id'] === $event['id'], 'event read');
check($client->sandbox->moveClock(advanceSeconds: 60)['offset_seconds'] === 60, 'clock');
check($client->sandbox->moveClock(reset: true)['offset_seconds'] === 0, 'clock back');

$wallet = (new Client($origin, walletKey: $purse['api_key']))->wallet;
check($wallet->balance()[0]['ledger_balance'] === 499_829.5, 'balance');
check($wallet->usage()['limits']['daily'] === null, 'usage of the wallet');
check(first($wallet->transactions())['amount'] == -40, 'history');

$away = new Client('http://127.0.0.1:9', secretKey: $key, deadline: 0.1);
check(refusal(fn () => $away->balance->get()) instanceof Laari\NoAnswerError, 'nobody answers');
$wrong = refusal(fn () => $client->payments->create(reference: 'p-9', amount: 0));
check([$wrong->errorCode, $wrong->status, $wrong->field] === ['invalid_request', 400, 'amount'], 'field');
check($wrong->requestId !== null, 'request id');
$kinds = [400 => 'BadRequest', 401 => 'Unauthorized', 402 => 'InsufficientBalance', 403 => 'Forbidden',
    404 => 'NotFound', 409 => 'Conflict', 422 => 'WalletLimitExceeded', 429 => 'RateLimited', 503 => 'Server'];
foreach ($kinds as $status => $kind) {
    check(LaariError::kind($status, 'any') === "Laari\\{$kind}Error", "the class of status $status");
}
foreach (['a/b', '../payments', 'x?limit=1', 'é', 'a#b'] as $strange) {
    $missing = refusal(fn () => $client->payments->get($strange));
    check($missing instanceof Laari\NotFoundError && $missing->status === 404, "id $strange");
}
$once = $client->payments->create(reference: 'k-1', amount: 100, idempotencyKey: 'order-1');
check($client->payments->create(reference: 'k-1', amount: 100, idempotencyKey: 'order-1')['id'] === $once['id'], 'key');
$conflict = refusal(fn () => $client->payments->create(reference: 'k-2', amount: 100, idempotencyKey: 'order-1'));
check($conflict instanceof Laari\ConflictError, 'its kind');
check($conflict->errorCode === 'idempotency_conflict', 'key of another request');

$limited = new Client($origin, clientId: $clientId, clientSecret: $clientSecret, scope: 'payments:read');
check($limited->payments->get($made['id'])['id'] === $made['id'], 'token');
check(refusal(fn () => $limited->payments->cancel($once['id']))->status === 403, 'scope');
$stranger = new Client($origin, clientId: $clientId, clientSecret: 'wrong');
check(refusal(fn () => $stranger->payments->get($made['id']))->errorCode === 'invalid_client', 'wrong secret');
foreach ([['x'], ['http://shop.example', 'k'], [$origin], [$origin, "k\n"], [$origin, 'k', 'id', 's']] as $wrong) {
    try {
        new Client(...$wrong);
        check(false, 'a client that cannot work: ' . json_encode($wrong));
    } catch (InvalidArgumentException) {
    }
}
$sold = $client->sandbox->payments->pay($client->payments->create(reference: 'm-1', amount: 700)['id']);
$refund = $client->payments->refund($sold['id'], amount: 50);
check($client->refunds->get($refund['id'])['amount'] === 50, 'refund');
foreach ($client->payments->refunds($sold['id']) as $each) {
    check($each['id'] === $refund['id'], 'refunds');
}
$money = $client->balance->get();
$payout = $client->sandbox->payouts->create();
check($payout['amount'] === $money['available'], 'payout');
check($client->sandbox->payouts->settle($payout['id'])['status'] === 'settled', 'settled');
check($client->payouts->get($payout['id'])['status'] === 'settled', 'one payout');
foreach ($client->payouts->list() as $each) {
    check($each['id'] === $payout['id'], 'payouts');
}
check(iterator_count($client->payouts->movements($payout['id'])) > 0, 'movements');
$client->sandbox->payments->pay($client->payments->create(reference: 'm-2', amount: 700)['id']);
$back = $client->sandbox->payouts->create();
check($client->sandbox->payouts->sendBack($back['id'])['status'] === 'returned', 'returned');
echo "done\n";
