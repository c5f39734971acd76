# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures, the lanes, and the counting that `make check` ends with."""

import contextlib
import fcntl
import fnmatch
import functools
import json
import os
import pathlib
import shutil
import signal
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from helpers import apps, breakpoints, machine, perfmap, probe, results, sanitizers, strays  # noqa: E402 (the path comes first)
from helpers.watched import Watched  # noqa: E402

EXPECTED_SKIPS = pathlib.Path(__file__).parent / "expected-skips"
# See tests/README.md.
LANES = {"registers": "one after the other: it may take debug registers",
         "beside": "takes no debug register, and runs beside those that do",
         "alone": "is bound to time, so nothing runs beside it",
         "fuzz": "a fuzz target that runs for long"}


def pytest_addoption(parser):
    parser.addoption("--lane", choices=LANES, help="only the tests of this lane")


def lane_of(item):
    """What a test is marked for, or else its module; whoever says nothing may take registers."""
    return next((mark.name for mark in item.iter_markers() if mark.name in LANES), "registers")


def beside_says(item, what):
    """Whether it is marked beside(WHAT=True)."""
    mark = next(item.iter_markers("beside"), None)
    return mark is not None and mark.kwargs.get(what, False)


def pytest_collection_modifyitems(config, items):
    lane = config.getoption("--lane")
    if lane:
        others = [item for item in items if lane_of(item) != lane]
        items[:] = [item for item in items if lane_of(item) == lane]
        config.hook.pytest_deselected(items=others)


class Claims:
    """
    Several processes run one lane, file by file: whoever comes to one first has it, by a file of that name.

    A file that takes longer than all others together says beside(by_function=True).
    """

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.ours = {}

    def has(self, what):
        if what not in self.ours:
            try:
                (self.directory / what).touch(exist_ok=False)
                self.ours[what] = True
            except FileExistsError:
                self.ours[what] = False
        return self.ours[what]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        part = f"-{item.originalname}" if beside_says(item, "by_function") else ""
        if self.has(item.path.stem + part):
            return None
        # Whoever was before it has left what it would share with this one.
        item.session._setupstate.teardown_exact(nextitem)
        return True


def pytest_configure(config):
    for lane, meaning in LANES.items():
        config.addinivalue_line("markers", f"{lane}: {meaning}")
    config.addinivalue_line("markers", "kernel: runs on every kernel of make check-kernels")
    config.addinivalue_line("markers", "anyone: needs no root")
    config.addinivalue_line("markers", "breakpoints(needed=True): all variants need some; see helpers/breakpoints.py")
    config.addinivalue_line("markers", "stepped: single-steps its target, so that no signal tells of the hypervisor")
    config.counts = Counts()
    config.pluginmanager.register(config.counts)
    config.pluginmanager.register(strays.StrayTraps())
    config.pluginmanager.register(breakpoints.DeadBreakpoints(config.counts.is_expected))
    config.pluginmanager.register(breakpoints.FewAreEnough())
    # Not for the tests that tests run.
    claims = os.environ.pop("PLACE_PROBE_TEST_CLAIMS", None)
    if claims:
        config.pluginmanager.register(Claims(claims))


@pytest.fixture(scope="session")
def place_probe_path():
    path = pathlib.Path(os.environ.get("PLACE_PROBE", machine.BUILD / "place-probe"))
    assert path.exists(), f"{path} has not been built"
    return path


@pytest.fixture(scope="session")
def registers_lock():
    """A descriptor to be locked. Who is not root takes no registers, and a guest has its own."""
    if not machine.is_root():
        yield None
        return
    with machine.REGISTERS_LOCK.open("w") as lock:
        yield lock


@pytest.fixture(autouse=True)
def registers(request, registers_lock):
    """The debug registers are the machine's: they are this test's until it ends."""
    # What tests of the tests run takes none.
    ours = request.path.is_relative_to(machine.TREE)
    if registers_lock is None or not ours or lane_of(request.node) in ("beside", "fuzz"):
        yield
        return
    fcntl.flock(registers_lock, fcntl.LOCK_EX)
    yield
    fcntl.flock(registers_lock, fcntl.LOCK_UN)


@pytest.fixture(autouse=True)
def watchdog(registers):
    """No test may hang, whatever it waits for but the registers."""
    limit = 240 * machine.SCALE

    def bark(*_):
        raise TimeoutError(f"the test took more than {limit} s")

    signal.signal(signal.SIGALRM, bark)
    signal.alarm(limit)
    yield
    signal.alarm(0)


@pytest.fixture(autouse=True)
def sanitizer_reports(request):
    """A sanitized place-probe may report nothing, in no run of a test: not in one that is only waited for either."""
    if "place_probe_path" in request.fixturenames and sanitizers.is_sanitized(
            request.getfixturevalue("place_probe_path")):
        with sanitizers.none_expected():
            yield
    else:
        yield


