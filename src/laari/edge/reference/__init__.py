"""The OpenAPI document, /docs and the guides."""
