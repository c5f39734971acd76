# SPDX-License-Identifier: GPL-2.0-or-later
"""What images say of inlining, held against what is known by construction, and what the runtime reads.

tests/apps/inlining is compiled in every way that crossgen2 has; then the pairs (inlined, by whom)
are known. Whole frameworks are held against the runtime's own reading, which a profiler asks for,
and against what the compiler's JIT says of each method that it compiles.
"""

import collections
import itertools
import re
import shutil

import pytest

from helpers import machine, pairs
from helpers.crossgen import Crossgen2, WORK, build_il

pytestmark = pytest.mark.beside

PROFILER = "{1D7A7B5A-0C3B-4F0E-9D7E-6B1B1A1C7E01}"

TWICE, FOUR = "Lib.Small::Twice(int32)", "Lib.Small::Four(int32)"
SAME, HALF = "Lib.Small::Same(!!0)", "Lib.Small+Nested::Half(int32)"
FREE, NEVER = "Lib.Small::Free(int32)", "Lib.Small::Never(int32)"
LOCAL, OWN = "Lib.Small::Local(int32)", "App.Callers::Own(int32)"
CELL, PUT, VALUE = "Lib.Cell`1::.ctor(!0)", "Lib.Cell`1::Put(!0)", "Lib.Cell`1::get_Value()"
EMPTY = "System.String::IsNullOrEmpty(string)"
A, B, D = (f"App.Callers::{name}(int32)" for name in "ABD")
C, E = (f"App.Callers::{name}(string)" for name in "CE")

IN_APP = {(OWN, A)}
IN_LIB = {(TWICE, FOUR), (TWICE, LOCAL), (FOUR, LOCAL)}
GENERIC_TYPE = {(CELL, D), (PUT, D), (VALUE, D)}
ACROSS = {(TWICE, A), (TWICE, B), (FOUR, B), (SAME, C), (HALF, D)}


@pytest.fixture(scope="session")
def tool():
    return machine.tool("r2r_inlining")


@pytest.fixture(scope="session")
def il():
    """il(RELEASE): the two assemblies, not precompiled."""
    built = {}

    def build(release):
        if release not in built:
            built[release] = WORK / f"inlining-{release}"
            build_il("inlining/app", built[release], f"-p:OnlyFramework=net{release}.0",
                     *([] if release == 10 else ["-p:UseAppHost=false"]))
        return built[release]

    return build


@pytest.fixture(scope="session")
def compiled(il, tmp_path_factory):
    """compiled(RELEASE, HOW): a directory with the app and its precompiled images."""
    done = {}

    def compile_app(release, how):
        if (release, how) not in done:
            home = tmp_path_factory.mktemp("inlining") / how
            shutil.copytree(il(release), home)
            for image in images_of(Crossgen2(release), il(release), how):
                shutil.copy(image, home)
            done[release, how] = home
        return done[release, how]

    return compile_app


def images_of(compiler, il, how):
    app, lib = il / "app.dll", il / "lib.dll"
    out = WORK / "out" / f"inlining-{how}"
    if how.startswith("composite"):
        options = ["--inputbubble"] if how == "composite-bubble" else []
        compiler.compile(out, [app, lib], "--composite", *options)
        return list(out.glob("*.dll"))
    if how == "cross-module":
        return [compiler.compile(out, [app], "--opt-cross-module:*")[0]]
    options = ([], [])
    if how == "bubble":
        options = [["--inputbubble", f"--inputbubbleref:{other}"] for other in (lib, app)]
    return [compiler.compile(out / path.stem, [path], *more)[0]
            for path, more in zip((app, lib), options)]


def pairs_of(tool, *images):
    result = machine.run(tool, *images)
    assert "damaged" not in result.stderr, result.stderr
    pairs = [tuple(line.split(" <- ")) for line in result.stdout.splitlines()]
    named = [pair for pair in pairs if "?" not in pair]
    assert len(set(named)) == len(named)
    return set(named)


WAYS = {
    "alone": IN_APP | IN_LIB,
    "bubble": IN_APP | IN_LIB | ACROSS | GENERIC_TYPE,
    "composite": IN_APP | IN_LIB | ACROSS | GENERIC_TYPE,
    "composite-bubble": IN_APP | IN_LIB | ACROSS | GENERIC_TYPE,
    "cross-module": IN_APP | ACROSS | {(CELL, D)},
}


