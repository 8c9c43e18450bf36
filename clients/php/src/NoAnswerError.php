<?php

declare(strict_types=1);

namespace Laari;

/** The service did not answer, so the outcome may be unknown. */
final class NoAnswerError extends LaariError
{
}
