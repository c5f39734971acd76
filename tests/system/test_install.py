# SPDX-License-Identifier: GPL-2.0-or-later
"""One binary that needs no other file of ours, put in place and taken away again."""

import os
import re

import pytest

from helpers import machine, probe


def test_install_and_uninstall(tmp_path, place_probe_path):
    where = [f"DESTDIR={tmp_path}/stage", "PREFIX=/opt/tools"]
    env = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    machine.run("make", "-s", "install", *where, cwd=machine.TREE, env=env)
    program = tmp_path / "stage/opt/tools/bin/place-probe"
    manual = tmp_path / "stage/opt/tools/share/man/man1/place-probe.1"
    assert program.read_bytes() == place_probe_path.read_bytes()
    assert ".TH" in manual.read_text()
    moved = tmp_path / "elsewhere"
    program.rename(moved)
    result = probe.PlaceProbe(moved).run("--version")
    assert result.code == 0 and result.out.startswith("place-probe "), str(result)
    moved.rename(program)
    machine.run("make", "-s", "uninstall", *where, cwd=machine.TREE, env=env)
    assert not program.exists() and not manual.exists()


USER = r"""
#include <stdio.h>
#include <string.h>

#include <mapparse.h>

static int on_row(void *user, const struct mapparse_row *row)
{
	(void)user;
	printf("%.*s\n", (int)row->name->canonical.length, row->name->canonical.start);
	return 0;
}

int main(void)
{
	const char *map = "0000000000001000 10 void [x] A.B::C(int32)\n";
	struct mapparse_options options = { .row = on_row };
	struct mapparse_reader *reader = mapparse_reader_create(&options);

	mapparse_reader_push(reader, map, strlen(map));
	mapparse_reader_finish(reader);
	mapparse_reader_destroy(reader);
	return 0;
}
"""


@pytest.mark.anyone
def test_mapparse_as_a_library(tmp_path):
    """Installed, it serves who knows nothing of place-probe: one header, one archive."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    machine.run("make", "-s", "install", f"DESTDIR={tmp_path}", "PREFIX=/usr", cwd=machine.TREE,
                env=env)
    (tmp_path / "user.c").write_text(USER)
    machine.run("gcc", "-Wall", "-Werror", f"-I{tmp_path}/usr/include", tmp_path / "user.c",
                f"-L{tmp_path}/usr/lib", "-lmapparse", "-o", tmp_path / "user")
    assert machine.run(tmp_path / "user").stdout == "A.B::C(int32)\n"
    command = machine.run(tmp_path / "usr/bin/mapparse", "--version")
    assert command.stdout.startswith("mapparse ")


@pytest.mark.kernel
def test_self_test(place_probe, tell):
    """Every BPF program loads; one line for each feature of this kernel."""
    result = place_probe.run("--self-test").expect(0)
    for line in (r"BPF programs for perf events: loaded", r"uprobe_multi: (yes|no, .*)",
                 r"uprobes on shared mappings \(JIT code\): (yes|no, hardware breakpoints are used)",
                 r"hardware breakpoints: [0-4] of 4 free",
                 r"threads on the way into a body: can be seen"):
        assert re.search(f"^{line}$", result.out, re.MULTILINE), str(result)
    costs = re.findall(r"^  (\w+): (\d+) instructions verified$", result.out, re.MULTILINE)
    assert {"count_hit", "report_hit", "count_break", "report_break"} <= {name for name, _ in costs}
    for name, count in costs:
        # The kernel's own bound.
        assert 0 < int(count) < 1_000_000
        tell(f"{count:>8} instructions verified of {name}")


def test_sanitized_build(build_app, start_app):
    """The whole way under the address and undefined-behaviour sanitizers."""
    if not machine.is_root():
        pytest.skip("only root can put probes on a process")
    runner = probe.PlaceProbe(machine.BUILD / "asan/place-probe")
    app = start_app("r2r10")
    try:
        live = runner.count(app.pid, "Counted.*::*", "System.Threading.Thread::Sleep")
        app.calls("static", 10)
        result = live.stop().expect(0)
        assert result.calls("Counted.Kinds::Static") == 10
        runner.run("-l", app.pid, "Counted.*::*").expect(0)
        runner.run("-c", app.pid, "Counted.Kinds::Statik").expect(3)
        runner.run("-n", app.pid, "Counted.*::*").expect(0)
    finally:
        runner.close()
    assert "runtime error" not in result.err, str(result)
