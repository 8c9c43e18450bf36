"""Direction controls in strangers' text: each text closes what it opens, and nothing else."""

import json
from html import unescape
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laari.edge.pages.bidi import closed, escaped_json, isolated
from laari.edge.pages.csv_files import guarded
from laari.edge.pages.language import ENGLISH
from laari.edge.pages.render import render

RLO, LRE, RLI, LRI, FSI = "\u202e", "\u202a", "\u2067", "\u2066", "\u2068"
PDF, PDI = "\u202c", "\u2069"
INITIATORS = (LRI, RLI, FSI)


def leaks(text: str) -> bool:
    """Whether a control reaches past its paragraph, or ends something around it (UAX 9)."""
    for paragraph in text.splitlines():
        opened: list[bool] = []  # whether it is an isolate
        for character in paragraph:
            if character in INITIATORS:
                opened.append(True)
            elif character in f"{RLO}{LRE}\u202b\u202d":
                opened.append(False)
            elif character == PDI:
                if True not in opened:
                    return True
                while not opened.pop():
                    pass
            elif character == PDF and opened and not opened[-1]:
                opened.pop()
        if opened:
            return True
    return False


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Seagull Café", "Seagull Café"),
        ("ސީގަލް", "ސީގަލް"),
        (f"a{RLO}b", f"a{RLO}b{PDF}"),
        (f"a{RLI}b{LRE}c", f"a{RLI}b{LRE}c{PDF}{PDI}"),
        (f"a{PDI}{RLO}b", f"a{RLO}b{PDF}"),
        (f"{LRI}a{RLO}b{PDI}c", f"{LRI}a{RLO}b{PDI}c"),
        (f"{LRE}+960 777{PDF}", f"{LRE}+960 777{PDF}"),  # as phones paste numbers
        (f"a{RLI}\nb", f"a{RLI}{PDI}\nb"),
    ],
)
def test_a_text_closes_what_it_opens(written: str, shown: str) -> None:
    assert closed(written) == shown


@given(st.text(st.sampled_from(f"ab\n\u2029{RLO}{LRE}{RLI}{LRI}{FSI}{PDF}{PDI}"), max_size=12))
def test_no_text_reaches_beyond_itself(text: str) -> None:
    assert not leaks(closed(text))
    assert not leaks(isolated(text).replace("\n", "").replace("\u2029", ""))
    assert not leaks(guarded(text))
    written = json.dumps({"title": text}, ensure_ascii=False)
    assert json.loads(escaped_json(written)) == {"title": text}
    assert not leaks(escaped_json(written).replace("\u2029", ""))


def test_every_value_of_a_template_and_a_message_is_kept_apart() -> None:
    name = f"Café{PDI}{RLO}"
    values = {"problem": "not_found", "back": None, "form_token": "", "here": name}
    page = render(["problem.html"], ENGLISH, **values)
    assert f'data-here="{FSI}Café{RLO}{PDF}{PDI}"' in page
    assert ENGLISH.text("checkout.title", merchant=name) == f"Pay {FSI}Café{RLO}{PDF}{PDI}"


def test_a_form_gives_back_what_was_typed() -> None:
    typed = f'"a{RLO}'
    request = SimpleNamespace(
        form={"identity": typed},
        query={},
        wanted="/app",
        can_sign_up=False,
        wrong=lambda _: "",
        backend=SimpleNamespace(party=None),
    )
    login = {"mode": "live", "problem": None, "request": request}
    page = unescape(render(["app/login.html"], ENGLISH, form_token="", here="/app", **login))
    assert f'value="{typed}"' in page
