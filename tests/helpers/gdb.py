# SPDX-License-Identifier: GPL-2.0-or-later
"""A debugger on the target, which holds some of its debug registers."""

import subprocess
import threading

from . import machine

SETTINGS = ["set pagination off", "set confirm off", "set auto-solib-add off",
            "set debuginfod enabled off"]


class Gdb:
    """Attached, with a hardware breakpoint at each of `addresses`, and the target running."""

    def __init__(self, pid, addresses, timeout=30):
        self.timeout = timeout * machine.SCALE
        self.process = subprocess.Popen(["gdb", "-nx", "-q"], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT)
        self._out = ""
        self._talked = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        # The runtime's own signals are none of the debugger's business.
        self.tell(*SETTINGS, f"attach {pid}", "handle SIG34 nostop noprint pass",
                  *(f"hbreak *{address:#x}" for address in addresses), "continue &",
                  "echo now\\ running\\n")
        self.wait_for("now running")
        assert self._out.count("Hardware assisted breakpoint") == len(addresses), self._out
        assert "Continuing" in self._out and "Cannot" not in self._out, self._out

    def _read(self):
        for line in self.process.stdout:
            with self._talked:
                self._out += line
                self._talked.notify_all()

    def tell(self, *commands):
        for command in commands:
            self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def wait_for(self, text):
        with self._talked:
            known = self._talked.wait_for(lambda: text in self._out, timeout=self.timeout)
        assert known, f"gdb did not say '{text}':\n{self._out}"

    def detach(self):
        self.tell("interrupt")
        self.wait_for("received signal SIGINT")
        self.tell("delete", "detach", "quit")
        self.process.wait(timeout=self.timeout)
        self.close()
        assert "detached" in self._out, self._out

    def close(self):
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self.process.stdin.close()
        self.process.stdout.close()
