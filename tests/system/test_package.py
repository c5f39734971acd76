# SPDX-License-Identifier: GPL-2.0-or-later
"""What comes with the program where it is installed: what shells complete, and Debian's packages."""

import os
import pty
import re
import select
import shlex
import subprocess
import time

import pytest

from helpers import apps, machine, pairs

BASH = machine.TREE / "packaging/place-probe.bash"
ZSH = machine.TREE / "packaging"

pytestmark = pytest.mark.beside


@pytest.fixture
def path(place_probe):
    return {"PATH": f"{place_probe.path.parent}:{os.environ['PATH']}"}


def bash(path, line):
    """What it offers at the end of a line."""
    words = line.split(" ")
    # As readline does, which takes a colon for a word of its own.
    parts = [part for word in words for part in (re.findall(r":+|[^:]+", word) or [""])]
    script = f"""source {BASH}
        compopt() {{ :; }}
        COMP_WORDBREAKS=$' \\t\\n:'
        COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}
        COMP_WORDS=({shlex.join(parts)}) COMP_CWORD={len(parts) - 1}
        _place_probe
        printf '%s\\n' "${{COMPREPLY[@]}}" """
    result = subprocess.run(["bash", "--norc", "-c", script], env=path, capture_output=True, text=True, check=True,
                            timeout=30 * machine.SCALE)
    assert result.stderr == "", result.stderr
    return result.stdout.split()


class Zsh:
    """On a terminal of its own, with nothing but this completion."""

    def __init__(self, path):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {"TERM": "dumb", "PS1": "ready> ", "COLUMNS": "200", **path})
        self.until("ready> ")
        self.type(f"fpath=({ZSH} $fpath); autoload -U compinit; compinit -D -u; unsetopt automenu; echo is''set\n")
        self.until("isset")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def until(self, text):
        """What it shows up to this text."""
        shown, end = "", time.monotonic() + 30 * machine.SCALE
        while text not in shown:
            assert time.monotonic() < end, f"'{text}' was expected: {shown}"
            if select.select([self.terminal], [], [], 1)[0]:
                shown += os.read(self.terminal, 4096).decode(errors="replace")
        return shown

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


@pytest.fixture
def zsh(path):
    shell = Zsh(path)
    yield shell
    shell.close()


@pytest.fixture
def target(build_app):
    app = apps.App([build_app("r2r10")], apps.environment(tiered=False))
    yield app
    app.close()


def test_bash(path, target):
    """Options, processes of a runtime, and the types and methods of one."""
    assert bash(path, "place-probe --cou") == ["--count"]
    assert {"--hist", "--min=", "--folded"} <= set(bash(path, "place-probe --"))
    # One with its name while there are several, and without a name when it is the only one.
    offered = bash(path, "place-probe ")
    assert str(target.pid) in offered, offered
    assert bash(path, f"place-probe {target.pid}") == [str(target.pid)]
    assert "Counted.Kinds::" in bash(path, f"place-probe -c {target.pid} Counted.Ki")
    assert {"Static", "Throws"} <= set(bash(path, f"place-probe -c {target.pid} Counted.Kinds::"))
    assert bash(path, f"place-probe -c {target.pid} 'Counted.Kinds::Thr") == ["Throws"]
    assert bash(path, f"place-probe -c {target.pid} No.Such") == []


def test_names(place_probe, target):
    """A part of the name at a time, as the metadata has them; of each overload once, and of those in one image."""
    def names(*word):
        return place_probe.run("--complete", target.pid, *word).expect(0).out.splitlines()

    assert {"Counted.", "System.", "Microsoft."} <= set(names()) == set(names(""))
    assert not [name for name in names("System.") if "." in name.removeprefix("System.")[:-1]]
    assert names("Counted.Kinds::Over") == ["Counted.Kinds::Over"]
    # What the compiler has made is for who asks for it.
    assert not [name for name in names("Counted.Moving") if "<" in name]
    assert "Counted.Moving+<>c::" in names("Counted.Moving+<")
    assert (names("counter!Co"), names("counter.dll!Co")) == (["counter!Counted."], ["counter.dll!Counted."])
    assert names("System.Private.CoreLib!Co") == []
    assert f"{target.pid} counter" in place_probe.run("--complete").expect(0).out.splitlines()
    place_probe.run("--complete", machine.unused_pid()).expect_sentence(1, "there is no process")


def test_zsh(zsh, target):
    zsh.type("place-probe --cou\t")
    assert "place-probe --count" in zsh.until("--count")
    zsh.type(f"\x15place-probe {target.pid} Counted.Kinds::Thr\t")
    zsh.until("Counted.Kinds::Throws")
    zsh.type("\x15place-probe \t\t")
    zsh.until(str(target.pid))


if pairs.is_full():
    def build(tree):
        machine.run("git", "clone", "-q", machine.TREE, tree)
        machine.run("make", "-s", "-C", tree, "deb", timeout=900)
        return {path.name: path for path in (tree / "build/deb").glob("*.deb")}

    def test_debian_packages(tmp_path):
        """lintian has nothing to say of them, wherever they are built they are the same, and in a bare system one is
        installed, runs, and goes without a trace."""
        packages = build(tmp_path / "one")
        again = build(tmp_path / "another/deeper")
        assert set(packages) == set(again) and len(packages) == 3
        for name, package in packages.items():
            assert package.read_bytes() == again[name].read_bytes(), f"{name} is another in another place"
        root = tmp_path / "root"
        machine.run("debootstrap", "--variant=minbase", "bookworm", root, timeout=900)
        name = next(name for name in packages if name.startswith("place-probe_"))
        (root / name).write_bytes(packages[name].read_bytes())
        inside = ["chroot", root, "env", "DEBIAN_FRONTEND=noninteractive"]
        before = {path.relative_to(root) for path in (root / "usr").rglob("*place-probe*")}
        machine.run(*inside, "apt-get", "install", "-y", "-q", "--no-install-recommends", f"/{name}", timeout=600)
        assert re.fullmatch(r"place-probe \d+\.\d+\.\d+\n",
                            machine.run(*inside, "place-probe", "--version").stdout)
        assert (root / "usr/share/bash-completion/completions/place-probe").exists()
        machine.run(*inside, "apt-get", "purge", "-y", "-q", "place-probe", timeout=600)
        assert {path.relative_to(root) for path in (root / "usr").rglob("*place-probe*")} == before
