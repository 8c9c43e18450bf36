"""The two programs that have `listen` and `trigger`: the service's and the Python client's."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import pytest

import laari.cli.main
import laari_client.cli._commands


class Program(NamedTuple):
    name: str
    module: str  # for python -m
    run: Callable[[Sequence[str]], int]
    timeout: str  # the constant to patch


LAARI = Program(
    "laari",
    "laari",
    laari.cli.main.run,
    "laari.cli.shop.remote_service.TIMEOUT_SECONDS",
)
CLIENT = Program(
    "laari-client",
    "laari_client.cli",
    laari_client.cli._commands.run,
    "laari_client.cli._commands.TIMEOUT_SECONDS",
)

each_program = pytest.mark.parametrize(
    "program",
    [
        pytest.param(LAARI, id=LAARI.name),
        pytest.param(CLIENT, id=CLIENT.name, marks=pytest.mark.ci),
    ],
)
