# SPDX-License-Identifier: GPL-2.0-or-later
"""How long somebody waits who has pressed Tab: what bash and zsh complete, beside the list of the same names."""

import os
import pathlib
import statistics
import subprocess
import time

from helpers import apps, machine

RUNS = 15
# As it is typed, bit by bit.
WORDS = ["", "System.", "System.Threading.Th", "System.Threading.Thread::", "Web.Shop::"]
BASH = f"source {machine.TREE}/packaging/place-probe.bash; compopt() {{ :; }}; _place_probe"


def forget_files(pid):
    """Let the kernel read the target's files anew, as far as the target itself does not keep them in memory."""
    for path in {line.split()[-1] for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
                 if "/" in line}:
        try:
            fd = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def timed(command, pid, cold, times=RUNS, **options):
    """Milliseconds of each run."""
    runs = []
    for _ in range(times):
        if cold:
            forget_files(pid)
        began = time.monotonic()
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, **options)
        runs.append(1000 * (time.monotonic() - began))
    return runs


def pressed(pid, word):
    """What bash does then."""
    words = ["place-probe", str(pid), word]
    line = " ".join(words)
    # As arguments, so that nothing of a word is the shell's.
    return ["bash", "--norc", "-c", f'COMP_LINE=$1 COMP_POINT=${{#1}} COMP_WORDS=("${{@:2}}") COMP_CWORD=2; {BASH}',
            "bash", line, *words]


def bench(row):
    print("From Tab to what is offered, of an ASP.NET server; beside it --list -j of the same names")
    app = apps.App([apps.build("web10")], apps.environment(True), timeout=120)
    app.ask("work 60", "done")
    program = machine.BUILD / "place-probe"
    path = {"PATH": f"{machine.BUILD}:{os.environ['PATH']}"}
    for word in WORDS:
        warm, cold = (timed(pressed(app.pid, word), app.pid, forget, env=path) for forget in (False, True))
        # Until there was --complete.
        pattern = f"{word}*" if "::" in word else f"{word}*::*"
        listed = timed([program, "-l", "-j", str(app.pid), pattern], app.pid, False, 3) if word else []
        row(f"'{word}'", f"{statistics.median(warm):.0f} ms",
            f"at most {max(warm):.0f}; files not in memory {statistics.median(cold):.0f}, at most {max(cold):.0f}"
            + (f"; --list {statistics.median(listed):.0f}" if listed else ""))
    row("which processes", f"{statistics.median(timed([program, '--complete'], app.pid, False)):.0f} ms")
    app.close()
