<?php

declare(strict_types=1);

namespace Laari;

/** The webhook is not from the service, or too old. Respond with status 401. */
final class WebhookVerificationError extends LaariError
{
}
