"""Commands of a merchant's developer, which speak to a service over HTTP."""
