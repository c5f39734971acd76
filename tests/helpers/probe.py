# SPDX-License-Identifier: GPL-2.0-or-later
"""Running place-probe: to its end, or up to where its probes are live."""

import contextlib
import json
import dataclasses
import re
import signal
import subprocess
import threading
import time

from . import machine, records

# What is exact must not depend on how busy a machine is; only how long somebody waits does.
PATIENT = ["--hold", "5000"]
# Most tests are of debug registers, on whatever machine; tests/system/test_remap_auto.py is of what is done without.
NO_REMAP = ["--no-remap"]
DEAD = "hardware breakpoints do not fire on this machine"
ATTACHED = re.compile(r"^place-probe: attached (\d+) sites? to (\d+)\b")


# Where it has said so in the test that is running: see breakpoints.py.
said_dead = []


def note_dead(text):
    if DEAD in text:
        said_dead.append(text)


def patience_for(words):
    """To be patient, but for a test that says itself how long to hold."""
    return [] if any(str(word).startswith(("--hold", "--no-hold")) for word in words) else PATIENT


@dataclasses.dataclass
class Result:
    """How a run of place-probe ended and what it printed."""
    code: int
    out: str
    err: str

    def __str__(self):
        return f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"

    def records(self, kind=None):
        """The JSON lines on stdout, each checked against its schema; only of one type if asked."""
        return [record for record in records.parse(self.out)
                if kind is None or record["type"] == kind]

    def summary(self):
        return self.records()[-1]

    def calls(self, method=None):
        """Calls counted: of all methods, or of those whose name starts with `method`."""
        return sum(record["calls"] for record in self.records("count")
                   if method is None or record["method"].startswith(method))

    def expect(self, code):
        assert self.code == code, f"exit code {code} was expected:\n{self}"
        return self

    def expect_sentence(self, code, *words):
        """A failure told in one line on stderr, with nothing on stdout."""
        self.expect(code)
        lines = self.err.splitlines()
        assert len(lines) == 1, f"one line on stderr was expected:\n{self}"
        assert lines[0].startswith("place-probe: "), f"whose words are these?\n{self}"
        assert self.out == "", f"nothing on stdout was expected:\n{self}"
        for word in words:
            assert re.search(word, lines[0], re.IGNORECASE), f"'{word}' was expected:\n{self}"
        return self


