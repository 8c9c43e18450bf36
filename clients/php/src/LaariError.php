<?php

declare(strict_types=1);

namespace Laari;

/**
 * A call failed. Each kind of failure has a class; within a kind, decide by `errorCode`, never by the message.
 *
 * `status` is 0 if there was no answer; then the request may have been carried out. `requestId` names the
 * request in the log of the service.
 */
class LaariError extends \RuntimeException
{
    private const KINDS = [
        400 => BadRequestError::class,
        401 => UnauthorizedError::class,
        402 => InsufficientBalanceError::class,
        403 => ForbiddenError::class,
        404 => NotFoundError::class,
        409 => ConflictError::class,
        422 => WalletLimitExceededError::class,
        429 => RateLimitedError::class,
    ];

    final public function __construct(
        string $message,
        public readonly string $errorCode,
        public readonly int $status = 0,
        public readonly ?string $field = null,
        public readonly ?string $requestId = null,
        public readonly ?float $retryAfter = null,
    ) {
        parent::__construct($message);
    }

    /**
     * @internal
     * @return class-string<self>
     */
    public static function kind(int $status, string $code): string
    {
        if ($code === 'invalid_response') {
            return InvalidResponseError::class;
        }
        return self::KINDS[$status] ?? ($status >= 500 ? ServerError::class : self::class);
    }
}
