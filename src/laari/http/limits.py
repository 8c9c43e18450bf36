"""How much, how many and how long: what one client, and all of them together, may take."""

from typing import NamedTuple

BACKLOG = 2048  # connections that wait to be accepted
# Connections that are accepted in one round of the event loop, which accepts one for each handle on
# a listening socket. With one handle, new clients would wait for as many rounds as there are
# connections before theirs; a round is long while many requests are served.
ACCEPTS = 8


class Limits(NamedTuple):
    """Sizes in bytes, times in seconds. Tests make them smaller."""

    head_bytes: int = 64 * 1024  # request line and fields
    fields: int = 100
    body_bytes: int = 512 * 1024  # a longer body is not read; the application refuses it
    # Small chunks cost more to read than to send. So many a body may have whatever they hold, and
    # one more for each of these bytes.
    chunks: int = 320
    chunk_bytes: int = 1024
    chunk_line_bytes: int = 256  # its size and extensions, which nobody uses
    trailer_bytes: int = 8 * 1024
    # Fields of the last request that an idle connection keeps, to know them again. The programs of
    # merchants send less; all connections together could hold gigabytes of longer ones.
    kept_bytes: int = 1024

    head_seconds: float = 10  # from its first byte to its last
    # A body has a start of ten seconds and then a second for each KiB that came, a minute in all.
    body_start_seconds: float = 10
    body_bytes_per_second: int = 1024
    body_seconds: float = 60
    # A request that waited longer for this process is refused unread: it would keep those behind it
    # waiting, and its client has most likely given up. One that has closed its side has, unless it
    # only says that it sends no more: that one is answered as long as the process is not late.
    wait_seconds: float = 3
    closed_wait_seconds: float = 1
    cheap_bytes: int = 2 * 1024  # that much is always read: its path says how to answer
    idle_seconds: float = 65  # longer than load balancers keep theirs, which is a minute
    # A response that waits for its client: in each half minute it takes a KiB a second, or it is
    # given up. What the system buffers counts as taken, once.
    stalled_write_seconds: float = 30
    write_bytes_per_second: int = 1024
    drain_seconds: float = 2  # after a response that came before the end of its request
    drain_bytes: int = 1024 * 1024

    # Per process. Unfinished requests are few where clients are honest: most arrive in one piece.
    unfinished: int = 1024
    unfinished_per_address: int = 128
    unfinished_bytes: int = 64 * 1024 * 1024
    unsent_bytes: int = 64 * 1024 * 1024  # of responses that clients do not take
    # Of requests that were sent before the response to an earlier one; a short one is not counted.
    pipelined_bytes: int = 64 * 1024 * 1024
    pipelined_short: int = 2 * 1024
    connections: int = 16 * 1024
    reserved_files: int = 128  # for the database, logs and pipes, out of what the system allows

    def body_deadline(self, received: int) -> float:
        """Seconds after which a body has to be complete, given how much of it has come."""
        earned = self.body_start_seconds + received / self.body_bytes_per_second
        return min(earned, self.body_seconds)
