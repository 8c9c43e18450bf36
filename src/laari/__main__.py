"""Runs the command line as `python -m laari`."""

from laari.cli.main import main

main()
