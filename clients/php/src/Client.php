<?php

declare(strict_types=1);

namespace Laari;

/**
 * The interface of a Laari service.
 *
 *     $laari = new Laari\Client('https://pay.example.com', secretKey: getenv('LAARI_SECRET_KEY'));
 *     $payment = $laari->payments->create(reference: 'order-1', amount: 12550);
 *
 * Results are arrays as the service sends them. Amounts are integer laari: 12550 is MVR 125.50. Calls that fail
 * for a moment are repeated if that is safe, until `deadline` seconds have passed.
 */
final class Client extends Resources
{
    public const VERSION = '0.1.0';

    private const FIRST_PAUSE = 0.25;
    private const LONGEST_PAUSE = 8.0;
    private const TOKEN_MARGIN = 60; // seconds before its end in which a token is renewed
    private const LARGEST_ANSWER = 33554432;

    // The service has begun nothing, so every request may be repeated.
    private const NOTHING_BEGUN = ['service_unavailable', 'temporarily_unavailable'];
    private const NOT_CONNECTED = [CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT];
    // A wrong certificate stays wrong.
    private const LASTING = [CURLE_SSL_CONNECT_ERROR, CURLE_SSL_PEER_CERTIFICATE, CURLE_SSL_CACERT, CURLE_WRITE_ERROR];
    // The outcome is unknown or still to come: only a repeatable request is repeated.
    private const UNKNOWN_STATUSES = [500, 502, 503, 504];
    private const UNKNOWN_CODES = ['idempotency_in_progress', 'payment_in_progress', 'idempotency_unavailable'];

    private readonly string $origin;
    private ?string $token = null;
    private float $tokenEnds = 0.0;

    public function __construct(
        string $baseUrl,
        #[\SensitiveParameter] private readonly ?string $secretKey = null,
        private readonly ?string $clientId = null,
        #[\SensitiveParameter] private readonly ?string $clientSecret = null,
        private readonly ?string $scope = null,
        #[\SensitiveParameter] private readonly ?string $walletKey = null,
        private readonly float $timeout = 15.0,
        private readonly float $deadline = 60.0,
        bool $allowHttp = false,
    ) {
        $parts = parse_url($baseUrl);
        $host = $parts['host'] ?? '';
        $scheme = $parts['scheme'] ?? '';
        if ($host === '' || !in_array($scheme, ['http', 'https'], true) || isset($parts['user']) || isset($parts['query'])) {
            throw new \InvalidArgumentException('baseUrl must be the http or https address of the service.');
        }
        if ($scheme === 'http' && !$allowHttp && !preg_match('/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/D', $host)) {
            throw new \InvalidArgumentException('Plain http shows the key to the network. Use https, or allowHttp.');
        }
        if (($clientId === null) !== ($clientSecret === null)) {
            throw new \InvalidArgumentException('clientId and clientSecret belong together.');
        }
        if (($secretKey !== null) === ($clientId !== null) && ($secretKey !== null || $walletKey === null)) {
            throw new \InvalidArgumentException('Give secretKey, or clientId and clientSecret, or walletKey.');
        }
        foreach ([$secretKey, $clientId, $clientSecret, $walletKey] as $credential) {
            if ($credential !== null && !preg_match('/^[!-~]+$/D', $credential)) {
                throw new \InvalidArgumentException('A credential is empty or contains a space or a line end.');
            }
        }
        $this->origin = preg_replace('#(/merchant)?/*$#D', '', $baseUrl);
        parent::__construct();
    }

    /** @internal */
    public function call(
        string $operation,
        array $query = [],
        ?array $body = null,
        ?string $id = null,
        ?string $idempotencyKey = null,
    ): mixed {
        $described = self::OPERATIONS[$operation];
        $answer = $this->send($described, $query, $body, $id, $idempotencyKey);
        return $described['binary'] ? $answer : $answer['data'];
    }

    /** @internal */
    public function listing(string $operation, array $query, ?string $id = null): Listing
    {
        $described = self::OPERATIONS[$operation];
        $read = function (?int $size, ?string $cursor) use ($described, $query, $id): array {
            $page = ['limit' => $size, $described['cursor'] => $cursor] + $query;
            return $this->send($described, $page, null, $id, null);
        };
        return new Listing($read, $query['limit'] ?? null);
    }

    private function send(array $operation, array $query, ?array $body, ?string $id, ?string $key): mixed
    {
        $path = $operation['path'];
        if (str_contains($path, '{id}')) {
            if ($id === null || $id === '' || $id === '.' || $id === '..') {
                throw new \InvalidArgumentException('The id is empty.');
            }
            $path = str_replace('{id}', rawurlencode($id), $path);
        }
        $query = array_filter($query, static fn ($value) => $value !== null);
        $query = array_map(static fn ($value) => is_bool($value) ? ($value ? 'true' : 'false') : $value, $query);
        $address = $this->origin . $path . ($query === [] ? '' : '?' . http_build_query($query));
        $headers = ['User-Agent: laari-client-php/' . self::VERSION, 'Expect:'];
        if ($operation['audience'] !== 'wallet') {
            $headers[] = 'Service-Version: ' . self::API_VERSION;
        }
        if ($operation['keyed']) {
            $key ??= bin2hex(random_bytes(16));
            if (!preg_match('/^[!-~]{1,255}$/D', $key)) {
                throw new \InvalidArgumentException('An idempotency key has 1 to 255 ASCII characters and no spaces.');
            }
            $headers[] = "Idempotency-Key: $key";
        }
        $content = null;
        if ($body !== null) {
            $body = array_filter($body, static fn ($value) => $value !== null);
            $content = json_encode((object) $body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES);
            $headers[] = 'Content-Type: application/json';
        }
        return $this->attempts($operation, $address, $headers, $content, microtime(true) + $this->deadline);
    }

