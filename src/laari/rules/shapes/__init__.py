"""Resources as JSON, for replies, events and the OpenAPI document."""
