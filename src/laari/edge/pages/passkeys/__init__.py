"""Passkeys on the pages: the challenge for a browser, and the log-in with its answer."""
