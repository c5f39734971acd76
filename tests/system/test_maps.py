# SPDX-License-Identifier: GPL-2.0-or-later
"""Map files as a source of names: tied to their image, believed as far as they are right."""

import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from helpers import apps, machine
from helpers.crossgen import Crossgen2, WORK

KIND = "Counted.Kinds::Static(int32)"
pytestmark = pytest.mark.beside


@pytest.fixture(scope="session")
def compiled(tmp_path_factory):
    """The counting app, compiled here with every map that crossgen2 writes."""
    try:
        il = apps.build("fd10").parent
    except apps.Unavailable as why:
        pytest.skip(str(why))
    compiler = Crossgen2(10)
    home = tmp_path_factory.mktemp("maps") / "app"
    shutil.copytree(il, home)
    image, _ = compiler.compile(WORK / "counter", [il / "counter.dll"], "--map", "--mapcsv")
    shutil.copy(image, home / "counter.dll")
    other, _ = compiler.compile(WORK / "counter-other", [il / "counter.dll"], "--map", "--mapcsv",
                                "--method-layout", "Random")
    return home / "counter", image.parent, other.parent


@pytest.fixture
def app(compiled, share):
    """One for all: it is listed, and makes some calls."""
    return share("r2r10", executable=compiled[0])


def sites(result):
    return {site["method"]: site for site in result.expect(0).records("site")}


def rows_2018(place_probe, app, pattern="counter!*"):
    """Maps of 2018's crossgen can no longer be made: the same rows, from the image's metadata."""
    found = place_probe.run("-l", "-j", app.pid, pattern).expect(0).records("site")
    rows = []
    for site in sorted(found, key=lambda site: site["file_offset"] or 0):
        if site["mechanism"] == "none" and site["reason"] in ("not-precompiled", "no-il",
                                                                "native-call"):
            continue
        # In counter.dll text lies 0x10000 behind where the file has it.
        rows.append(f"{site['file_offset'] + 0x10000:016X} {site['size']:x} "
                    f"instance void [counter] {site['method']}")
    assert len(rows) > 40
    return rows


def test_every_map_of_crossgen2(place_probe, app, compiled):
    plain = sites(place_probe.run("-l", "-j", app.pid, "Counted.*::*"))
    result = place_probe.run("-l", "-j", "--maps", compiled[1], app.pid, "Counted.*::*")
    mapped = sites(result)
    assert not re.search(r"another|bad rows|left out", result.err), result.err
    assert plain.keys() == mapped.keys()
    for name, site in mapped.items():
        for member in ("mechanism", "file_offset", "size", "tier", "reason"):
            assert site[member] == plain[name][member], name
    sources = mapped[KIND]["names_from"]
    assert sources[0] == "metadata"
    # Mangled names carry no parameters, but stand at the same places.
    assert {pathlib.Path(source).name for source in sources[1:]} == \
        {"counter.ni.r2rmap", "counter.map", "counter.map.csv"}


def test_another_build_is_refused(place_probe, app, compiled):
    for name in ("counter.ni.r2rmap", "counter.map", "counter.map.csv"):
        result = place_probe.run("-l", "--maps", compiled[2] / name, app.pid, KIND)
        result.expect_sentence(1, name, "another build", "counter.dll")
    # One among others does not keep those from being used.
    result = place_probe.run("-l", "-j", "--maps", compiled[2], app.pid, KIND)
    assert "another build" in result.err
    assert sites(result)[KIND]["names_from"] == ["metadata"]


def test_dry_run_with_a_directory_of_maps_of_2018(place_probe, app, tmp_path):
    (tmp_path / "counter.map").write_text("\n".join(rows_2018(place_probe, app)) + "\n")
    (tmp_path / "unrelated.map").write_text("0000000000001000 10 void [x] A.B::C()\n")
    (tmp_path / "README").write_text("not a map\n")
    with_maps = place_probe.run("-n", "--maps", tmp_path, app.pid, KIND).expect(0)
    without = place_probe.run("-n", app.pid, KIND).expect(0)
    assert with_maps.out == without.out and "perf probe -x" in with_maps.out


def test_a_name_that_only_the_map_has(place_probe, app, tmp_path):
    rows = rows_2018(place_probe, app)
    old = tmp_path / "counter.map"
    old.write_text("\n".join(row.replace("Counted.Kinds::Static(", "Old.Name::Before(")
                             for row in rows) + "\n")
    assert place_probe.run("-l", app.pid, "Old.Name::Before").code == 3
    result = place_probe.run("-l", "-j", "--maps", old, app.pid, "Old.Name::Before")
    site, = result.expect(0).records("site")
    assert site["method"] == KIND and "Old.Name::Before(int32)" in site["made_from"]
    live = place_probe.count("--maps", old, app.pid, "Old.Name::Before")
    app.calls("static", 25)
    assert live.stop().expect(0).calls() == 25


