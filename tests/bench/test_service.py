"""What the bench reads off the processes of the service."""

import subprocess
import sys

import psutil
import pytest

from bench.service import processor_seconds_of

pytestmark = pytest.mark.ci

# Starts a child that uses a processor, and says when it has ended.
PARENT = """
import subprocess, sys
busy = "import time\\nwhile time.process_time() < 0.4: pass"
subprocess.run([sys.executable, "-c", busy], check=True)
print("ended", flush=True)
sys.stdin.read()
"""


def test_what_a_child_has_used_counts_after_its_end() -> None:
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == b"ended\n"
        process = psutil.Process(parent.pid)
        assert not process.children()
        assert processor_seconds_of(process) >= 0.4
        parent.communicate()
