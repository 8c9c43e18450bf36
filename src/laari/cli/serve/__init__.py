"""`laari serve` and its demo."""
