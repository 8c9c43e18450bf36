"""Messages by email: plain text, through the operator's mail server."""

import asyncio
import re
import ssl
from contextlib import suppress
from email.message import EmailMessage
from email.policy import SMTP as SMTP_POLICY
from email.utils import format_datetime, parseaddr

from aiosmtplib import (
    SMTP,
    SMTPDataError,
    SMTPException,
    SMTPRecipientRefused,
    SMTPRecipientsRefused,
    SMTPResponseException,
)

from laari.rules import ids
from laari.settings import SmtpServer
from laari.store.outbox.messages import LeasedMessage
from laari.workers.messages.delivery import ATTEMPT_SECONDS, NotSent
from laari.workers.messages.texts import write

STEP_SECONDS = 10.0  # for each command
QUIT_SECONDS = 1.0
_POLICY = SMTP_POLICY.clone(cte_type="7bit")  # every server accepts it

_ATOM = r"[A-Za-z0-9!#$%&'*+/=^_`{|}~-]+"
_ADDRESS = re.compile(rf"{_ATOM}(\.{_ATOM})*@[A-Za-z0-9.-]+", re.ASCII)


class Mailer:
    """Sends one message per connection. Without `trusted`, the system's authorities are trusted."""

    def __init__(
        self,
        server: SmtpServer,
        mail_from: str,
        step_seconds: float = STEP_SECONDS,
        trusted: ssl.SSLContext | None = None,
        contact: str | None = None,
    ) -> None:
        self._server = server
        self._from = mail_from
        self._contact = contact
        self._step_seconds = step_seconds
        self._trusted = trusted or ssl.create_default_context()

    async def send(self, message: LeasedMessage) -> None:
        email = compose(message, self._from, self._contact).as_bytes()
        client = SMTP(
            hostname=self._server.host,
            port=self._server.port,
            username=self._server.user,
            password=self._server.password,
            use_tls=self._server.tls,
            # A password goes only over TLS. Without one, TLS is used if the server offers it.
            start_tls=True if self._server.user is not None and not self._server.tls else None,
            timeout=self._step_seconds,
            tls_context=self._trusted,
        )
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS):
                await client.connect()
                await client.sendmail(parseaddr(self._from)[1], [message.recipient], email)
            # Sent: nothing that happens now counts.
            with suppress(SMTPException, OSError):
                await client.quit(timeout=QUIT_SECONDS)
        except (SMTPException, OSError, ValueError) as error:
            raise _explained(error) from error
        finally:
            client.close()


def compose(message: LeasedMessage, mail_from: str, contact: str | None = None) -> EmailMessage:
    """The same bytes for every attempt, so that a second copy is recognisable."""
    if _ADDRESS.fullmatch(message.recipient) is None:
        raise NotSent("the recipient is not an email address", permanent=True)
    email = EmailMessage(_POLICY)
    email["From"] = mail_from
    email["To"] = message.recipient
    # A name must not be read as an encoded word: it could contain the end of a line.
    email["Subject"] = write(message, "subject", contact).replace("=?", "= ?")
    email["Date"] = format_datetime(message.created_at)
    domain = parseaddr(mail_from)[1].rpartition("@")[2]
    email["Message-ID"] = f"<{ids.show_id(ids.MESSAGE, message.id)}@{domain}>"
    email["Auto-Submitted"] = "auto-generated"
    email.set_content(write(message, "email", contact))
    return email


def _explained(error: Exception) -> NotSent:
    """A refusal of this recipient or content is permanent; one of our log-in can be repaired."""
    if isinstance(error, SMTPRecipientsRefused):
        error = error.recipients[0]
    if isinstance(error, SMTPResponseException):
        ours = isinstance(error, SMTPRecipientRefused | SMTPDataError)
        permanent = ours and 500 <= error.code < 600
        return NotSent(f"{error.code} {error.message}", permanent=permanent)
    return NotSent(str(error) or f"no answer within {ATTEMPT_SECONDS:.0f} s")
