"""Unknown query parameters: they are ignored, and a header names them."""

import re
from collections.abc import Collection

from laari.edge.input.fields import nearest
from laari.http.messages import Parameters, Reply

WARNING_NAME = "Laari-Warning"
WARNING_LENGTH = 400
MOST_NAMED = 3

# Names that may be repeated in a header.
_PLAIN = re.compile(r"[A-Za-z0-9_.\-]{1,60}", re.ASCII)


def warned(reply: Reply, given: Parameters, known: Collection[str] = ()) -> Reply:
    """The reply, with a header that names the ignored parameters if there are any."""
    unknown = _unknown(given, known) if given else []
    if not unknown:
        return reply
    named = [_named(name, known) for name in unknown[:MOST_NAMED]]
    if len(unknown) > MOST_NAMED:
        named.append(f"{len(unknown) - MOST_NAMED} more")
    return reply.plus((WARNING_NAME.lower().encode(), f"Ignored: {'; '.join(named)}".encode()))


def _unknown(given: Parameters, known: Collection[str]) -> list[str]:
    """Each unknown name once, in the order sent."""
    names = (name.partition("[")[0] for name, _ in given)
    return [name for name in dict.fromkeys(names) if name not in known]


def _named(name: str, known: Collection[str]) -> str:
    if not _PLAIN.fullmatch(name):
        return "a parameter that is not known"
    near = nearest(name, known)
    return f"{name} (did you mean {near}?)" if near else name
