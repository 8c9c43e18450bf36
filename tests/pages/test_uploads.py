"""Forms are read only after session and permission, and files only if a page takes them."""

import socket
import time

import pytest
import pytest_asyncio

from laari.edge.load.heavy import MOST_UPLOADS_OF_A_PERSON
from laari.edge.pages.operator.bank import MAX_BYTES as MAX_STATEMENT_BYTES
from laari.edge.pages.operator.request import OperatorRequest
from laari.edge.pages.routes import PageRoute
from laari.rules.limits.bodies import MAX_UPLOADED_TEXT
from tests.pages.operators import COOKIE, Desk, desk_of, new_operator, session_of
from tests.serving import Service

pytestmark = pytest.mark.ci

BOUNDARY = "----WebKitFormBoundary7MA4YWxk"
SECONDS = 20


@pytest_asyncio.fixture(loop_scope="session")
async def finance(service: Service) -> Desk:
    return await desk_of(service, "finance")


def start(service: Service, path: str, length: int, token: str = "") -> socket.socket:
    """Sends the head of an upload and nothing more."""
    host, port = service.origin.removeprefix("http://").split(":")
    client = socket.create_connection((host, int(port)), SECONDS)
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: a",
        "Sec-Fetch-Site: same-origin",
        f"Cookie: {COOKIE}={token}",
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}",
        f"Content-Length: {length}",
    ]
    client.sendall("\r\n".join([*lines, "", ""]).encode())
    return client


def status_of(client: socket.socket) -> int:
    return int(client.recv(65536)[9:12])


def test_a_file_of_ten_megabytes_is_read(finance: Desk) -> None:
    at_most = finance.upload("/bank", {"file": b"x" * MAX_STATEMENT_BYTES})
    assert at_most.status_code == 422  # read, and then without a statement in it
    longer = b"x" * (MAX_STATEMENT_BYTES + MAX_UPLOADED_TEXT)
    assert finance.upload("/bank", {"file": longer}).status_code == 400


def test_a_form_with_a_file_needs_its_token(finance: Desk) -> None:
    finance._token = "00"
    assert finance.upload("/bank", {"file": b"x"}).status_code == 403


def test_other_pages_take_no_file(finance: Desk) -> None:
    assert finance.upload("/bank/return", {}, reference="x").status_code == 400
    assert finance.upload("/logout", {}).status_code == 400


async def test_nobody_uploads_without_session_and_permission(service: Service) -> None:
    """The answer comes before the first byte of the file."""
    support = await session_of(service, await new_operator(service, "support"))
    for token, status in (("", 303), ("unknown", 303), (support, 403)):
        with start(service, "/operator/bank", 1_000_000, token) as client:
            assert status_of(client) == status


async def test_a_person_uploads_one_file_at_a_time(service: Service) -> None:
    token = await session_of(service, await new_operator(service, "finance"))
    held = [start(service, "/operator/bank", 1_000_000, token)]
    assert MOST_UPLOADS_OF_A_PERSON == 1
    held[0].sendall(b"--" + BOUNDARY.encode())
    time.sleep(0.5)
    with start(service, "/operator/bank", 1_000_000, token) as second:
        assert status_of(second) == 503
    other = await desk_of(service, "finance")
    assert other.upload("/bank", {"file": b"x"}).status_code == 422
    held[0].close()
    time.sleep(0.5)
    with start(service, "/operator/bank", 1_000_000, token) as third:
        third.sendall(bytes(1_000_000))
        assert status_of(third) == 400  # it had a place, and is not a form


async def test_a_person_who_loses_the_role_while_a_file_comes(service: Service) -> None:
    email = await new_operator(service, "finance")
    desk = Desk(service, await session_of(service, email))
    token = desk.http.cookies[COOKIE]
    parts = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="form_token"\r\n\r\n{desk.token}'
    filler = f'\r\n--{BOUNDARY}\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
    body = (parts + filler + "x" * 600_000 + f"\r\n--{BOUNDARY}--\r\n").encode()
    with start(service, "/operator/bank", len(body), token) as client:
        client.sendall(body[:-10])
        time.sleep(0.5)
        service.execute(
            "DELETE FROM memberships USING persons p WHERE person_id = p.id AND email = $1", email
        )
        client.sendall(body[-10:])
        assert status_of(client) == 303


def test_only_a_route_with_a_permission_takes_files() -> None:
    with pytest.raises(ValueError, match="permission"):
        PageRoute(OperatorRequest, "/x", own=True, upload=1)


async def test_a_form_is_not_read_for_somebody_who_may_not_use_the_page(service: Service) -> None:
    """A form that nobody can read is refused as such only to people with the permission."""
    support, finance = await desk_of(service, "support"), await desk_of(service, "finance")
    stranger = Desk(service, "unknown")
    for desk, status in ((stranger, 303), (support, 403), (finance, 400)):
        assert desk.http.post("/operator/bank/return", content=b"%").status_code == status
