"""The interactive reference and the OpenAPI document behind it."""

from __future__ import annotations

from laari.edge.http import Reply


def reference_page(path: str, origin: str) -> Reply | None:
    return None
