"""Messages by SMS: a program of the operator sends them."""

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from tempfile import TemporaryFile

from laari.store.outbox.messages import LeasedMessage
from laari.workers.messages.delivery import ATTEMPT_SECONDS, NotSent
from laari.workers.messages.texts import write

MOST_READ = 4096  # bytes of the program's errors


async def send(
    command: tuple[str, ...],
    message: LeasedMessage,
    seconds: float = ATTEMPT_SECONDS,
    contact: str | None = None,
) -> None:
    """Runs the program with the number as its last argument and the text on standard input.

    Its errors go to a file: a pipe would also wait for programs that it has left running.
    """
    text = write(message, "sms", contact)
    # The program needs none of our secrets.
    environment = {name: v for name, v in os.environ.items() if not name.startswith("LAARI_")}
    with TemporaryFile() as errors:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                message.recipient,
                stdin=PIPE,
                stdout=DEVNULL,
                stderr=errors,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise NotSent(f"the SMS command cannot be run: {error.strerror}") from error
        try:
            async with asyncio.timeout(seconds):
                await process.communicate(text.encode())
        except TimeoutError:
            raise NotSent(f"the SMS command did not end within {seconds:.0f} s") from None
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode != 0:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - MOST_READ))
            said = errors.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise NotSent(said or f"the SMS command ended with status {process.returncode}")
