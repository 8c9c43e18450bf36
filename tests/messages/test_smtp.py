"""Mail through a real SMTP server: one that accepts, refuses, stalls, is late or goes away."""

import ssl
import time

import pytest
import trustme
from aiosmtpd.smtp import AuthResult

from laari.settings import SmtpServer
from laari.workers.messages import smtp
from laari.workers.messages.delivery import NotSent
from laari.workers.messages.smtp import Mailer
from tests.messages.outbox import FROM, Mailbox, leased, mail_server, silent_server
from tests.serving import free_port


@pytest.fixture
def mailbox() -> Mailbox:
    return Mailbox()


async def refusal(server: SmtpServer, **options: object) -> NotSent:
    with pytest.raises(NotSent) as refused:
        await Mailer(server, FROM, **options).send(leased())  # type: ignore[arg-type]
    return refused.value


async def test_a_message_arrives(mailbox: Mailbox) -> None:
    message = leased()
    async with mail_server(mailbox) as server:
        await Mailer(server, FROM).send(message)
    [email] = mailbox.received
    assert (mailbox.senders, mailbox.recipients) == (["pay@example.com"], ["aisha@example.mv"])
    assert email["Subject"] == "Seagull Café asks you to pay MVR 1,250.00"
    assert "1 July 2027, 14:30" in email.get_content()


@pytest.mark.parametrize("command", ["RCPT", "DATA"])
async def test_a_refusal_of_the_recipient_or_the_content_is_permanent(
    mailbox: Mailbox, command: str
) -> None:
    mailbox.answer(command, "550 5.1.1 no such user here")
    async with mail_server(mailbox) as server:
        refused = await refusal(server)
    assert (refused.permanent, str(refused)) == (True, "550 5.1.1 no such user here")


@pytest.mark.parametrize("command", ["RCPT", "DATA"])
async def test_a_temporary_refusal_is_not(mailbox: Mailbox, command: str) -> None:
    mailbox.answer(command, "451 4.7.1 try again later")
    async with mail_server(mailbox) as server:
        refused = await refusal(server)
        assert (refused.permanent, str(refused)) == (False, "451 4.7.1 try again later")
        await Mailer(server, FROM).send(leased())
    assert len(mailbox.received) == 1


async def test_a_server_that_is_not_there() -> None:
    refused = await refusal(SmtpServer("127.0.0.1", free_port(), False, None, None))
    assert not refused.permanent
    assert "Error connecting" in str(refused)


async def test_a_silent_server_is_given_up() -> None:
    began = time.monotonic()
    async with silent_server() as server:
        refused = await refusal(server, step_seconds=0.2)
    assert not refused.permanent
    assert time.monotonic() - began < 5


async def test_steps_that_are_each_in_time_can_be_too_slow_together(
    mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "ATTEMPT_SECONDS", 0.5)
    mailbox.answer("RCPT", 0.3)
    mailbox.answer("DATA", 0.3)
    async with mail_server(mailbox) as server:
        assert not (await refusal(server)).permanent


async def test_a_late_answer_is_waited_for(mailbox: Mailbox) -> None:
    mailbox.answer("RCPT", 0.5)
    mailbox.answer("DATA", 0.5)
    async with mail_server(mailbox) as server:
        await Mailer(server, FROM).send(leased())
    assert len(mailbox.received) == 1


async def test_an_answer_that_is_too_late_counts_as_none(mailbox: Mailbox) -> None:
    mailbox.answer("DATA", 30.0)
    async with mail_server(mailbox) as server:
        assert not (await refusal(server, step_seconds=0.2)).permanent


@pytest.mark.parametrize("command", ["RCPT", "DATA"])
async def test_a_server_that_goes_away_in_the_middle(mailbox: Mailbox, command: str) -> None:
    mailbox.answer(command, None)
    async with mail_server(mailbox) as server:
        refused = await refusal(server)
        assert not refused.permanent
        await Mailer(server, FROM).send(leased())


async def test_a_message_that_was_accepted_is_sent_though_the_server_never_says_goodbye(
    mailbox: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp, "QUIT_SECONDS", 0.1)

    async def handle_quit(server: object, session: object, envelope: object) -> str:
        return await mailbox._next(server, "QUIT")  # type: ignore[arg-type]

    mailbox.handle_QUIT = handle_quit  # type: ignore[attr-defined]
    async with mail_server(mailbox) as server:
        for answer in (30.0, None, "500 no"):
            mailbox.answer("QUIT", answer)
            await Mailer(server, FROM).send(leased())
    assert len(mailbox.received) == 3


def certificates() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """For the server, and for a client that trusts it."""
    authority = trustme.CA()
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(serving)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    return serving, trusting


def only_aisha(server: object, session: object, envelope: object, mechanism: str, data: object):  # type: ignore[no-untyped-def]
    login, password = data.login, data.password  # type: ignore[attr-defined]
    fits = (login, password) == (b"aisha", b"p@ss/word")
    return AuthResult(success=fits, handled=False)


@pytest.mark.filterwarnings("ignore:Requiring AUTH")
async def test_tls_from_the_first_byte_on_with_a_password(mailbox: Mailbox) -> None:
    serving, trusting = certificates()
    options = {"authenticator": only_aisha, "auth_required": True, "auth_require_tls": False}
    async with mail_server(mailbox, ssl=serving, **options) as server:
        with_password = server._replace(user="aisha", password="p@ss/word")
        await Mailer(with_password, FROM, trusted=trusting).send(leased())
        assert len(mailbox.received) == 1
        refused = await refusal(server._replace(user="aisha", password="x"), trusted=trusting)
        assert not refused.permanent  # the operator can repair it
        assert str(refused).startswith("535")


async def test_starttls_is_used_if_the_server_offers_it(mailbox: Mailbox) -> None:
    serving, trusting = certificates()
    async with mail_server(mailbox, tls_context=serving, require_starttls=True) as server:
        await Mailer(server, FROM, trusted=trusting).send(leased())
        assert len(mailbox.received) == 1
        untrusted = await refusal(server)  # the system does not know this authority
        assert not untrusted.permanent


async def test_a_password_never_goes_over_a_plain_connection(mailbox: Mailbox) -> None:
    asked: list[object] = []

    def note(*given: object) -> AuthResult:
        asked.append(given)
        return AuthResult(success=True)

    async with mail_server(mailbox, authenticator=note, auth_require_tls=False) as server:
        refused = await refusal(server._replace(user="aisha", password="p"))
    assert not refused.permanent
    assert asked == mailbox.received == []