def test_metadata_wins(place_probe, app, tmp_path):
    """The map exchanges two methods: the image is believed, and that is said."""
    rows = rows_2018(place_probe, app)
    one, two = "Counted.Kinds::Over(int32)", "Counted.Kinds::Static(int32)"
    swapped = [row.replace(one, "X").replace(two, one).replace("X", two) for row in rows]
    path = tmp_path / "counter.map"
    path.write_text("\n".join(swapped) + "\n")
    result = place_probe.run("-l", "-j", "--maps", path, app.pid, KIND)
    site, = result.expect(0).records("site")
    assert site == place_probe.run("-l", "-j", app.pid, KIND).records("site")[0]
    assert "2 methods have another name in counter.dll itself, which is believed" in result.err


def test_bad_rows_are_told_with_their_line(place_probe, app, tmp_path):
    rows = rows_2018(place_probe, app)
    path = tmp_path / "counter.map"
    path.write_text("\n".join(rows[:5] + ["garbage here", "00000000000000G0 10 x"] + rows[5:]) + "\n")
    result = place_probe.run("-l", "-j", "--maps", path, app.pid, KIND)
    assert sites(result)[KIND]["names_from"][1:] == [str(path)]
    assert f"{path}:6: " in result.err and f"{path}:7: " in result.err
    assert "2 bad rows in all" in result.err


def test_a_misplaced_row_is_left_out(place_probe, app, tmp_path):
    """In the middle of a function nothing may be probed, whatever a map says."""
    rows = rows_2018(place_probe, app)
    address, size, _ = rows[3].split(" ", 2)
    rows.append(f"{int(address, 16) + 1:016X} {size} instance void [counter] Wrong.Place::M()")
    path = tmp_path / "counter.map"
    path.write_text("\n".join(rows) + "\n")
    result = place_probe.run("-l", "--maps", path, app.pid, "Wrong.Place::M")
    assert result.code == 3
    assert "1 method stands where no function of counter.dll begins" in result.err
    # The others are used all the same.
    beside = sites(place_probe.run("-l", "-j", "--maps", path, app.pid, KIND))
    assert beside[KIND]["names_from"][1:] == [str(path)]


@pytest.mark.parametrize("content, said", [
    (b"", "the file is empty"),
    (b"\x00\x01\x02\x03" * 1000, "the file is binary, not a map"),
    ("0000000000001000 10 void [x] A.B::C()\n".encode("utf-16"), "the file is in UTF-16"),
], ids=["empty", "bytes", "wide"])
def test_what_is_no_map(place_probe, app, tmp_path, content, said):
    path = tmp_path / "counter.map"
    path.write_bytes(content)
    result = place_probe.run("-l", "--maps", path, app.pid, KIND)
    result.expect_sentence(1, re.escape(f"{path}: {said}"))


def test_maps_that_cannot_be_used(place_probe, app, tmp_path):
    missing = tmp_path / "missing.map"
    place_probe.run("-l", "--maps", missing, app.pid, KIND).expect_sentence(1, "missing.map")
    stranger = tmp_path / "stranger.map"
    stranger.write_text("0000000000001000 10 void [x] A.B::C()\n")
    place_probe.run("-l", "--maps", stranger, app.pid, KIND).expect_sentence(
        1, "stranger.map", "no image")


def test_async_lambdas_and_local_functions(place_probe, app):
    """By the name that their author gave them, and it is said which they are."""
    authors = ["Counted.Moving::CallLambda", "Counted.Moving::Steps", "Counted.Moving::CallLocal"]
    nested = sites(place_probe.run("-l", "-j", "--nested", app.pid, *authors))
    made = {re.sub(r"\d+", "N", name): site["made_from"] for name, site in nested.items()}
    assert made == {
        "Counted.Moving::CallLambda(intN)": None,
        "Counted.Moving+<>c::<CallLambda>b__N_N(intN)":
            "lambda in Counted.Moving::CallLambda(int32)",
        "Counted.Moving::Steps(intN)": None,
        "Counted.Moving+<Steps>d__N::MoveNext()":
            "state machine of Counted.Moving::Steps(int32)",
        "Counted.Moving::CallLocal(intN)": None,
        "Counted.Moving::<CallLocal>g__Local|N_N(intN)":
            "local function in Counted.Moving::CallLocal(int32)"}
    plain = sites(place_probe.run("-l", "-j", app.pid, "Counted.Moving::CallLambda"))
    assert list(plain) == ["Counted.Moving::CallLambda(int32)"]
    everything = place_probe.run("-l", "-j", app.pid, "System.Private.CoreLib!*::*Async")
    machines = [site for site in everything.expect(0).records("site") if site["made_from"]]
    assert machines
    for site in machines:
        assert site["made_from"].startswith("state machine of System."), site
        assert site["method"].endswith("::MoveNext()"), site