@pytest.fixture
def unsanitized(place_probe_path):
    """For a test that looks at how much memory it takes, or how fast it is."""
    if sanitizers.is_sanitized(place_probe_path):
        pytest.skip("a sanitizer takes memory and time")


@pytest.fixture(autouse=True)
def root_or_skip(request):
    """Whatever looks at other processes needs root."""
    needs_root = "place_probe" in request.fixturenames and not request.node.get_closest_marker(
        "anyone")
    if needs_root and not machine.is_root():
        pytest.skip("only root can put probes on a process")


@pytest.fixture
def place_probe(request, place_probe_path):
    """Beside tests that take debug registers it gets none: it reserves some for all of .NET that it follows."""
    beside = lane_of(request.node) == "beside"
    runner = probe.PlaceProbe(place_probe_path, request.getfixturevalue("without_registers") if beside else None)
    yield runner
    runner.close()


@pytest.fixture(scope="session")
def no_registers_library(tmp_path_factory):
    library = tmp_path_factory.mktemp("preload") / "no_registers.so"
    machine.run("gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", library,
                machine.TREE / "tests/helpers/no_registers.c")
    return library


@pytest.fixture
def without_registers(no_registers_library):
    """The environment of a program that gets none."""
    return os.environ | {"LD_PRELOAD": str(no_registers_library)}


# Decided before anything is started for the test.
NEEDS_MULTI = pytest.mark.skipif(not machine.has_uprobe_multi(),
                                 reason="this kernel has no uprobe_multi")


@pytest.fixture
def by_perf():
    """An option. One test at a time has it, of all lanes."""
    with machine.PERF_LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield "--uprobe-by=perf"


@pytest.fixture(params=[pytest.param("multi", marks=NEEDS_MULTI), "perf"])
def uprobe_by(request):
    """Both ways in which uprobes are attached, as options."""
    return request.getfixturevalue("by_perf") if request.param == "perf" else f"--uprobe-by={request.param}"


@pytest.fixture(scope="session")
def build_app():
    """build_app(NAME): the executable of an app, built once a session; a skip if it cannot be."""
    built = {}

    def build(name):
        if name not in built:
            try:
                built[name] = apps.build(name)
            except apps.Unavailable as why:
                built[name] = why
        if isinstance(built[name], apps.Unavailable):
            pytest.skip(str(built[name]))
        return built[name]

    return build


class Targets:
    """Running targets, of which none may crash."""

    def __init__(self, build, directory):
        self.build = build
        self.directory = directory
        self.running = []

    def start(self, name, tiered=False, executable=None, before=(), after=(), extra=None, cwd=None):
        program = executable or self.build(name)
        env = apps.environment(tiered, {"TMPDIR": str(self.directory)} | (extra or {}))
        if "musl" in name:
            env["LD_LIBRARY_PATH"] = str(self.build("musl").parent)
        app = apps.App([*before, program, *after], env, cwd=cwd)
        app.variant = name
        self.running.append(app)
        return app

    def end(self, app):
        self.running.remove(app)
        code = app.close()
        assert code is None or code >= 0 or code == -signal.SIGKILL, \
            f"a target was ended by signal {-code}"

    def end_all(self):
        with contextlib.ExitStack() as all_of_them:
            for app in [*self.running]:
                all_of_them.callback(self.end, app)


@pytest.fixture
def start_app(build_app, short_tmp):
    """start_app(NAME, ...): a running target, ended with the test. None may crash meanwhile."""
    targets = Targets(build_app, short_tmp)
    yield targets.start
    targets.end_all()


@pytest.fixture(scope="module")
def targets_of_module(build_app):
    """Those that share() hands out, and which is which."""
    with short_directory() as directory:
        targets = Targets(build_app, directory)
        yield targets, {}
        targets.end_all()


@pytest.fixture
def share(targets_of_module):
    """share(NAME, ...), as start_app: the same target for all tests of a module that ask for the
    same. They may have it make calls, but neither end it nor leave it in another state."""
    targets, shared = targets_of_module
    asked = set()

    def get(name, **options):
        key = name, *((option, repr(value)) for option, value in sorted(options.items()))
        asked.add(key)
        if key not in shared:
            shared[key] = targets.start(name, **options)
        return shared[key]

    yield get
    # Who comes next gets a new one unless this one lives, and has answered whatever it was told.
    for key in asked & shared.keys():
        app = shared.pop(key)
        try:
            app.check_idle()
            shared[key] = app
        finally:
            if key not in shared:
                targets.end(app)


@pytest.fixture
def start(start_app):
    """start(VARIANT, ...): a target as they are found: tiered, and warm in nothing yet."""
    def start_tiered(variant="fd10", tiered=True, **options):
        return start_app(variant, tiered=tiered, **options)

    return start_tiered


@pytest.fixture
def start_mapped(start_app, short_tmp):
    """start_mapped(NAME, ...): a tiered target, and the perf map that its runtime writes."""
    def start(name, extra=None, tiered=True):
        app = start_app(name, tiered, extra=perfmap.environment(short_tmp) | (extra or {}))
        return app, perfmap.PerfMap(short_tmp / f"perf-{app.pid}.map")

    return start


