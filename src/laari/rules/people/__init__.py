"""People: roles and permissions, passwords, second factors, contacts, identity data."""
