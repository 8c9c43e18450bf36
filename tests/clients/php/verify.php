<?php

// Whether a webhook is accepted; standard input: a list of [body, header, secrets, now] as JSON.

declare(strict_types=1);

require dirname(__DIR__, 3) . '/clients/php/autoload.php';

$verdicts = [];
foreach (json_decode(stream_get_contents(STDIN), true) as [$body, $header, $secrets, $now]) {
    try {
        $verdicts[] = Laari\Webhook::verify($body, $header, $secrets, now: $now)['id'];
    } catch (Laari\LaariError | InvalidArgumentException $error) {
        $verdicts[] = $error::class;
    }
}
echo json_encode($verdicts), "\n";
