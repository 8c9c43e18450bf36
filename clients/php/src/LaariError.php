<?php

declare(strict_types=1);

namespace Laari;

/**
 * A call failed. Decide by `errorCode`, never by the message.
 *
 * `status` is 0 if there was no answer; then the request may have been carried out. `requestId` names the
 * request in the log of the service.
 */
class LaariError extends \RuntimeException
{
    public function __construct(
        string $message,
        public readonly string $errorCode,
        public readonly int $status = 0,
        public readonly ?string $field = null,
        public readonly ?string $requestId = null,
        public readonly ?float $retryAfter = null,
    ) {
        parent::__construct($message);
    }
}
