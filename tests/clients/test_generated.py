"""The generated parts of the clients equal what the interface is now."""

import copy

import pytest

from laari.edge.reference.openapi import openapi_document
from tools.clients.__main__ import ORIGIN, ROOT, generated_files
from tools.clients.document import GeneratorError, read_interface
from tools.clients.python_client import python_files

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def files() -> dict:
    return generated_files()


def test_generated_files_equal_the_document(files: dict) -> None:
    differ = [
        str(path.relative_to(ROOT))
        for path, text in files.items()
        if path.read_text(encoding="utf-8") != text
    ]
    assert differ == [], "run `make clients`"


def test_a_change_of_the_document_is_drift(files: dict) -> None:
    document = openapi_document(ORIGIN)
    schemas = document["components"]["schemas"]
    schemas["HostedPayment"]["properties"]["tip"] = {"type": "integer"}
    made = python_files(read_interface(document))
    assert {path.name for path, text in made.items() if files[path] != text} == {"models.py"}


def test_an_operation_that_nobody_has_placed_stops_the_generator() -> None:
    document = openapi_document(ORIGIN)
    path = document["paths"]["/merchant/payments/{id}/cancel"]
    path["post"]["operationId"] = "forgive_payment"
    with pytest.raises(GeneratorError, match=r"forgive_payment.*PLACES"):
        read_interface(document)
    gone = openapi_document(ORIGIN)
    del gone["paths"]["/merchant/sandbox/clock"]
    with pytest.raises(GeneratorError, match="no operation sandbox_move_clock"):
        read_interface(gone)


def test_a_new_kind_of_credentials_stops_the_generator() -> None:
    document = copy.deepcopy(openapi_document(ORIGIN))
    document["paths"]["/merchant/payments"]["get"]["security"] = [{"Passport": []}]
    with pytest.raises(GeneratorError, match="Passport"):
        read_interface(document)


def test_methods_document_their_parameters(files: dict) -> None:
    (made,) = (text for path, text in files.items() if path.name == "_resources.py")
    assert "`reference`: Your name for the payment" in made
    assert made.count("`idempotency_key`: ") == made.count("idempotency_key: Optional[str]") == 3
