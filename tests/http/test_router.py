"""Paths and their operations: segments, parameters, methods, and no slash more or less."""

import pytest

from laari.http.router import Router


@pytest.fixture
def router() -> Router[str]:
    router: Router[str] = Router()
    router.add("/payments", "GET", "list")
    router.add("/payments", "POST", "create")
    router.add("/payments/{id}", "GET", "get", head=True)
    router.add("/payments/new", "GET", "new")
    router.add("/payments/{id}/cancel", "POST", "cancel")
    router.add("/{mode}/payments/{id}", "GET", "in a mode")
    router.add("/login", "GET", "login")
    return router


@pytest.mark.parametrize(
    ("path", "method", "operation", "parameters"),
    [
        ("/payments", "POST", "create", {}),
        ("/payments/pay_1", "GET", "get", {"id": "pay_1"}),
        ("/payments/pay_1", "HEAD", "get", {"id": "pay_1"}),
        ("/payments/new", "GET", "new", {}),
        ("/payments/new/cancel", "POST", "cancel", {"id": "new"}),  # it is a name there
        ("/payments/{id}", "GET", "get", {"id": "{id}"}),
        ("/live/payments/1", "GET", "in a mode", {"mode": "live", "id": "1"}),
        ("/login/payments/1", "GET", "in a mode", {"mode": "login", "id": "1"}),
        ("/payments/payments/1", "GET", "in a mode", {"mode": "payments", "id": "1"}),
        ("/login", "GET", "login", {}),
    ],
)
def test_what_a_path_leads_to(
    router: Router[str], path: str, method: str, operation: str, parameters: dict[str, str]
) -> None:
    found = router.find(path)
    assert found is not None
    assert (found.methods[method], found.parameters) == (operation, parameters)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "payments",
        "//payments",
        "/payments/",
        "/payments//cancel",
        "/payments//",
        "/payments/1/",
        "/payments/1/cancel/",
        "/payments/1/refund",
        "/live",
        "/live/payments",
        "/live/payments/",
        "//payments/1",
        "/Payments",
        "/payments/1/cancel/x",
    ],
)
def test_what_leads_nowhere(router: Router[str], path: str) -> None:
    assert router.find(path) is None


def test_the_methods_of_a_path(router: Router[str]) -> None:
    allowed = {path: router.find(path) for path in ("/payments", "/payments/1", "/login")}
    assert {path: found and found.allowed for path, found in allowed.items()} == {
        "/payments": b"GET, POST",
        "/payments/1": b"GET, HEAD",
        "/login": b"GET",  # HEAD only where it is asked for
    }


def test_one_address_is_there_once(router: Router[str]) -> None:
    with pytest.raises(ValueError, match="is there twice"):
        router.add("/payments", "GET", "again")
    with pytest.raises(ValueError, match="is called id elsewhere"):
        router.add("/payments/{token}", "DELETE", "other")
