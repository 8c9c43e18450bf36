"""What people read of an entry."""

from laari.rules.journal import Change, changes


def test_only_values_that_differ_are_shown() -> None:
    before = '{"name": "Shop", "fee_bps": 5, "active": true, "webhook_url": null}'
    after = '{"name": "Shop", "fee_bps": 7, "active": false, "webhook_url": "https://a.mv"}'
    assert changes(before, after) == [
        Change("fee_bps", "5", "7"),
        Change("active", "yes", "no"),
        Change("webhook_url", None, "https://a.mv"),
    ]


def test_a_new_and_a_removed_object_show_all_values() -> None:
    assert changes(None, '{"daily": 0, "weekly": null}') == [Change("daily", None, "0")]
    assert changes('{"role": "owner"}', None) == [Change("role", "owner", None)]
    assert changes(None, None) == []


def test_only_the_beginning_of_a_digest_is_shown() -> None:
    [change] = changes(None, '{"secret_digest": "\\\\x0123456789abcdef"}')
    assert change == Change("secret_digest", None, "01234567…")
    [password] = changes(None, '{"password_hash": "0123456789abcdef"}')
    assert password == Change("password_hash", None, "(set)")
