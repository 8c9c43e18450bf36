<?php

declare(strict_types=1);

namespace Laari;

/** The signature of a webhook. */
final class Webhook
{
    /**
     * Returns the event if the service signed this body with this secret within the last `tolerance` seconds.
     *
     * `$body` is the raw body: `file_get_contents('php://input')`. `$header` is `Service-Signature`:
     * `$_SERVER['HTTP_SERVICE_SIGNATURE'] ?? ''`. During a change of the key, give the old and the new secret.
     * Respond to a `WebhookVerificationError` with status 401.
     *
     * @param string|string[] $secret
     * @return array<string, mixed>
     */
    public static function verify(
        string $body,
        ?string $header,
        #[\SensitiveParameter] string|array $secret,
        int $tolerance = 300,
        ?int $now = null,
    ): array {
        $secrets = (array) $secret;
        if ($secrets === [] || in_array('', $secrets, true)) {
            throw new \InvalidArgumentException('The secret is empty: anybody could sign.');
        }
        $times = $signatures = [];
        foreach (explode(',', $header ?? '') as $part) {
            [$label, $value] = explode('=', trim($part), 2) + [1 => ''];
            if ($label === 't') {
                $times[] = $value;
            } elseif ($label === 'v1') {
                $signatures[] = $value;
            }
        }
        if (count($times) !== 1 || !preg_match('/^[0-9]{1,12}$/D', $times[0])) {
            throw self::refused('the signature is missing or has no time');
        }
        if (abs(($now ?? time()) - (int) $times[0]) > $tolerance) {
            throw self::refused('its time is too far from the time of this machine');
        }
        $genuine = false;
        foreach ($secrets as $each) {
            $expected = hash_hmac('sha256', "$times[0].$body", $each);
            foreach ($signatures as $signature) {
                $genuine = hash_equals($expected, $signature) || $genuine;
            }
        }
        if (!$genuine) {
            throw self::refused('the signature does not match the body and the secret');
        }
        $event = json_decode($body, true);
        if (!is_array($event) || !is_string($event['id'] ?? null) || !is_string($event['type'] ?? null)) {
            throw self::refused('the body is not an event');
        }
        return $event;
    }

    private static function refused(string $why): WebhookVerificationError
    {
        return new WebhookVerificationError("The webhook is refused: $why.", 'webhook_refused');
    }
}