@pytest.mark.anyone
@pairs.choose("how, release", itertools.product(WAYS, [8, 10]))
def test_by_construction(tool, compiled, how, release):
    """Exactly those pairs, and none of a method that forbids it."""
    pairs = pairs_of(tool, *compiled(release, how).glob("*.dll"))
    ours = {pair for pair in pairs if all(name.startswith(("Lib.", "App.")) for name in pair)}
    assert ours == WAYS[how]
    assert NEVER not in {inlinee for inlinee, _ in pairs}
    if how == "cross-module":
        assert (EMPTY, E) in pairs


@pytest.mark.anyone
@pytest.mark.parametrize("name", ["sc8", "sc9", "sc10", "sc11"])
def test_all_of_the_core_library(tool, build_app, name):
    """Every entry decodes, no row is outside of its table, and no pair is listed twice."""
    result = machine.run(tool, "-t", build_app(name).parent / "System.Private.CoreLib.dll")
    print(name, result.stderr)
    assert "damaged" not in result.stderr
    assert "elsewhere 0 imports 0" in result.stderr
    pairs = result.stdout.splitlines()
    assert len(pairs) > 40000
    assert len(set(pairs)) == len(pairs)
    assert all(re.fullmatch(r"System.Private.CoreLib \d+ System.Private.CoreLib \d+", pair)
               for pair in pairs)


def without_arguments(name):
    """"Type::Method" of a definition, of "Type`1[int]:Method[T](int):int:this" or of our spelling."""
    name = re.sub(r"\(.*", "", name)
    while "[" in name:
        name = re.sub(r"\[[^][]*\]", "", name)
    return name.replace("::", ":")


def inliners_by_jit(listing):
    """Methods in which the JIT inlined anything, and all that it compiled."""
    inlined, compiled, method = set(), set(), None
    for line in listing.read_text(errors="replace").splitlines():
        if line.startswith("; Assembly listing for method "):
            method = without_arguments(line[30:])
            compiled.add(method)
        elif line.endswith("inlinees without PGO data") and re.search("[1-9]", line):
            inlined.add(method)
    return inlined, compiled


@pytest.mark.anyone
def test_as_the_jit_says(tool):
    """Whoever is said to have inlined has; others only did with what is not noted."""
    compiler = Crossgen2(10)
    linq = compiler.framework / "System.Linq.dll"
    out = WORK / "out/inlining-jit"
    listing = out / "jit"
    image, _ = compiler.compile(out, [linq],
                                f"--codegenopt:JitStdOutFile={listing}", "--codegenopt:JitDisasm=*",
                                threads=1)
    inlined, compiled = inliners_by_jit(listing)
    ours = {without_arguments(inliner) for _, inliner in pairs_of(tool, image)}
    print(len(compiled), "methods,", len(inlined), "inline,", len(ours), "are noted")
    assert len(ours) > 300 and ours <= inlined
    assert len(inlined - ours) < len(inlined) / 20


@pytest.fixture(scope="session")
def profiler(tmp_path_factory):
    library = tmp_path_factory.mktemp("profiler") / "profiler.so"
    machine.run("gcc", "-shared", "-fPIC", "-O1", "-o", library,
                machine.TREE / "tests/helpers/inlining_profiler.c", "-lpthread")
    return library


def read_by_runtime(start_app, profiler, tmp_path, name, executable=None):
    """The pairs of all modules that the process has, by assembly and row."""
    out = tmp_path / "runtime"
    start_app(name, executable=executable, extra={
        "INLINING_OUT": str(out), "CORECLR_ENABLE_PROFILING": "1", "CORECLR_PROFILER": PROFILER,
        "CORECLR_PROFILER_PATH": str(profiler)})
    machine.wait_until(lambda: out.exists() and out.read_text().endswith("end\n"),
                       "the profiler writes all it is told", 60)
    return {tuple(line.split()) for line in out.read_text().splitlines()[:-1]}


def differences(tool, runtime, images):
    """Pairs that only one side has, of modules that the process has."""
    loaded = {pair[0] for pair in runtime} | {pair[2] for pair in runtime}
    ours = {tuple(line.split()) for line in machine.run(tool, "-t", *images).stdout.splitlines()}
    ours = {pair for pair in ours if {pair[0], pair[2]} <= loaded}
    return runtime - ours, ours - runtime


