"""Resources as JSON, for replies and events alike; the OpenAPI document is made from these too."""
