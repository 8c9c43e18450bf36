"""Pure rules: no clock, no SQL, no HTTP, no await."""
