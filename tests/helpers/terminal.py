# SPDX-License-Identifier: GPL-2.0-or-later
"""A terminal, by tmux: what a program has drawn on it is read, and keys are pressed."""

import os
import re
import shlex
import subprocess

from . import machine

# A line of a screen that has nothing more to say.
DEAD = re.compile(r"^Pane is dead .*$", re.MULTILINE)
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-7]|9[0-7]|4[0-7]|38;|48;)[0-9;]*m")
ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": os.environ.get("PATH", "/usr/bin:/bin")}


class Terminal:
    """A shell's command on a terminal of its own. Its last screen stays when it has ended."""

    def __init__(self, directory, command, columns=100, lines=24, environment=None):
        self.status = directory / "status"
        self.socket = directory / "tmux"
        sanitizers = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
        environment = ENVIRONMENT | sanitizers | (environment or {})
        around = shlex.join(["env", "-u", "COLUMNS", "-u", "NO_COLOR",
                             *(f"{name}={value}" for name, value in environment.items()),
                             "sh", "-c", f"{command}\necho $? >{self.status}"])
        configuration = directory / "tmux.conf"
        configuration.write_text("set -g remain-on-exit on\nset -g default-terminal screen-256color\n"
                                 "set -g status off\nset -g escape-time 0\n")
        subprocess.run([*self._tmux(), "-f", configuration, "new-session", "-d", "-x", str(columns), "-y", str(lines),
                        f"exec {around}"], env=os.environ | ENVIRONMENT, check=True, timeout=30)

    def _tmux(self):
        return ["tmux", "-S", str(self.socket)]

    def _ask(self, *words):
        return machine.run(*self._tmux(), *words).stdout

    def tell(self, what):
        """What tmux knows of the pane: a variable of its formats."""
        return self._ask("display-message", "-p", f"#{{{what}}}").strip()

    def text(self):
        """What is to be seen now."""
        return DEAD.sub("", self._ask("capture-pane", "-p"))

    def rows(self):
        return self.text().rstrip().splitlines()

    def has_colours(self):
        return bool(COLOUR.search(self._ask("capture-pane", "-p", "-e")))

    def is_drawn_on(self):
        """Is the alternate screen shown?"""
        return self.tell("alternate_on") == "1"

    def press(self, *keys):
        self._ask("send-keys", *keys)

    def resize(self, columns, lines):
        self._ask("resize-window", "-x", str(columns), "-y", str(lines))

    def pid(self):
        return int(self.tell("pane_pid"))

    def wait(self, condition, what, seconds=20):
        """Wait until the text satisfies `condition`, a function of it or a regular expression, which is then returned."""
        found = condition if callable(condition) else re.compile(condition, re.MULTILINE).search
        try:
            machine.wait_until(lambda: found(self.text()), what, seconds)
        except AssertionError as why:
            raise AssertionError(f"{why}\n{self.text()}") from why
        return self.text()

    def wait_end(self):
        """Wait until the program has ended; its exit code."""
        machine.wait_until(lambda: self.status.exists() and self.status.read_text(), "the program ends")
        machine.wait_until(lambda: self.tell("pane_dead") == "1", "its shell ends")
        return int(self.status.read_text())

    def close(self):
        subprocess.run([*self._tmux(), "kill-server"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       check=False, timeout=30)