@pytest.mark.anyone
@pytest.mark.parametrize("variant", ["sc10", "sc8"])
def test_names_survive_every_spelling(variant):
    """What CoreLib's metadata gives, rendered to each spelling and parsed back, is the same."""
    try:
        corelib = apps.build(variant).parent / "System.Private.CoreLib.dll"
    except apps.Unavailable as why:
        pytest.skip(str(why))
    result = machine.run("/bin/bash", "-c",
                         f"{machine.tool('r2r_names')} -c {corelib} | {machine.tool('spellings')}", timeout=120)
    names, failed = map(int, re.search(r"(\d+) names, (\d+) failed", result.stdout).groups())
    assert names > 30000 and failed == 0, result.stdout


MAPPER = """
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

__attribute__((constructor)) static void map_image(void)
{
	const char *path = getenv("IMAGE_TO_MAP");
	int fd = path ? open(path, O_RDONLY) : -1;

	if (fd >= 0)
		mmap(NULL, 1 << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
}
"""


def test_an_image_without_readable_metadata(place_probe, place_probe_path, compiled, start_app,
                                            tmp_path):
    """The map is all there is: its names, checked against the image's table of functions."""
    library, source = tmp_path / "mapper.so", tmp_path / "mapper.c"
    source.write_text(MAPPER)
    machine.run("gcc", "-shared", "-fPIC", "-o", library, source)
    blind = tmp_path / "blind.dll"
    image = (compiled[1] / "counter.dll").read_bytes()
    assert image.count(b"BSJB") >= 1
    blind.write_bytes(image.replace(b"BSJB", b"XXXX"))
    shutil.copy(compiled[1] / "counter.ni.r2rmap", tmp_path / "blind.ni.r2rmap")
    app = start_app("r2r10", extra={"LD_PRELOAD": str(library), "IMAGE_TO_MAP": str(blind)})

    assert place_probe.run("-l", "-j", app.pid, "blind!*").code == 3
    result = place_probe.run("-l", "-j", "--maps", tmp_path, app.pid, f"blind!{KIND}")
    site, = result.expect(0).records("site")
    own = sites(place_probe.run("-l", "-j", "--maps", compiled[1], start_app(
        "r2r10", executable=compiled[0]).pid, f"counter!{KIND}"))[KIND]
    assert (site["method"], site["mechanism"], site["image"]) == (KIND, "uprobe", "blind.dll")
    assert (site["file_offset"], site["size"]) == (own["file_offset"], own["size"])
    assert [pathlib.Path(name).name for name in site["names_from"]] == ["blind.ni.r2rmap"]
    dry = place_probe.run("-n", "--maps", tmp_path, app.pid, f"blind!{KIND}").expect(0)
    assert f"perf probe -x '{blind}' --add" in dry.out and hex(own["file_offset"]) in dry.out

    # Bytes that are no UTF-8 (here half a surrogate pair) become '?'; nothing is cut off.
    (tmp_path / "blind.ni.r2rmap").write_bytes(
        (compiled[1] / "counter.ni.r2rmap").read_bytes().replace(
            b"Counted.Kinds::Static(", b"Counted.\xed\xa0\x80" + b"Long" * 700 + b"::Static("))
    listed = subprocess.run([place_probe_path, "-l", "-j", "--maps", tmp_path, str(app.pid),
                             "blind!*::Static"], check=True, stdout=subprocess.PIPE).stdout
    names = [json.loads(line).get("method") for line in listed.decode("utf-8", "strict").splitlines()]
    assert "Counted.???" + "Long" * 700 + "::Static(int32)" in names

    # A mangled name says neither the parameters nor whether it was read rightly.
    (tmp_path / "blind.ni.r2rmap").unlink()
    shutil.copy(compiled[1] / "counter.map", tmp_path / "blind.map")
    site, = place_probe.run("-l", "-j", "--maps", tmp_path, app.pid,
                            "blind!Counted.Kinds::Static").expect(0).records("site")
    assert site["method"] == "Counted.Kinds::Static" and "mangled" in site["made_from"]
    assert site["file_offset"] == own["file_offset"]
    assert place_probe.run("-l", "--maps", tmp_path, app.pid, f"blind!{KIND}").code == 3


# The target's own perf map ---------------------------------------------------------------

