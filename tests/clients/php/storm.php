<?php

// Writes through a faulty proxy; arguments: origin, key, authorization, number.
// Prints the id that each reference was given.

declare(strict_types=1);

require dirname(__DIR__, 3) . '/clients/php/autoload.php';

const AMOUNT = 250;
const KINDS = ['payment', 'charge', 'request', 'authorization', 'cancelled'];

[, $origin, $key, $authorization, $number] = $argv;
$client = new Laari\Client($origin, secretKey: $key, timeout: 1.0, deadline: 120.0);
$ids = [];
for ($each = 0; $each < (int) $number; $each++) {
    $kind = KINDS[$each % 5];
    $reference = "$kind-$each";
    $made = match ($kind) {
        'charge' => $client->authorizations->charge($authorization, reference: $reference, amount: AMOUNT),
        'request' => $client->paymentRequests->create(
            reference: $reference, amount: AMOUNT, customer: ['type' => 'vpa', 'value' => 'sandbox'],
        ),
        'authorization' => $client->authorizations->create(reference: $reference, title: 'Box'),
        default => $client->payments->create(reference: $reference, amount: AMOUNT),
    };
    if ($kind === 'cancelled') {
        $client->payments->cancel($made['id']);
    }
    $ids[$reference] = $made['id'];
}
echo json_encode($ids), "\n";
