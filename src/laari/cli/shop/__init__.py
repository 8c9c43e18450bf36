"""Commands for a merchant's developer; they call a service over HTTP."""
