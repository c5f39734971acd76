# SPDX-License-Identifier: GPL-2.0-or-later
"""--remap on the C# compiler's server, with a thousand of its methods probed: what it makes of the same source stays
the same, bit by bit."""

import hashlib
import re

import pytest

from helpers import inject, machine, pairs
from helpers.compiler import CompilerServer

# With nothing precompiled these are compiled at run time, by the time that a few programs have been compiled.
PATTERNS = [f"Microsoft.CodeAnalysis.CSharp!Microsoft.CodeAnalysis.CSharp.{types}::*" for types in (
    "Binder", "LocalRewriter", "Syntax.InternalSyntax.LanguageParser", "Syntax.InternalSyntax.Lexer", "Conversions*",
    "Symbols.Source*", "CodeGen.CodeGenerator", "FlowAnalysis*", "DefiniteAssignmentPass*", "OverloadResolution*")]
LEAST = 1000
CODE = "doublemapper"

pytestmark = [pytest.mark.stepped,
              pytest.mark.skipif(not machine.is_root(), reason="only root can make code private")]


@pytest.fixture
def server(tmp_path):
    server = CompilerServer(tmp_path, {"DOTNET_ReadyToRun": "0"})
    yield server
    server.close()


def compiled(server):
    """What comes of a program, as a hash."""
    path = server.directory / "out.dll"
    path.unlink(missing_ok=True)
    server.compile(sorted((machine.TREE / "tests/apps/counter").glob("*.cs")), path.name, "-deterministic+",
                   "-nullable:enable", "-optimize+", "-debug:embedded", timeout=200)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_output_is_identical(place_probe, server):
    expected = compiled(server)
    for _ in range(pairs.few([4], 2)[0]):
        assert compiled(server) == expected, "it is not the same without probes"
    for turn in range(2 if pairs.is_full() else 1):
        live = place_probe.count("--remap", server.pid, *PATTERNS)
        probes = int(re.search(r"until the end, for (\d+) probes", live.err_so_far())[1])
        assert probes >= LEAST, live.err_so_far()
        for _ in range(pairs.few([2], 1)[0]):
            assert compiled(server) == expected, f"turn {turn}"
        assert live.stop().expect(0).calls() > 100 * LEAST
        assert not inject.is_private(server.pid, CODE) and inject.anonymous(server.pid, CODE) == 0
        assert compiled(server) == expected, f"after turn {turn}"
