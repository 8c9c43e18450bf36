"""Limits of sizes, numbers and times, for one client and for all of them together."""

from typing import NamedTuple

from laari.rules.limits.bodies import MAX_BODY_BYTES

BACKLOG = 2048  # connections that wait to be accepted
# Handles on a listening socket: the event loop accepts one connection for each in a round. With one
# handle, new clients would wait for many rounds while the process is busy.
ACCEPTS = 8


class Limits(NamedTuple):
    """Sizes in bytes, times in seconds. Tests make them smaller."""

    head_bytes: int = 64 * 1024  # request line and fields
    fields: int = 100
    # A longer body is not read. The application refuses it, or takes it in pieces.
    body_bytes: int = MAX_BODY_BYTES
    # Small chunks cost more to read than to send. A body may have this number of chunks, and one
    # more for each `chunk_bytes` of it.
    chunks: int = 320
    chunk_bytes: int = 1024
    chunk_line_bytes: int = 256  # its size and extensions, which nobody uses
    trailer_bytes: int = 8 * 1024
    # Fields of the last request that an idle connection keeps, to recognise them. Merchants'
    # programs send less; all connections together could hold gigabytes of longer ones.
    kept_bytes: int = 1024

    head_seconds: float = 10  # from its first byte to its last
    # A body has a start of ten seconds and then a second for each KiB that came, a minute in all.
    body_start_seconds: float = 10
    body_bytes_per_second: int = 1024
    body_seconds: float = 60
    # One that the application takes has the same start, then a second for each 32 KiB.
    long_body_bytes_per_second: int = 32 * 1024
    # A request that waited longer for this process is refused unread: it would delay others, and
    # its client has probably given up, above all if it has closed its sending side.
    wait_seconds: float = 3
    closed_wait_seconds: float = 1
    cheap_bytes: int = 2 * 1024  # always read: its path says how to answer
    idle_seconds: float = 65  # longer than load balancers keep theirs, which is a minute
    # A client has to take a KiB a second of a waiting response in each half minute.
    stalled_write_seconds: float = 30
    write_bytes_per_second: int = 1024
    drain_seconds: float = 2  # after a response that came before the end of its request
    # More than the longest upload: a browser reads no response before it has sent everything.
    drain_bytes: int = 12 * 1024 * 1024

    # Per process. Honest clients have few unfinished requests: most arrive in one piece.
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
        """Seconds until a body has to be complete, by the bytes that have come."""
        earned = self.body_start_seconds + received / self.body_bytes_per_second
        return min(earned, self.body_seconds)
