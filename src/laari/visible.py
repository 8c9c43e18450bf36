"""Text of strangers made safe for a terminal and for log lines.

Names, titles, URLs and replies of receivers were written by strangers. On a terminal such text can
be a command: it clears the screen, sets the clipboard, turns the direction of the text after it, or
begins a line that looks like ours. So characters that are not seen are shown by their numbers.
"""

import unicodedata

# Control characters (C0, DEL, C1), what turns or joins text without being seen, halves of pairs
# (which stand for bytes of an argument that were not UTF-8), separators of lines: by Unicode's
# category. Spaces are seen; those letters are not.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_UNSEEN_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0")
_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def visible(text: str) -> str:
    """The text on one line, with what is not seen in it shown: `\\x1b[2J`."""
    return "".join(_shown(c) if _is_unseen(c) else c for c in text)


def visible_json(encoded: bytes) -> str:
    """JSON of the same value. Encoders escape only what JSON itself forbids: not DEL, C1, bidi."""
    return "".join(_escaped_for_json(c) if _is_unseen(c) else c for c in encoded.decode())


def one_line(message: str) -> str:
    """A message of ours for standard error, whatever it quotes."""
    return f"laari: {visible(' '.join(message.split()))}"


def _is_unseen(character: str) -> bool:
    if character.isascii() and character.isprintable():
        return False  # nearly all of them
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