class Live:
    """A place-probe whose probes are in place."""

    def __init__(self, command, timeout, env=None):
        self.timeout = timeout * machine.SCALE
        self.began = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=env,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, errors="replace")
        self.sites = None
        self.attached_after = None
        self._out = []
        self._err = []
        self._talked = threading.Condition()
        self._ended = False
        self._readers = [threading.Thread(target=self._read_out, daemon=True),
                         threading.Thread(target=self._read_err, daemon=True)]
        for reader in self._readers:
            reader.start()

    def _read_out(self):
        for line in self.process.stdout:
            with self._talked:
                self._out.append(line)
                self._talked.notify_all()

    def _read_err(self):
        for line in self.process.stderr:
            match = ATTACHED.match(line)
            note_dead(line)
            with self._talked:
                self._err.append(line)
                if match:
                    self.sites = int(match.group(1))
                    self.attached_after = time.monotonic() - self.began
                self._talked.notify_all()
        with self._talked:
            self._ended = True
            self._talked.notify_all()

    def has_attached(self):
        """Wait until its probes are live (true) or it has ended without (false)."""
        with self._talked:
            known = self._talked.wait_for(lambda: self.sites is not None or self._ended,
                                          timeout=self.timeout)
        return bool(known) and self.sites is not None

    def has_ended(self):
        """Has it said all that it has to say?"""
        with self._talked:
            return self._ended

    def wait_attached(self):
        if not self.has_attached():
            where = "" if self.has_ended() else f"after {self.timeout} s it is here:\n{machine.stacks_of(self.process.pid)}\n"
            self.process.kill()
            raise AssertionError(f"place-probe did not attach:\n{where}{self._collect()}")
        return self

    def wait_out(self, condition, what):
        """Wait until the text printed so far on stdout satisfies `condition`."""
        with self._talked:
            known = machine.wait_for(self._talked, lambda: condition("".join(self._out)), self.timeout)
        assert known, f"{what} was expected within {self.timeout} s:\n{''.join(self._out)}"

    def lines(self):
        """What it prints on stdout, line by line as that comes, to its end."""
        at = 0
        while True:
            with self._talked:
                self._talked.wait_for(lambda: len(self._out) > at or self._ended)
                lines = self._out[at:]
            if not lines:
                return
            at += len(lines)
            yield from lines

    def wait_err(self, pattern):
        """Wait until what it has said on stderr so far matches a regular expression."""
        with self._talked:
            known = machine.wait_for(
                self._talked, lambda: self._ended or re.search(pattern, "".join(self._err), re.MULTILINE), self.timeout)
            said = "".join(self._err)
        assert known and re.search(pattern, said, re.MULTILINE), \
            f"'{pattern}' was expected within {self.timeout} s:\n{said}"

    def has_said(self, pattern):
        """Does what it has said on stderr so far match a regular expression?"""
        with self._talked:
            return re.search(pattern, "".join(self._err)) is not None

    def err_so_far(self):
        with self._talked:
            return "".join(self._err)

    def suspend(self):
        """Stop all its threads, as a debugger or a full machine would."""
        self.process.send_signal(signal.SIGSTOP)
        machine.wait_until(lambda: machine.thread_states(self.process.pid) == {"T"},
                           "place-probe stands still")

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def run_on(self, seconds):
        """Let it run for so long, or to its end: that of the target, say."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def out_so_far(self):
        with self._talked:
            return "".join(self._out)

    def records_so_far(self):
        """JSON lines that are complete."""
        return [json.loads(line) for line in self.out_so_far().split("\n")[:-1] if line.startswith("{")]

    def _collect(self):
        patience = machine.Patience(self.timeout)
        while self.process.poll() is None and patience.left() > 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(min(1, patience.left()))
        code = self.process.wait(0)
        for reader in self._readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return Result(code, "".join(self._out), "".join(self._err))

    def finish(self):
        """Wait for its own end."""
        try:
            return self._collect()
        except subprocess.TimeoutExpired:
            where = machine.stacks_of(self.process.pid)
            self.process.kill()
            raise AssertionError(f"place-probe did not end; it is here:\n{where}\n{self._collect()}") from None

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.finish()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self._collect()


class PlaceProbe:
    """The program under test."""

    def __init__(self, path, env=None):
        self.path = path
        self.env = env
        self.before = []  # what starts it
        self.words = NO_REMAP  # what it is always given
        self._live = []

    def command(self, words):
        # It has no part in what is read from a record.
        ours = [] if any(str(word).startswith("--replay") for word in words) else self.words
        return [str(word) for word in [*self.before, self.path, *ours, *words]]

    def run(self, *words, timeout=30, **options):
        """Run it to its end; with a COMMAND, patient unless it is told otherwise."""
        patience = patience_for(words) if "--" in words else []
        options.setdefault("env", self.env)
        result = subprocess.run(self.command([*patience, *words]), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                errors="replace", timeout=timeout * machine.SCALE, **options)
        note_dead(result.stderr)
        return Result(result.returncode, result.stdout, result.stderr)

    def live(self, *words, timeout=30):
        """Start it and return once its probes are live."""
        live = self.start(*words, timeout=timeout)
        return live.wait_attached()

    def start(self, *words, timeout=30, env=None, patient=True):
        """Start it, patient unless it is told otherwise."""
        patience = patience_for(words) if patient else []
        live = Live(self.command([*patience, *words]), timeout, env or self.env)
        self._live.append(live)
        return live

    def count(self, *words, timeout=30):
        """Start counting calls, in JSON."""
        return self.live("-c", "-j", *words, timeout=timeout)

    def close(self):
        for live in self._live:
            live.close()
        self._live = []
