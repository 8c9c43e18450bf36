"""Which messages about movements somebody wants: their own choice, which needs no entry."""

from dataclasses import dataclass

from laari.rules.actors import Actor, is_themselves
from laari.rules.command import Command
from laari.rules.money import MAX_MONEY
from laari.rules.needs import Needs
from laari.rules.people.persons import no_log_in
from laari.rules.records.messages import MessageChoice
from laari.rules.records.people import CustomerId, CustomerMessages, PersonMessages, Whose
from laari.rules.refusals import Refusal, invalid, refuse
from laari.rules.world import World


@dataclass(frozen=True, slots=True)
class ChooseMessages(Command[MessageChoice]):
    """Sets the choice of the customer or person who makes it; nobody chooses for another one."""

    actor: Actor
    whose: Whose
    choice: MessageChoice

    def needs(self, needs: Needs) -> None:
        if isinstance(self.whose, CustomerId):
            needs.lock(World.customers, self.whose.id)
        else:
            needs.lock(World.persons, self.whose.id)

    def decide(self, world: World) -> MessageChoice | Refusal:
        if not 0 <= self.choice.least <= MAX_MONEY:
            return invalid("least", f"The amount must be from 0 to {MAX_MONEY} laari.")
        whose, choice = self.whose.id, self.choice
        if isinstance(self.whose, CustomerId):
            if not is_themselves(self.actor, whose):
                return refuse("insufficient_scope")
            if world.customers.get(whose) is None:
                return no_log_in(self.whose)
            chosen = CustomerMessages(whose, choice.channel, choice.least)
            world.customer_messages.add(whose, chosen)
            return choice
        person = world.persons.get(whose)
        if person is None:
            return no_log_in(self.whose)
        if (self.actor.kind, self.actor.name) != ("person", person.email):
            return refuse("insufficient_scope")
        world.person_messages.add(whose, PersonMessages(whose, choice.channel, choice.least))
        return choice
