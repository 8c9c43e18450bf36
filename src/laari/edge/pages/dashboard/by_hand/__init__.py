"""Links, requests and authorizations that a person of a shop makes without a program."""