@pytest.fixture
def jit_app(start_app):
    app = start_app("fd10", extra={"DOTNET_PerfMapEnabled": "3", "TMPDIR": "/tmp"})
    app.calls("static", 5)
    path = pathlib.Path(f"/tmp/perf-{app.pid}.map")
    assert path.exists()
    yield app, path
    path.unlink(missing_ok=True)


def jit_sites(result):
    return [site for site in result.expect(0).records("site") if "perf map" in site["names_from"]]


def test_bodies_in_the_perf_map(place_probe, jit_app):
    app, path = jit_app
    site, = jit_sites(place_probe.run("-l", "-j", app.pid, KIND))
    row = next(line.split(" ", 2) for line in path.read_text().splitlines()
               if "Counted.Kinds::Static(int32)" in line)
    assert (site["address"], site["size"]) == (int(row[0], 16), int(row[1], 16))
    assert (site["mechanism"], site["reason"], site["file"]) == ("breakpoint", None, None)


MAKER = """
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };

int main(void)
{
	unsigned char *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char line[64];

	for (unsigned int i = 0; i < sizeof(code); i++)
		made[i] = code[i];
	printf("ready %d\\nmade %p %zx\\n", getpid(), (void *)made, sizeof(code));
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		((void (*)(int (*)(void)))made)(getppid);
		puts("called");
		fflush(stdout);
	}
	return 0;
}
"""


@pytest.fixture
def maker(tmp_path):
    """Calls getppid() by code that it has made itself, which no books are kept of."""
    (tmp_path / "maker.c").write_text(MAKER)
    machine.run("gcc", "-o", tmp_path / "maker", tmp_path / "maker.c")
    target = apps.App([tmp_path / "maker"], None)
    target.made = target.answer("made")[1:]
    path = pathlib.Path(f"/tmp/perf-{target.pid}.map")
    yield target, path
    assert target.close() is None
    path.unlink(missing_ok=True)


def test_frames_are_named_by_the_perf_map(place_probe, maker):
    target, path = maker
    frames = {}
    for mapped in (False, True):
        if mapped:
            path.write_text(f"{target.made[0]} {target.made[1]} int32 [Made] Made.Later::Call(int32)\n")
        live = place_probe.live("-j", "-N", "1", target.pid, "libc.so.6!getppid")
        target.ask("call", "called")
        hit, = live.finish().expect(0).records("hit")
        frames[mapped] = hit["stack"][1]
    assert (frames[False]["kind"], frames[False]["name"]) == ("unknown", None)
    assert (frames[True]["kind"], frames[True]["name"]) == ("dotnet", "Made.Later::Call(int32)")
    assert frames[True]["offset"] == 6


@pytest.fixture
def bare_app(start_app):
    """Its methods are compiled while it runs, and a perf map names none of them."""
    app = start_app("fd10")
    path = pathlib.Path(f"/tmp/perf-{app.pid}.map")
    path.write_text("10000 10 void [App] App.Other::Run()[Tier0]\n")
    yield app, path
    path.unlink()


def test_frames_are_named_without_it(place_probe, bare_app):
    """The runtime itself says what its code is."""
    app, _ = bare_app
    live = place_probe.live("-j", "-N", "1", app.pid, "System.Threading.Thread::Sleep(int)")
    app.sleep(1)
    caller = live.finish().expect(0).records("hit")[0]["stack"][1]
    assert caller["kind"] == "dotnet" and caller["name"].startswith("Counted."), caller


def test_a_perf_map_that_grows_without_end(place_probe, bare_app):
    """What it has become too large for is left unread; reading it would take for ever."""
    app, path = bare_app
    live = place_probe.live("-j", "-N", "1", app.pid, "System.Threading.Thread::Sleep(int)")
    os.truncate(path, 1 << 40)
    with path.open("a") as rows:
        rows.write("\n")
    app.sleep(1)
    assert len(live.finish().expect(0).records("hit")) == 1


@pytest.mark.parametrize("damage, said", [
    ("link", "symbolic link"), ("writable", "others than its owner"), ("stranger", "belongs to"),
    ("directory", "no regular file"),
])
def test_a_perf_map_that_cannot_be_trusted(place_probe, jit_app, tmp_path, damage, said):
    app, path = jit_app
    if damage == "link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    elif damage == "writable":
        path.chmod(0o666)
    elif damage == "stranger":
        os.chown(path, 65534, 65534)
    else:
        path.unlink()
        path.mkdir()
    try:
        result = place_probe.run("-l", "-j", app.pid, KIND)
        assert jit_sites(result) == [] and said in result.err, str(result)
    finally:
        if path.is_dir() and not path.is_symlink():
            path.rmdir()

