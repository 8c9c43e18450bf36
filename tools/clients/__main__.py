"""`make clients`: writes the generated parts of the client packages."""

from pathlib import Path

from laari.edge.reference.openapi import openapi_document
from tools.clients.document import read_interface
from tools.clients.php_client import php_files
from tools.clients.python_client import python_files
from tools.clients.typescript_client import typescript_files

ROOT = Path(__file__).parents[2]
# The clients do not contain an address: their users give it.
ORIGIN = "https://pay.example"


def generated_files() -> dict[Path, str]:
    interface = read_interface(openapi_document(ORIGIN))
    return python_files(interface) | typescript_files(interface) | php_files(interface)


def main() -> None:
    for path, text in generated_files().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"{path.relative_to(ROOT)} written")


if __name__ == "__main__":
    main()
