"""Makes untrusted text safe for a terminal and for log lines.

It could clear the screen, set the clipboard, or begin a line that looks like ours.
"""

import json
import unicodedata

# Unicode categories: control characters, invisible formatting, surrogates (from arguments that are
# not UTF-8), private use and line separators. Some letters are invisible too.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_UNSEEN_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")


def visible(text: str) -> str:
    """Returns the text on one line, with invisible characters as numbers: `\\x1b[2J`."""
    return "".join(c.encode("unicode_escape").decode() if _is_unseen(c) else c for c in text)


def visible_json(encoded: bytes) -> str:
    """Escapes invisible characters that encoders leave as they are: DEL, C1, bidi."""
    return "".join(json.dumps(c)[1:-1] if _is_unseen(c) else c for c in encoded.decode())


def one_line(message: str) -> str:
    return f"laari: {visible(' '.join(message.split()))}"


def _is_unseen(character: str) -> bool:
    if character.isascii() and character.isprintable():
        return False  # the usual case
    return unicodedata.category(character) in _UNSEEN or character in _UNSEEN_LETTERS
