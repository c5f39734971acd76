# SPDX-License-Identifier: GPL-2.0-or-later
"""--remap on the C# compiler's server, with a thousand of its methods probed: what it makes of the same source stays
the same, bit by bit."""

import hashlib
import pathlib
import re
import shutil
import subprocess
import uuid

import pytest

from helpers import apps, inject, machine

# With nothing precompiled these are compiled at run time, by the time that a few programs have been compiled.
PATTERNS = [f"Microsoft.CodeAnalysis.CSharp!Microsoft.CodeAnalysis.CSharp.{types}::*" for types in (
    "Binder", "LocalRewriter", "Syntax.InternalSyntax.LanguageParser", "Syntax.InternalSyntax.Lexer", "Conversions*",
    "Symbols.Source*", "CodeGen.CodeGenerator", "FlowAnalysis*", "DefiniteAssignmentPass*", "OverloadResolution*")]
LEAST = 1000
CODE = "doublemapper"

pytestmark = [pytest.mark.stepped,
              pytest.mark.skipif(not machine.is_root(), reason="only root can make code private")]


class Server:
    """The compiler's server, and its clients."""

    def __init__(self, directory):
        sdk = pathlib.Path(shutil.which("dotnet") or "/").resolve().parent
        self.compiler = next(iter(sorted(sdk.glob("sdk/10.*/Roslyn/bincore"), reverse=True)), None)
        references = next(iter(sorted(sdk.glob("packs/Microsoft.NETCore.App.Ref/10.*/ref/net10.0"), reverse=True)), None)
        if not self.compiler or not references:
            pytest.skip("there is no .NET 10 SDK")
        self.directory = directory
        self.name = f"place-probe-{uuid.uuid4()}"
        self.environment = apps.environment(tiered=True, extra={"DOTNET_ReadyToRun": "0"})
        self.words = ["/nologo", "/deterministic+", "/unsafe+", "/nullable:enable", "/optimize+", "/debug:embedded",
                      *(f"/r:{path}" for path in sorted(references.glob("*.dll"))),
                      *(str(path) for path in sorted((machine.TREE / "tests/apps/counter").glob("*.cs")))]
        self.process = subprocess.Popen([self.compiler / "VBCSCompiler", f"-pipename:{self.name}"],
                                        env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.pid = self.process.pid

    def compile(self):
        """What comes of it, as a hash."""
        out = self.directory / "out.dll"
        out.unlink(missing_ok=True)
        machine.run(self.compiler / "csc", f"/shared:{self.name}", f"/out:{out}", *self.words, env=self.environment,
                    timeout=200)
        assert self.process.poll() is None, f"the server ended with {self.process.returncode}"
        return hashlib.sha256(out.read_bytes()).hexdigest()

    def close(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def server(tmp_path):
    server = Server(tmp_path)
    yield server
    server.close()


def test_output_is_identical(place_probe, server):
    expected = server.compile()
    for _ in range(4):
        assert server.compile() == expected, "it is not the same without probes"
    for turn in range(2):
        live = place_probe.count("--remap", server.pid, *PATTERNS)
        probes = int(re.search(r"until the end, for (\d+) probes", live.err_so_far())[1])
        assert probes >= LEAST, live.err_so_far()
        for _ in range(2):
            assert server.compile() == expected, f"turn {turn}"
        assert live.stop().expect(0).calls() > 100 * LEAST
        assert not inject.is_private(server.pid, CODE) and inject.anonymous(server.pid, CODE) == 0
        assert server.compile() == expected, f"after turn {turn}"
