"""The terminal of `laari` for the shared `listen` and `trigger`."""

from collections.abc import Sequence

from laari.cli.shop.shared.ports import Json, Part
from laari.cli.terminal import output
from laari.rules.shapes.envelopes import to_json


class Terminal:
    def say(self, text: str) -> None:
        output.say(text)

    def say_line(self, parts: Sequence[Part]) -> None:
        output.say_line(*(output.Part(part.text, part.colour, part.whole) for part in parts))

    def say_json(self, value: Json) -> None:
        output.say_json(to_json(value))

    def say_meanwhile(self, text: str) -> None:
        output.say_meanwhile(text)

    def complain(self, message: str) -> None:
        output.complain(message)
