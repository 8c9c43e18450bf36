"""Forms with files: read in pieces, strictly, and with little work for each piece."""

import time
from collections.abc import AsyncIterator

import pytest

from laari.edge.input.multipart import MultipartError, MultipartForm, UploadedFile, read_multipart
from laari.http.client_addresses import Networks
from laari.http.head import Head, read_head
from laari.http.messages import PIECE_BYTES, Request

BOUNDARY = b"----WebKitFormBoundary7MA4YWxk"
NO_PROXIES: Networks = ()
MOST_SECONDS = 0.010


def part(disposition: str, content: bytes) -> bytes:
    head = f"Content-Disposition: form-data; {disposition}\r\n\r\n".encode()
    return b"--" + BOUNDARY + b"\r\n" + head + content + b"\r\n"


END = b"--" + BOUNDARY + b"--\r\n"
FIELD = part('name="a"', b"one\r\ntwo")
FILE = part('name="f"; filename="b.csv"\r\nContent-Type: text/csv', b"1,2\r\n\x00\xff")


async def never() -> None:
    raise AssertionError


def request(body: bytes, content_type: str) -> Request:
    fields = f"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: {content_type}"
    head = read_head(f"{fields}\r\nContent-Length: {len(body)}".encode(), 10, None)
    assert isinstance(head, Head)
    return Request(head, body, None, None, never, trusted_proxies=NO_PROXIES)


async def read(body: bytes, boundary: bytes = BOUNDARY, longest: int = 1000) -> MultipartForm:
    content_type = f"multipart/form-data; boundary={boundary.decode()}"
    return await read_multipart(request(body, content_type), 5, longest)


async def test_fields_and_files() -> None:
    form = await read(FIELD + FILE + END)
    assert form.fields == {"a": "one\r\ntwo"}
    assert form.files == {"f": UploadedFile("b.csv", b"1,2\r\n\x00\xff")}


async def test_any_cut_into_pieces_reads_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    body = FIELD + FILE + END
    for size in range(1, 120):

        async def pieces(request: Request, size: int = size) -> AsyncIterator[bytes]:
            for at in range(0, len(body), size):
                yield body[at : at + size]

        monkeypatch.setattr(Request, "pieces", pieces)
        assert await read(body) == MultipartForm(
            {"a": "one\r\ntwo"}, {"f": UploadedFile("b.csv", b"1,2\r\n\x00\xff")}
        )


async def test_a_file_that_nobody_chose_is_none() -> None:
    assert (await read(part('name="f"; filename=""', b"") + END)).files == {}


async def test_a_text_with_a_zero_byte_is_dropped() -> None:
    assert (await read(part('name="a"', b"\0") + END)).fields == {}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"a=1",
        FIELD,
        FIELD + END[:-4],
        FIELD.replace(b"form-data", b"attachment") + END,
        part("nothing", b"") + END,
        part('name="\xff"', b"").replace(b"\xc3\xbf", b"\xff") + END,
        part('name="a"', b"\xff") + END,
        part('name="a"', b"x" * 1001) + END,
        part('name="a"' + "\r\nX: y" * 4, b"") + END,
        part('name="a"; x="' + "y" * 2000 + '"', b"") + END,
        FIELD * 6 + END,
        FIELD.replace(b"\r\n\r\n", b"\n\n", 1) + END,
    ],
)
async def test_anything_else_is_refused(body: bytes) -> None:
    with pytest.raises(MultipartError):
        await read(body)


@pytest.mark.parametrize("boundary", ["", "b", "b" * 15, "b" * 71, "b" * 300])
async def test_a_boundary_has_a_usual_length(boundary: str) -> None:
    with pytest.raises(MultipartError):
        await read_multipart(request(b"", f"multipart/form-data; boundary={boundary}"), 5, 100)


@pytest.mark.parametrize("tail", [b"x", b"-x", b"\rx", b"", b"\r"])
async def test_no_piece_of_a_hostile_file_holds_the_loop(tail: bytes) -> None:
    """Boundaries that are almost right cost the most."""
    boundary = b"b" * 16
    start = b"--" + boundary + b'\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\n'
    unit = (b"\r\n--" + boundary)[: 20 if tail else 19] + tail
    body = start + unit * (40 * PIECE_BYTES // len(unit))
    took = []

    async def pieces(request: Request) -> AsyncIterator[bytes]:
        for at in range(0, len(body), PIECE_BYTES):
            began = time.process_time()
            yield body[at : at + PIECE_BYTES]
            took.append(time.process_time() - began)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Request, "pieces", pieces)
        with pytest.raises(MultipartError):
            await read(body, boundary)
    assert sorted(took)[len(took) // 2] < MOST_SECONDS