    private function attempts(array $operation, string $address, array $headers, ?string $content, float $ends): mixed
    {
        $renewed = false;
        for ($attempt = 1; ; $attempt++) {
            $proof = $this->proof($operation['audience'], $ends);
            try {
                return $this->attempt($operation, $address, [...$headers, ...$proof], $content, $ends);
            } catch (Interrupted $failure) {
                $error = $failure->error;
                if ($error->status === 401 && $this->token !== null && $operation['audience'] === 'merchant' && !$renewed) {
                    $this->token = null; // it ended or was revoked
                    $renewed = true;
                    continue;
                }
                $limit = min(self::FIRST_PAUSE * 2 ** ($attempt - 1), self::LONGEST_PAUSE);
                $pause = max($error->retryAfter ?? 0.0, $limit * (0.5 + random_int(0, 1000) / 2000));
                if (!$failure->nothingBegun && !($failure->unknown && $operation['repeatable'])) {
                    throw $error;
                }
                if (microtime(true) + $pause >= $ends) {
                    throw $error;
                }
                usleep((int) ($pause * 1_000_000));
            }
        }
    }

    private function attempt(array $operation, string $address, array $headers, ?string $content, float $ends): mixed
    {
        $received = '';
        $answered = [];
        $curl = curl_init($address);
        curl_setopt_array($curl, [
            CURLOPT_CUSTOMREQUEST => $operation['method'],
            CURLOPT_HTTPHEADER => $headers,
            CURLOPT_TIMEOUT_MS => (int) max(1, 1000 * min($this->timeout, $ends - microtime(true))),
            CURLOPT_FOLLOWLOCATION => false, // the credentials belong to this address alone
            CURLOPT_WRITEFUNCTION => static function ($curl, string $part) use (&$received): int {
                $received .= $part;
                return strlen($received) > self::LARGEST_ANSWER ? -1 : strlen($part);
            },
            CURLOPT_HEADERFUNCTION => static function ($curl, string $line) use (&$answered): int {
                [$name, $value] = explode(':', $line, 2) + [1 => ''];
                $answered[strtolower(trim($name))] = trim($value);
                return strlen($line);
            },
        ]);
        if ($content !== null || $operation['method'] !== 'GET') {
            curl_setopt($curl, CURLOPT_POSTFIELDS, $content ?? '');
        }
        if (!curl_exec($curl)) {
            $reason = curl_error($curl);
            $number = curl_errno($curl);
            $begun = !in_array($number, self::NOT_CONNECTED, true);
            $code = $number === CURLE_OPERATION_TIMEDOUT ? 'timeout' : ($begun ? 'connection_lost' : 'connection_failed');
            $error = new NoAnswerError("No answer from $this->origin: $reason.", $code);
            throw new Interrupted($error, !$begun, !in_array($number, self::LASTING, true));
        }
        $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
        if ($operation['binary'] && $status === 200) {
            return $received;
        }
        $answer = json_decode($received, true, 64, JSON_BIGINT_AS_STRING);
        $request = $answered['request-id'] ?? null;
        if ($status < 300 && is_array($answer) && array_key_exists($operation['key'] ?? 'data', $answer)) {
            return $answer;
        }
        $told = is_array($answer) ? ($answer['error'] ?? null) : null;
        $detail = is_array($told) ? $told : ['code' => $told, 'message' => $answer['error_description'] ?? null];
        $code = is_string($detail['code'] ?? null) ? $detail['code'] : 'invalid_response';
        $error = new (LaariError::kind($status, $code))(
            $detail['message'] ?? "The answer with status $status is not from Laari.",
            $code,
            $status,
            $detail['field'] ?? null,
            $request,
            is_numeric($answered['retry-after'] ?? null) ? (float) $answered['retry-after'] : null,
        );
        throw new Interrupted(
            $error,
            in_array($status, [408, 429], true) || in_array($code, self::NOTHING_BEGUN, true),
            $status < 300 // cut short, or not from Laari
                || in_array($status, self::UNKNOWN_STATUSES, true) || in_array($code, self::UNKNOWN_CODES, true),
        );
    }

    /** @return string[] */
    private function proof(string $audience, float $ends): array
    {
        if ($audience === 'public') {
            return [];
        }
        if ($audience === 'token') {
            $pair = rawurlencode($this->clientId) . ':' . rawurlencode($this->clientSecret);
            return ['Authorization: Basic ' . base64_encode($pair)];
        }
        $key = $audience === 'wallet' ? $this->walletKey : $this->secretKey;
        if ($key !== null) {
            return ["X-API-Key: $key"];
        }
        if ($audience === 'wallet' || $this->clientId === null) {
            throw new \InvalidArgumentException("There are no credentials for the $audience interface.");
        }
        if ($this->token === null || microtime(true) >= $this->tokenEnds) {
            $form = ['grant_type' => 'client_credentials'] + ($this->scope === null ? [] : ['scope' => $this->scope]);
            $operation = ['method' => 'POST', 'audience' => 'token', 'keyed' => false, 'repeatable' => true,
                'binary' => false, 'key' => 'access_token'];
            $address = $this->origin . '/merchant/oauth/token';
            $headers = ['Content-Type: application/x-www-form-urlencoded'];
            $answer = $this->attempts($operation, $address, $headers, http_build_query($form), $ends);
            $this->token = $answer['access_token'];
            $life = (float) $answer['expires_in'];
            $this->tokenEnds = microtime(true) + $life - min(self::TOKEN_MARGIN, $life / 10);
        }
        return ["Authorization: Bearer $this->token"];
    }
}
