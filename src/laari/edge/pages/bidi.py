"""Closes direction controls in other people's text, so that they do not reorder its neighbours.

`<bdi>` is not enough: U+2069 ends its isolation, and an unclosed U+2066 uses up its end.
"""

import re

_POP, _POP_ISOLATE, _FIRST_STRONG = "\u202c", "\u2069", "\u2068"
_CLOSERS = dict.fromkeys("\u202a\u202b\u202d\u202e", _POP) | dict.fromkeys(
    "\u2066\u2067\u2068", _POP_ISOLATE
)
_CONTROL = re.compile("[\u202a-\u202e\u2066-\u2069]")
_PARAGRAPH_ENDS = re.compile("([\n\r\x1c-\x1e\x85\u2029])")  # controls end here


def closed(text: str) -> str:
    """The text with its open controls closed, and without controls that would close others."""
    if _CONTROL.search(text) is None:
        return text
    return "".join(map(_closed, _PARAGRAPH_ENDS.split(text)))


def isolated(text: str) -> str:
    """Closed and isolated text for titles and attributes, which cannot contain `<bdi>`."""
    if _CONTROL.search(text) is None:
        return text
    return f"{_FIRST_STRONG}{closed(text)}{_POP_ISOLATE}"


def isolated_value(value: object) -> object:
    """A value of a template or a message: text is isolated, markup stays as it is."""
    return isolated(value) if type(value) is str else value


def escaped_json(text: str) -> str:
    """The same JSON value with its direction controls written as escapes."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _closed(paragraph: str) -> str:
    kept: list[str] = []
    to_close: list[str] = []
    isolates = 0  # counted, so that the time is linear
    for character in paragraph:
        if character in _CLOSERS:
            to_close.append(_CLOSERS[character])
            isolates += _CLOSERS[character] == _POP_ISOLATE
        elif character == _POP_ISOLATE:
            if not isolates:
                continue
            isolates -= 1
            while to_close.pop() != _POP_ISOLATE:  # it also ends the controls inside
                pass
        elif character == _POP and to_close[-1:] == [_POP]:
            to_close.pop()
        kept.append(character)
    return "".join(kept + to_close[::-1])
