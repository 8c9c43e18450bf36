"""The form in which customers and people of merchants choose their messages about movements."""

import secrets

from tests.pages.forms import Forms, token_in
from tests.pages.owners import new_owner
from tests.pages.test_permissions import logged_in
from tests.serving import Service

STORED = "SELECT channel, least FROM message_choices WHERE {} = $1"


def test_a_customer_chooses_in_the_wallet(service: Service) -> None:
    made = service.customer(email=f"{secrets.token_hex(6)}@example.mv")
    [row] = service.execute("SELECT email FROM customers WHERE id = $1", made.id)
    forms = Forms()
    assert forms.log_in(f"{service.origin}/app/login", row["email"], made.password).is_redirect
    token = {"form_token": forms.token(f"{service.origin}/app/password")}
    address, stored = f"{service.origin}/app/messages", STORED.format("customer_id")
    for channel, least, expected in (("sms", "5", ("sms", 500)), ("", "", (None, 0))):
        answer = forms.send(address, token | {"channel": channel, "least": least})
        assert answer.headers["location"].endswith("/password?done=messages")
        assert [tuple(each) for each in service.execute(stored, made.id)] == [expected]
    for wrong in ({"channel": "pigeon"}, {"channel": "sms", "least": "-1"}):
        assert forms.send(address, token | wrong).status_code == 422


async def test_a_person_chooses_in_the_dashboard(service: Service) -> None:
    person = new_owner(service)
    client = await logged_in(service, person.email)
    account = f"/{person.shop.id}/live/account"
    fields = {"form_token": token_in(client.get(account).text), "channel": "none", "least": ""}
    answer = client.post(f"{account}/messages", data=fields)
    assert answer.headers["location"].endswith("account?done=messages")
    [row] = service.execute("SELECT id FROM persons WHERE email = $1", person.email)
    stored = service.execute(STORED.format("person_id"), row["id"])
    assert [tuple(each) for each in stored] == [("none", 0)]
