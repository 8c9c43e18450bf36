"""QR images: valid PNGs that a reader decodes to the same text."""

import io

import pytest
import zxingcpp
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from laari.edge.qr import PIXELS_PER_MODULE, qr_png

ADDRESS = "https://pay.example.mv/pay/Zb3xK0a-_9QmPq7LwTn2cA"
QUIET = 4 * PIXELS_PER_MODULE


def opened(text: str) -> Image.Image:
    png = qr_png(text)
    Image.open(io.BytesIO(png)).verify()  # checks the chunks' checksums
    image = Image.open(io.BytesIO(png))
    image.load()
    return image


@pytest.mark.parametrize(
    "text",
    ["x", ADDRESS, "0123456789" * 20, "ދިވެހި 😀", "a" * 2_000, ("/pay/Ab9-_" * 200)],
    ids=["short", "address", "digits", "letters", "long", "long mixed"],
)
def test_a_reader_gets_the_text_back(text: str) -> None:
    [code] = zxingcpp.read_barcodes(opened(text))
    assert code.text == text
    assert code.format == zxingcpp.BarcodeFormat.QRCode
    assert code.ec_level == "M"


@settings(max_examples=25)
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=100))
def test_any_printable_text(text: str) -> None:
    [code] = zxingcpp.read_barcodes(opened(text))
    assert code.text == text


@pytest.mark.parametrize("text", [ADDRESS, "a" * 2_000])
def test_size_and_quiet_zone(text: str) -> None:
    image = opened(text)
    assert image.mode == "1"
    assert image.width == image.height
    modules = image.width // PIXELS_PER_MODULE - 8
    assert (modules - 17) % 4 == 0  # the sizes that QR codes have
    assert image.width == (modules + 8) * PIXELS_PER_MODULE
    dark = image.convert("L").point(lambda level: 255 - level).getbbox()
    assert dark == (QUIET, QUIET, image.width - QUIET, image.height - QUIET)


def test_modules_are_squares_of_one_colour() -> None:
    image = opened(ADDRESS)
    small = image.resize((image.width // PIXELS_PER_MODULE,) * 2, Image.Resampling.NEAREST)
    assert small.resize(image.size, Image.Resampling.NEAREST).tobytes() == image.tobytes()


def test_too_much_text_is_an_error() -> None:
    with pytest.raises(ValueError, match="long"):
        qr_png("a" * 3_000)
