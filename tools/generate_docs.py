"""Writes the pages of docs/ that are made from the code, so that they cannot differ from it."""

from __future__ import annotations

from pathlib import Path

from laari.rules.refusals import CODES, PASSING_CODES

DOCS = Path(__file__).parents[1] / "docs"
NOTE = "<!-- Made from the code by `make docs`; changes belong there. -->\n"


def refusal_codes() -> str:
    rows = [
        f"| `{code.shown_as or name}` | {code.status} | {code.message} "
        f"| {'never' if name in PASSING_CODES else ''} |"
        for name, code in sorted(CODES.items(), key=lambda item: (item[1].status, item[0]))
    ]
    return "\n".join(
        [
            NOTE,
            "# Refusal codes",
            "",
            "Every refusal of the service, from the one table in `laari.rules.refusals`. Programs",
            "branch on the code; the message is for people and may be more exact in a given case.",
            "What is answered once an `Idempotency-Key` counts is kept for replay, except where",
            "the last column says never: those say nothing lasting about the request.",
            "",
            "| Code | HTTP | Message | Replayed |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )


PAGES = {"codes.md": refusal_codes}


def main() -> None:
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
        print(f"docs/{name}")


if __name__ == "__main__":
    main()
