"""Direction controls in text that somebody else wrote, kept from reordering anything around it.

A control that is never closed, such as U+202E, turns the rest of its line. `<bdi>` holds most of
them, but U+2069 ends that isolation and an unclosed U+2066 uses up its end. So every text closes
what it opens and nothing else. Text without such controls, nearly all of it, is left as it is.
"""

import re

_POP, _POP_ISOLATE, _FIRST_STRONG = "\u202c", "\u2069", "\u2068"
_CLOSERS = dict.fromkeys("\u202a\u202b\u202d\u202e", _POP) | dict.fromkeys(
    "\u2066\u2067\u2068", _POP_ISOLATE
)
_CONTROL = re.compile("[\u202a-\u202e\u2066-\u2069]")
_PARAGRAPH_ENDS = re.compile("([\n\r\x1c-\x1e\x85\u2029])")  # no control reaches further


def closed(text: str) -> str:
    """The text, with what it opens closed and without what would close something around it."""
    if _CONTROL.search(text) is None:
        return text
    return "".join(map(_closed, _PARAGRAPH_ENDS.split(text)))


def isolated(text: str) -> str:
    """The same between isolating controls, for a title or an attribute, which have no `<bdi>`."""
    if _CONTROL.search(text) is None:
        return text
    return f"{_FIRST_STRONG}{closed(text)}{_POP_ISOLATE}"


def escaped_json(text: str) -> str:
    """The same JSON value, with such controls written as numbers: for people who read code."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _closed(paragraph: str) -> str:
    kept: list[str] = []
    to_close: list[str] = []
    isolates = 0  # of those to close: counted, so that no text takes longer than its length
    for character in paragraph:
        if character in _CLOSERS:
            to_close.append(_CLOSERS[character])
            isolates += _CLOSERS[character] == _POP_ISOLATE
        elif character == _POP_ISOLATE:
            if not isolates:
                continue
            isolates -= 1
            while to_close.pop() != _POP_ISOLATE:  # it also ends what was opened within
                pass
        elif character == _POP and to_close[-1:] == [_POP]:
            to_close.pop()
        kept.append(character)
    return "".join(kept + to_close[::-1])
