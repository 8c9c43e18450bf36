"""What `laari serve` says when it is ready."""

import asyncio
from dataclasses import dataclass, field

from laari.cli.serve.demo import Demo
from laari.cli.serve.demo import greeting as demo_greeting
from laari.cli.terminal.output import complain, complain_of_defect, say, say_json
from laari.errors import LaariError
from laari.process.supervisor import DEFAULT_METRICS_ADDRESS
from laari.rules.shapes.envelopes import to_json
from laari.settings import Settings, default_origin


@dataclass
class Greeting:
    origin: str  # where it listens, whatever its public address is
    metrics_url: str | None
    demo: Demo | None
    settings: Settings
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def give(self, as_json: bool) -> None:
        """Called once, by the supervisor."""
        self._task = asyncio.create_task(self._give(as_json), name="greeting")

    async def _give(self, as_json: bool) -> None:
        if self.demo is not None:
            await _make_samples(self.origin, self.demo, self.settings.sandbox_vpa)
        if as_json:
            facts = {"url": self.origin, "metrics_url": self.metrics_url}
            say_json(to_json(facts | (self.demo.facts() if self.demo else {})))
            return
        words = f"Laari is ready at {self.origin}"
        if self.metrics_url is not None:
            words += f"\nIts metrics are at {self.metrics_url}{self._why_there()}"
        if self.demo is not None:
            words += "\n\n" + demo_greeting(self.demo)
        say(words)

    def _why_there(self) -> str:
        """Said if somebody would look for them elsewhere."""
        usual = DEFAULT_METRICS_ADDRESS[1]
        is_usual = self.metrics_url == f"{default_origin(*DEFAULT_METRICS_ADDRESS)}/metrics"
        if is_usual or self.settings.metrics_address is not None:
            return ""
        return f" (port {usual} is taken)"


async def _make_samples(origin: str, demo: Demo, recipient: str) -> None:
    from laari.cli.serve.demo_samples import make_samples  # noqa: PLC0415  # aiohttp takes a while

    url = origin.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    try:
        await make_samples(url, demo.secret_key, recipient)
    except LaariError as error:  # such as where https is required: a demo without them is one too
        complain(f"the demo has no sample payments: {error}")
    except Exception as error:  # the greeting has what nobody finds elsewhere
        complain_of_defect(error)
