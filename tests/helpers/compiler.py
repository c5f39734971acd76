# SPDX-License-Identifier: GPL-2.0-or-later
"""The C# compiler's server: a large program that nobody prepared for being looked at."""

import pathlib
import subprocess
import uuid

from . import apps, machine
from .crossgen import framework_10


def roslyn():
    version, path = machine.run("dotnet", "--list-sdks").stdout.splitlines()[-1].split(" ", 1)
    return pathlib.Path(path.strip("[]")) / version / "Roslyn/bincore"


class CompilerServer:
    """One that only its owner knows, for its pipe has a name of its own. End it with close()."""

    def __init__(self, directory, extra):
        self.directory = directory
        self.env = apps.environment(tiered=True, extra={"TMPDIR": str(directory)})
        self.pipe = f"place-probe-{uuid.uuid4().hex}"
        self.process = subprocess.Popen(
            ["dotnet", "exec", roslyn() / "VBCSCompiler.dll", f"-pipename:{self.pipe}"],
            env=self.env | extra, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.pid = self.process.pid

    def has_pipe(self):
        assert self.process.poll() is None, "the compiler server has ended"
        sockets = pathlib.Path(f"/proc/{self.pid}/net/unix").read_text()
        return self.pipe in sockets

    def compile(self, sources, name, *options, timeout=60):
        machine.wait_until(self.has_pipe, "the compiler server listens")
        references = [f"-r:{path}" for path in framework_10().glob("[SMmn]*.dll")
                      if ".Native." not in path.name]
        machine.run("dotnet", "exec", roslyn() / "csc.dll", f"-shared:{self.pipe}", "-nologo",
                    "-noconfig", "-unsafe", "-warn:0", "-t:library",
                    f"-out:{self.directory / name}", *options, *references, *sources,
                    env=self.env, timeout=timeout)

    def close(self):
        self.process.kill()
        self.process.wait()
