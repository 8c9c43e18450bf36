from __future__ import annotations

from reef.shop import CLUB_FEE


def joined(visitor, merchant):
    """Joins the club: the member's page, and the authorization that the customer approved."""
    response = visitor.post("/members")
    (authorization,) = merchant.client.authorizations.list(status="pending")
    assert response.headers["location"] == authorization.approval_url
    page = authorization.return_url.removeprefix(str(visitor.base_url).rstrip("/"))
    assert "waiting for your approval" in visitor.get(page).text
    approved = merchant.customer.approve(authorization)
    merchant.webhooks.wait_for("authorization.approved", approved)
    assert "You are member 4001" in visitor.get(page).text
    return page, approved


def test_the_fee_is_taken_once_a_month(visitor, shop, laari_merchant):
    page, authorization = joined(visitor, laari_merchant)
    today = laari_merchant.clock.now.date()
    assert shop.charge_members(today) == {4001: "paid"}
    assert shop.charge_members(today) == {}
    later = laari_merchant.clock.advance(days=31).date()
    assert shop.charge_members(later) == {4001: "paid"}
    used = laari_merchant.client.authorizations.get(authorization.id).usage
    assert (used.payment_count, used.total_paid) == (2, 2 * CLUB_FEE)
    assert visitor.get(page).text.count(": paid") == 2


def test_a_run_that_was_interrupted_takes_nothing_twice(visitor, shop, laari_merchant):
    _, authorization = joined(visitor, laari_merchant)
    today = laari_merchant.clock.now.date()
    shop.charge_members(today)
    with shop.database.transaction() as db:
        db.execute("DELETE FROM fees")  # as if it had ended before writing this
    assert shop.charge_members(today) == {4001: "paid"}
    used = laari_merchant.client.authorizations.get(authorization.id).usage
    assert used.total_paid == CLUB_FEE


def test_an_empty_wallet_is_tried_again_tomorrow(visitor, shop, laari_merchant):
    page, _ = joined(visitor, laari_merchant)
    today = laari_merchant.clock.now.date()
    laari_merchant.customer.set(balance=CLUB_FEE - 1)
    assert shop.charge_members(today) == {4001: "insufficient_balance"}
    assert "not paid yet" in visitor.get(page).text
    laari_merchant.customer.set(balance=CLUB_FEE)
    assert shop.charge_members(today) == {4001: "paid"}
    assert laari_merchant.customer.balance == 0


def test_a_member_who_left_pays_no_more(visitor, shop, laari_merchant):
    page, authorization = joined(visitor, laari_merchant)
    assert visitor.post(f"{page}/leave").headers["location"] == page
    assert "not a member" in visitor.get(page).text
    assert shop.charge_members(laari_merchant.clock.now.date()) == {}
    laari_merchant.webhooks.wait_for("authorization.revoked", authorization)
    assert laari_merchant.client.authorizations.get(authorization.id).status == "revoked"


def test_a_customer_who_ends_it_at_laari_is_not_charged(visitor, shop, laari_merchant):
    page, authorization = joined(visitor, laari_merchant)
    laari_merchant.webhooks.fail_next(100)
    laari_merchant.client.authorizations.cancel(authorization.id)
    today = laari_merchant.clock.now.date()
    assert shop.charge_members(today) == {4001: "authorization_inactive"}
    assert "not a member" in visitor.get(page).text
    assert shop.charge_members(today) == {}
