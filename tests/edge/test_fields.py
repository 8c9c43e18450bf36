"""Fields and what is made of them: checked when the table of operations is, not when it is used."""

import pytest
from msgspec import Struct

from laari.edge.input.fields import Body, Query, group, integer, text
from laari.rules.refusals import Refusal


class Cake(Struct, frozen=True):
    name: str
    price: int = 100


NAME = text("name", 10, required=True)
PRICE = integer("price", 1, 1000)


def test_what_is_made_takes_every_field_and_needs_no_other() -> None:
    for kind in (Body, Query):
        with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
            kind(Cake, NAME, integer("size", 1, 9))
        with pytest.raises(TypeError, match="missing a required argument: 'name'"):
            kind(Cake, PRICE)
        with pytest.raises(TypeError, match="missing a required argument: 'name'"):
            kind(Cake, text("name", 10), PRICE)  # it may be left out


def test_a_body_is_what_its_fields_make() -> None:
    body = Body(Cake, NAME, PRICE)
    assert body.read({"name": " pie "}) == Cake("pie")
    assert body.read({"name": "pie", "price": None}) == Cake("pie")
    assert body.read({"name": "pie", "price": 7}) == Cake("pie", 7)


@pytest.mark.parametrize(
    ("source", "field"),
    [
        ({}, "name"),
        ({"name": None}, "name"),
        ({"name": "pie", "price": True}, "price"),
        ({"name": "pie", "size": 1}, "size"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(source: dict[str, object], field: str) -> None:
    refusal = Body(Cake, NAME, PRICE).read(source)
    assert isinstance(refusal, Refusal)
    assert refusal.field == field


class Box(Struct, frozen=True):
    cake_name: str
    cake_price: int = 100


def test_the_fields_of_a_group_become_arguments() -> None:
    body = Body(Box, group("cake", NAME, PRICE, prefix="cake_", required=True))
    assert body.read({"cake": {"name": "pie"}}) == Box("pie")
    with pytest.raises(TypeError, match="missing a required argument: 'cake_name'"):
        Body(Box, group("cake", NAME, PRICE, prefix="cake_"))
    with pytest.raises(TypeError, match="unexpected keyword argument 'name'"):
        Body(Box, group("cake", NAME, required=True))
    refusal = body.read({"cake": {"name": "pie", "price": 0}})
    assert isinstance(refusal, Refusal)
    assert refusal.field == "cake.price"


def test_a_query_asks_for_what_it_needs() -> None:
    query = Query(Cake, NAME)
    assert query.read([("name", "pie"), ("other", "1")]) == Cake("pie")
    for missing in ([], [("other", "1")]):
        refusal = query.read(missing)
        assert isinstance(refusal, Refusal)
        assert refusal.message == "name is required."
