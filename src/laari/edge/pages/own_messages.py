"""The form in which somebody chooses the messages about movements that they want."""

from typing import get_args

from laari.edge.pages.request import PageRequest, RefusedForm
from laari.rules.actors import Actor
from laari.rules.money import MAX_MONEY, read_rufiyaa
from laari.rules.people.message_choices import ChooseMessages
from laari.rules.records.messages import ChosenChannel, MessageChoice
from laari.rules.records.people import Whose
from laari.rules.refusals import Refusal

_CHANNELS: dict[str, ChosenChannel | None] = {"": None, **{c: c for c in get_args(ChosenChannel)}}


async def choose(request: PageRequest, actor: Actor, whose: Whose) -> None:
    """Keeps the choice of a form with a `channel`, and the `least` amount in rufiyaa."""
    channel, least = request.form.get("channel", ""), request.form.get("least", "").strip()
    amount = read_rufiyaa(least) if least else 0
    if channel not in _CHANNELS:
        raise RefusedForm(422, request.language.text("choice.no_channel"))
    if amount is None or not 0 <= amount <= MAX_MONEY:
        raise RefusedForm(422, request.language.text("choice.no_amount"))
    choice = MessageChoice(_CHANNELS[channel], amount)
    outcome = await request.backend.spine.submit(ChooseMessages(actor, whose, choice))
    if isinstance(outcome, Refusal):
        raise RefusedForm(outcome.status, request.language.text("approval.busy"))
