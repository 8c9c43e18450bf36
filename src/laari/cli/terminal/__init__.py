"""The common parts of commands: terminal, options, open service."""
