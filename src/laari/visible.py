"""Makes untrusted text safe for a terminal and for log lines.

Names, titles, URLs and answers of receivers are untrusted. On a terminal they can clear the screen,
set the clipboard, reverse the text, or begin a line that looks like ours. So invisible characters
are shown by their numbers.
"""

import unicodedata

# Unicode categories: control characters, invisible formatting, surrogates (from arguments that are
# not UTF-8), private use and line separators. Some letters are invisible too.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_UNSEEN_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def visible(text: str) -> str:
    """Returns the text on one line, with invisible characters as numbers: `\\x1b[2J`."""
    return "".join(_shown(c) if _is_unseen(c) else c for c in text)


def visible_json(encoded: bytes) -> str:
    """Escapes invisible characters that encoders leave as they are: DEL, C1, bidi."""
    return "".join(_escaped_for_json(c) if _is_unseen(c) else c for c in encoded.decode())


def one_line(message: str) -> str:
    """Returns a message for standard error."""
    return f"laari: {visible(' '.join(message.split()))}"


def _is_unseen(character: str) -> bool:
    if character.isascii() and character.isprintable():
        return False  # the usual case
    return unicodedata.category(character) in _UNSEEN or character in _UNSEEN_LETTERS


def _shown(character: str) -> str:
    number = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _escaped_for_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
