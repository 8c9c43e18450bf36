<?php

declare(strict_types=1);

namespace Laari;

/** @internal An attempt that failed, and what is known of its outcome. */
final class Interrupted extends \Exception
{
    public function __construct(
        public readonly LaariError $error,
        public readonly bool $nothingBegun,
        public readonly bool $unknown,
    ) {
        parent::__construct($error->getMessage());
    }
}
