# SPDX-License-Identifier: GPL-2.0-or-later
"""Who reads place-probe's output, but not before he is told to."""

import contextlib
import os
import threading


class SlowReader:
    """Reads a named pipe, but nothing at all before it is told to."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path = path
        self.descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.told = threading.Event()
        self.parts = []
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        self.told.wait()
        os.set_blocking(self.descriptor, True)
        while part := os.read(self.descriptor, 4096):
            self.parts.append(part)
        os.close(self.descriptor)

    def fill(self):
        """Whoever writes from now on waits. What it is full of are empty lines."""
        writer = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"\n" * 4096)
        os.close(writer)

    def read(self):
        self.told.set()

    def end(self):
        self.read()
        self.thread.join()
        return b"".join(self.parts).decode()
