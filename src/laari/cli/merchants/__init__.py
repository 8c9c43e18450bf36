"""Commands about merchants: settings, keys, OAuth clients, applications."""
