"""What commands share: the terminal, options, and an open service."""
