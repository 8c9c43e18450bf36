"""Writes the parts of the client packages that follow from the OpenAPI document."""