@pytest.fixture(scope="session")
def calls_program():
    """The native target, which knows what it has called."""
    return machine.program("calls")


@pytest.fixture(scope="session")
def watched_program():
    """The native target that writes down what it is given."""
    return machine.program("watched")


@pytest.fixture(scope="session")
def tree_program():
    """The native target that writes down what its functions call."""
    return machine.program("tree")


@pytest.fixture
def watched(start_app, watched_program, short_tmp):
    record = short_tmp / "record"
    return Watched(start_app("watched", executable=watched_program, after=[record]), record)


@pytest.fixture
def plugin(build_app):
    """What the targets can load while they run."""
    return build_app("plugin")


@pytest.fixture
def app(start_app, build_app):
    """The target where it does not matter which: framework-dependent, precompiled, .NET 10."""
    build_app("native")
    return start_app("r2r10")


@pytest.fixture
def shared_app(share, build_app):
    """As app, but one for all tests of a module: see share()."""
    build_app("native")
    return share("r2r10")


@contextlib.contextmanager
def short_directory():
    path = pathlib.Path(tempfile.mkdtemp(prefix="place-probe-"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def short_tmp():
    """A directory whose path is short enough for a socket, and which anyone may enter."""
    with short_directory() as path:
        yield path


@pytest.fixture(scope="session")
def tell(request):
    """tell(LINE): figures that are printed at the end, whether all passed or not."""
    return request.config.counts.told.append


@pytest.fixture
def skip_part(request):
    """skip_part(PART, WHY): a part of this test was not tried, which counts as a skip of its own."""
    return functools.partial(request.config.counts.skip_part, request.node.nodeid)


@pytest.fixture
def no_traces():
    """Nothing may be left in the kernel's table of uprobe events."""
    before = machine.uprobe_events()
    yield
    assert machine.uprobe_events() == before


class Counts:
    """Counts what happened, holds skips against tests/expected-skips, and writes it down."""

    def __init__(self):
        self.passed = set()
        # What failed first of each, in a line.
        self.failed = {}
        self.skipped = {}
        self.parts = []
        self.seconds = {}
        self.expected = []
        self.told = []
        self.collected = 0
        for line in EXPECTED_SKIPS.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                test, _, reason = line.partition(" : ")
                self.expected.append((test.strip(), reason.strip()))

    def is_expected(self, test, reason):
        return any(fnmatch.fnmatch(test, t) and fnmatch.fnmatch(reason, r)
                   for t, r in self.expected)

    def skip_part(self, test, part, reason):
        self.parts.append(f"{test}::{part}")
        self.skipped[f"{test}::{part}"] = reason

    def pytest_runtest_logreport(self, report):
        test = report.nodeid
        self.seconds[test] = self.seconds.get(test, 0) + report.duration
        if report.failed:
            self.failed.setdefault(test, results.why(report))
        elif report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "expected failure"
            self.skipped[test] = reason.removeprefix("Skipped: ")
        elif report.when == "call":
            self.passed.add(test)

    def pytest_collectreport(self, report):
        if report.failed:
            self.failed[report.nodeid] = results.why(report)

    def unexpected(self):
        return {test: reason for test, reason in self.skipped.items()
                if not self.is_expected(test, reason)}

    def outcome(self, test):
        return ("failed" if test in self.failed else "skipped" if test in self.skipped else
                "passed" if test in self.passed else "not run")

    def results(self, spoilt):
        """What the runner of several sessions adds up; seconds are those of fixtures too."""
        tests = {**self.seconds, **{test: 0 for test in [*self.failed, *self.skipped]
                                    if test not in self.seconds}}
        return {
            "passed": len(self.passed - self.failed.keys()),
            "failed": len(self.failed),
            "skipped": len(self.skipped),
            "collected": self.collected,
            "ran": len(self.seconds),
            "tests": [[test, round(seconds, 3), self.outcome(test)] for test, seconds in tests.items()],
            "why": self.failed,
            "spoilt": spoilt,
        }

    def pytest_sessionfinish(self, session):
        self.collected = session.testscollected
        if self.unexpected() and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        path = os.environ.get("PLACE_PROBE_TEST_RESULTS")
        if path:
            pathlib.Path(path).write_text(json.dumps(self.results(session.config.spoilt)))

    def pytest_terminal_summary(self, terminalreporter):
        for line in self.told:
            terminalreporter.write_line(line)
        for part in self.parts:
            terminalreporter.write_line(f"not tried: {part}: {self.skipped[part]}")
        by_reason = {}
        for test, reason in self.unexpected().items():
            by_reason.setdefault(reason, []).append(test)
        for reason, tests in by_reason.items():
            terminalreporter.write_line(f"skipped, and not in tests/expected-skips: {reason}")
            for test in tests:
                terminalreporter.write_line(f"    {test}")
