"""`laari authorization`: suspend and resume authorizations."""

import click

from laari.cli.terminal.operation import actor, operation, origin_of, submit
from laari.cli.terminal.permission import needs
from laari.errors import LaariError
from laari.process.open import Service
from laari.rules import ids
from laari.rules.payments.authorizations import (
    PauseCommand,
    ResumeAuthorization,
    SuspendAuthorization,
)
from laari.rules.shapes.authorizations import authorization_shape
from laari.store.postgres.pool import connection_to
from laari.store.reads import authorizations, tenants


@click.group()
def authorization() -> None:
    """Suspend and resume authorizations."""


@authorization.command()
@click.argument("authorization_id")
@operation
@needs("customers.change")
async def suspend(service: Service, authorization_id: str) -> object:
    """Stop charges of an active authorization."""
    return await _turn(service, SuspendAuthorization, authorization_id)


@authorization.command()
@click.argument("authorization_id")
@operation
@needs("customers.change")
async def resume(service: Service, authorization_id: str) -> object:
    """Allow charges of a suspended authorization again."""
    return await _turn(service, ResumeAuthorization, authorization_id)


async def _turn(service: Service, command: type[PauseCommand], authorization_id: str) -> object:
    number = ids.read_id(ids.AUTHORIZATION, authorization_id)
    async with connection_to(service.dsn) as connection:
        found = (await authorizations.by_id(connection, [number])).get(number) if number else None
        if found is None:
            raise LaariError(f"no authorization has the id {authorization_id}")
        tenant = (await tenants.by_id(connection, [found.tenant_id]))[found.tenant_id]
    turned = await submit(service, command(tenant, found.id, actor()))
    return authorization_shape(turned, await origin_of(service))