@pytest.mark.anyone
@pytest.mark.parametrize("name", pairs.few(["comp10", "sc8", "sc9", "sc10"], "comp10", "sc8"))
def test_as_the_runtime_reads_it(tool, start_app, build_app, profiler, tmp_path, name):
    """The same pairs; but in single images no runtime finds its own entries of nested types."""
    images = sorted(build_app(name).parent.glob("*.dll"))
    runtime = read_by_runtime(start_app, profiler, tmp_path, name)
    assert len(runtime) > 40000
    theirs, ours = differences(tool, runtime, images)
    print(name, len(runtime), "pairs, and of nested types", len(ours))
    assert theirs == set()
    if name == "comp10":
        assert ours == set()
        return
    core = next(image for image in images if image.name == "System.Private.CoreLib.dll")
    names = inlinee_names(tool, core)
    missed = {names[int(pair[1])] for pair in ours if pair[0] == core.stem}
    assert missed and all("+" in name.partition("::")[0] for name in missed)
    found = {names[int(pair[1])] for pair in runtime if pair[0] == core.stem}
    assert not any("+" in name.partition("::")[0] for name in found)


def inlinee_names(tool, image):
    """{row: name} of what was inlined."""
    rows = machine.run(tool, "-t", image).stdout.splitlines()
    names = machine.run(tool, image).stdout.splitlines()
    return {int(row.split()[1]): name.partition(" <- ")[0] for row, name in zip(rows, names)}


def inlined_into(result):
    """{method: what has inlined it}; the same for all bodies of a method."""
    found = collections.defaultdict(list)
    for site in result.expect(0).records("site"):
        found[site["method"]].append(site["inlined_into"])
    assert all(into == [into[0]] * len(into) for into in found.values())
    return {method: None if into[0] is None else set(into[0]) for method, into in found.items()}


@pytest.fixture(params=["bubble", "composite", "cross-module"])
def how(request):
    return request.param


@pytest.fixture
def target(compiled, start_app, how):
    return start_app("inlining", executable=compiled(10, how) / "app")


def test_list_in_json(place_probe, target, how):
    expected = collections.defaultdict(set)
    for inlinee, inliner in WAYS[how]:
        expected[inlinee].add(inliner)
    found = inlined_into(place_probe.run("-l", "-j", target.pid, "Lib.Small*::*", "App.*::*"))
    for name in (TWICE, FOUR, HALF, NEVER, OWN, A):
        assert found[name] == expected[name], name
    assert found[FREE] is None, "nobody notes where a [NonVersionable] method is inlined"
    generic = {name: into for name, into in found.items() if "::Same" in name}
    assert generic and all(into == expected[SAME] for into in generic.values())


def test_a_framework_method(place_probe, target, how):
    """Inlined in the image that has it and, with cross-module inlining, in the app."""
    empty = inlined_into(place_probe.run("-l", "-j", target.pid, EMPTY))[EMPTY]
    assert "System.Environment::set_CurrentDirectory(string)" in empty
    assert (E in empty) == (how == "cross-module")


@pytest.mark.parametrize("how", ["composite"])
def test_list_as_text(place_probe, target):
    out = place_probe.run("-l", target.pid, TWICE, NEVER).expect(0).out
    assert re.search(rf"^{re.escape(TWICE)}\n    inlined into 4 precompiled methods: "
                     r"(Lib|App)\.(.*, ){3}\.\.\. \(-v shows all\)\n    r2r ", out, re.M), out
    assert out.count("inlined into") == 1, out
    out = place_probe.run("-l", "-v", target.pid, TWICE).expect(0).out
    line = re.search(r"inlined into 4 precompiled methods: (.*)\n", out)[1]
    assert set(line.split(", ")) == {A, B, FOUR, LOCAL}


@pytest.mark.registers
@pytest.mark.parametrize("how", ["composite"])
def test_said_of_other_modes(place_probe, target):
    """On standard error, of one method and of how many it is so; with -v of each."""
    sentence = re.compile(r"^place-probe: calls of (\S+) from precompiled (.*) are not seen: "
                          r"(?:they have inlined it; probe those|that method has inlined it; probe that)"
                          r"(?:; so it is with \d+ more .*)?$", re.M)
    result = place_probe.run("-c", "-v", "-d", "0.1", target.pid, FOUR, NEVER, OWN).expect(0)
    said = {name: set(by.split(", ")) for name, by in sentence.findall(result.err)}
    assert said == {FOUR: {B, LOCAL}, OWN: {A}}, result.err
    result = place_probe.run("-d", "0.1", target.pid, "Lib.*::*").expect(0)
    more = re.search(r"so it is with (\d+) more \(-v names them\)$", result.err, re.M)
    assert len(sentence.findall(result.err)) == 1 and more, result.err
    result = place_probe.run("-v", "-d", "0.1", target.pid, "Lib.*::*").expect(0)
    assert len(sentence.findall(result.err)) == 1 + int(more[1]) > 3, result.err
