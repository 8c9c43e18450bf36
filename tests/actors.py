"""Actors that tests use if the actor does not matter."""

from laari.rules.actors import Actor

OPERATOR = Actor("command_line", "tester", "admin")
