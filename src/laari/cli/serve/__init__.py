"""laari serve, its demo and its greeting."""
