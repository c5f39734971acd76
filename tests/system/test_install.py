# SPDX-License-Identifier: GPL-2.0-or-later
"""One binary that needs no other file of ours, put in place and taken away again."""

import os
import re
import shutil

import pytest

from helpers import breakpoints, machine, probe


def test_install_and_uninstall(tmp_path):
    where = [f"DESTDIR={tmp_path}/stage", "PREFIX=/opt/tools"]
    env = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    machine.run("make", "-s", "install", *where, cwd=machine.TREE, env=env)
    tools = tmp_path / "stage/opt/tools"
    sources = {"bin/place-probe": "build/place-probe", "bin/mapparse": "build/mapparse",
               "lib/libmapparse.a": "build/libmapparse.a", "include/mapparse.h": "mapparse/mapparse.h",
               "share/man/man1/place-probe.1": "docs/place-probe.1",
               "share/man/man1/mapparse.1": "docs/mapparse.1",
               "share/bash-completion/completions/place-probe": "packaging/place-probe.bash",
               "share/zsh/vendor-completions/_place-probe": "packaging/_place-probe"}
    installed = {str(path.relative_to(tools)) for path in tools.rglob("*") if path.is_file()}
    assert installed == set(sources)
    for path, source in sources.items():
        assert (tools / path).read_bytes() == (machine.TREE / source).read_bytes(), path
        assert os.access(tools / path, os.X_OK) == path.startswith("bin/"), path
    machine.run("make", "-s", "uninstall", *where, cwd=machine.TREE, env=env)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_moved_elsewhere(place_probe, tmp_path):
    """All that it needs of ours is in it, the BPF programs too."""
    moved = tmp_path / "elsewhere"
    shutil.copy(place_probe.path, moved)
    runner = probe.PlaceProbe(moved)
    assert re.fullmatch(r"place-probe \d+\.\d+\.\d+\n", runner.run("--version").expect(0).out)
    result = runner.run("--self-test", cwd=tmp_path, env={}).expect(0)
    assert "BPF programs for perf events: loaded" in result.out, str(result)


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
    registers = "[0-4] of 4 free" if breakpoints.fire() else f"none: {breakpoints.WHY}.*"
    for line in (r"BPF programs for perf events: loaded", r"uprobe_multi: (yes|no, .*)",
                 f"code is mapped anew by itself: {'yes' if machine.kernel_version() >= (6, 12) else 'no, .*'}",
                 r"uprobes on shared mappings \(JIT code\): (yes|no, hardware breakpoints are used)",
                 f"hardware breakpoints: {registers}",
                 r"threads on the way into a body: can be seen"):
        assert re.search(f"^{line}$", result.out, re.MULTILINE), str(result)
    costs = re.findall(r"^  (\w+): (\d+) instructions verified$", result.out, re.MULTILINE)
    assert {"count_hit", "report_hit", "count_break", "report_break"} <= {name for name, _ in costs}
    for name, count in costs:
        # The kernel's own bound.
        assert 0 < int(count) < 1_000_000
        tell(f"{count:>8} instructions verified of {name}")
