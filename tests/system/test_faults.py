# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever fails, one call or one allocation at a time: it ends as documented, with a sentence or a right result.

In check some of the places that allocate fail, from the first to the last; in check-all each place, in the first mode
that comes to it, and as many of the others, and as many calls of each kind, as MOST.
"""

import collections
import contextlib
import re
import signal

import pytest

from helpers import apps, machine, node, pairs, sanitizers, v8_hits
from helpers.faults import Allocator, Calls, Faulty, check_end, is_told, spread, spread_evenly

pytestmark = [pytest.mark.beside(by_function=True)]

MODES = {
    "list": ["-l", "-j"],
    "dry-run": ["-n"],
    "count": ["-c", "-j"],
    "hits": ["-j"],
    "folded": ["-f", "-j"],
    "hist": ["-H", "-j"],
    "watch": ["--watch", "-j"],
    "text": [],
}
LOOKS = {"list", "dry-run"}
KIND = {"count": "count", "hits": "hit", "folded": "folded", "hist": "hist", "watch": "call"}
NUMBER = {"count": "calls", "folded": "count", "hist": "count"}
OF_HITS = {"ring-buffer-full", "no-room-in-format", "call-not-captured", "call-not-timed"}
# Of perf, in the dry run: right wherever the target is, and told where it is not known.
ANYWHERE = re.compile(r"--target-ns \d+ ")
# A command that is not told has its reason beside it.
NOT_PLACED = "# not placed: "
MOST = 24
PLAIN = "calls!calls_plain"
THREADS, EACH = 2, 25
# What may come of which calls. Not of all kinds: an error that a call never has, nobody has to understand.
FAILURES = {
    "openat": ["EMFILE", "EACCES", "ENOMEM"],
    "read": ["EIO", "ENOMEM", "short"],
    "pread64": ["EIO", "short"],
    "mmap": ["ENOMEM"],
    "newfstatat,fstat,statx": ["EACCES"],
    "getdents64": ["ENOMEM"],
    "bpf": ["ENOMEM", "EPERM"],
    "perf_event_open": ["EMFILE", "EACCES"],
    "ioctl": ["ENOMEM"],
    "clone,clone3,fork": ["EAGAIN"],
    "pipe2,socketpair,memfd_create,eventfd2,signalfd4,timerfd_create,epoll_create1,pidfd_open,fcntl,dup": ["EMFILE"],
    "epoll_ctl": ["ENOMEM"],
    "epoll_wait,epoll_pwait,poll,ppoll,nanosleep,clock_nanosleep": ["EINTR"],
    "mlock,mlock2,mlockall,sched_setscheduler,sched_setattr,prctl,capset,prlimit64": ["EPERM"],
    "madvise,mprotect": ["ENOMEM"],
}


def told_of(mode, result):
    """How many calls the output tells of, and the summary."""
    if mode not in KIND or not result.out.strip():
        return 0
    all_of_them = result.records()
    told = sum(record[NUMBER[mode]] if mode in NUMBER else 1 for record in all_of_them if record["type"] == KIND[mode])
    for record in all_of_them:
        if record["type"] == "summary":
            told += sum(count for reason, count in record["lost"].items() if reason in OF_HITS)
    return told


class Trials:
    """One mode, on one target that has to survive them all. Problems are collected, so that all are seen."""

    def __init__(self, place_probe, target, mode, pattern, call, counted=True):
        self.place_probe = place_probe
        self.target = target
        self.mode = mode
        self.pattern = pattern
        self.call = call
        self.problems = []
        self.usual = self.run()
        assert self.usual.code == 0 and (self.is_right(*self.outcome) or not counted), str(self.usual)

    def words(self):
        return [*MODES[self.mode], self.target.pid, self.pattern]

    def run(self):
        """To its end; as soon as it has attached the target makes calls."""
        live = self.place_probe.start(*self.words(), timeout=30)
        attached = live.has_attached()
        assert attached or live.has_ended(), f"it hangs: {live.err_so_far()}"
        made = self.call() if attached else 0
        result = live.stop() if attached else live.finish()
        self.outcome = made, result
        return result

    def is_right(self, made, result):
        if self.mode in LOOKS:
            return not hasattr(self, "usual") or ANYWHERE.sub("", result.out) == self.usual.out
        return self.mode not in KIND or told_of(self.mode, result) == made

    def judge(self):
        made, result = self.outcome
        check_end(result)
        assert told_of(self.mode, result) <= made or self.mode in LOOKS, f"more than {made} calls:\n{result}"
        told = is_told(result, self.usual.err) or (self.mode == "dry-run" and NOT_PLACED in result.out)
        assert self.is_right(made, result) or told, f"wrong, without a word: {made}\n{result}"
        assert result.code == 0 or len(result.err.splitlines()) <= 8, f"that is too much:\n{result}"

    def attempt(self, what, where=lambda: "", killed=False):
        try:
            result = self.run()
            if killed and result.code == -signal.SIGKILL:
                return
            self.judge()
        except AssertionError as problem:
            self.problems.append(f"--- {what} {where()}\n{problem}")

    def attempt_of_damage(self, what):
        """What is read may lie: then all that it says may be wrong, but not how it ends."""
        try:
            check_end(self.run())
        except AssertionError as problem:
            self.problems.append(f"--- {what}\n{problem}")

    def end(self):
        assert not self.problems, f"{len(self.problems)} problems\n" + "\n".join(self.problems)


@pytest.fixture
def place_probe(place_probe_path, no_registers_library):
    runner = Faulty(place_probe_path, no_registers_library)
    yield runner
    runner.close()


@pytest.fixture
def native(share, calls_program):
    target = share("calls", executable=calls_program)
    return target, PLAIN, lambda: int(target.ask(f"plain {EACH} {THREADS}", "done")[2])


@pytest.fixture
def dotnet(share, build_app):
    build_app("native")
    target = share("r2r10")
    return target, apps.METHODS["static"], lambda: target.calls("static", EACH * THREADS, threads=THREADS)


class Node(apps.App):
    def go(self):
        self.ask("warm 1", "warm")


@pytest.fixture(scope="module")
def node_app():
    target = Node([node.program(), "--expose-gc", v8_hits.APP], None, timeout=60)
    yield target
    target.close()


@pytest.fixture(scope="module")
def tried():
    """Of a test function: the places that it has had fail."""
    return collections.defaultdict(set)


@pytest.fixture(scope="session")
def failing_allocator(tmp_path_factory):
    library = tmp_path_factory.mktemp("preload") / "failing_allocator.so"
    machine.run("gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", library,
                machine.TREE / "tests/helpers/failing_allocator.c")
    return library


@pytest.fixture
def allocator(place_probe, failing_allocator, tried, tmp_path, request):
    if sanitizers.is_sanitized(place_probe.path):
        pytest.skip("a sanitizer has an allocator of its own")
    return Allocator(failing_allocator, tmp_path, tried[request.function.__name__])


def allocations_fail(trials, allocator, number):
    """
    Places where memory is allocated, the first time that they are come to; then from the Nth on, and each Nth.

    In full all that are not among those that other modes have tried, to which they are added.
    """
    place_probe = trials.place_probe
    place_probe.again(allocator.before, allocator.environment())
    trials.run()
    sites, calls = allocator.sites(), allocator.calls()
    assert len(sites) > 50
    some = {*spread_evenly(sites, MOST if pairs.is_full() else number)}
    if pairs.is_full():
        some |= {*sites} - allocator.tried
        allocator.tried.update(some)
    ways = [f"site {site}" for site in sites if site in some]
    ways += [f"from {1 + calls * i // 12}" for i in spread(range(12), 3)] + [f"each {n}" for n in (7, 50, 333)]
    for way in ways:
        place_probe.again(allocator.before, allocator.environment(way))
        trials.attempt(way, lambda: allocator.where(place_probe.path))
    trials.end()


@pytest.mark.parametrize("mode", pairs.few(MODES, "list", "hist"))
def test_allocations(place_probe, native, allocator, mode):
    allocations_fail(Trials(place_probe, native[0], mode, *native[1:]), allocator, 4)


def calls_fail(trials, calls, which, most):
    place_probe = trials.place_probe
    place_probe.again(calls.before("all"))
    trials.run()
    counted = calls.result()["calls"]
    for names in which:
        made = sum(counted.get(name, 0) for name in names.split(","))
        if not made:
            continue
        for what in FAILURES[names]:
            for nth in sorted(set(spread_evenly(range(1, made + 1), most))):
                place_probe.again(calls.before(names, what, nth))
                trials.attempt(f"{names} {what} {nth} of {made}")
                with contextlib.suppress(FileNotFoundError):
                    assert not calls.result()["left"], "a process is left"


@pairs.only_full
@pytest.mark.parametrize("names", FAILURES)
@pytest.mark.parametrize("mode", MODES)
def test_calls(place_probe, native, tmp_path, mode, names):
    trials = Trials(place_probe, native[0], mode, *native[1:])
    calls_fail(trials, Calls(tmp_path), [names], MOST)
    trials.end()


# Records ---------------------------------------------------------------------------------------


class Recordings(Trials):
    """Of each run there is a record beside what it prints: of a run that went well it has the same."""

    def __init__(self, place_probe, target, mode, file, *what):
        self.file = file
        super().__init__(place_probe, target, mode, *what)

    def words(self):
        self.file.unlink(missing_ok=True)
        return [f"--record={self.file}", *super().words()]

    def judge(self):
        super().judge()
        if not self.file.exists() or not self.file.stat().st_size:
            return
        result = self.outcome[1]
        # Whoever makes the next attempt says anew what is to fail.
        replayed = self.place_probe.again().run(f"--replay={self.file}", *MODES[self.mode])
        check_end(replayed, summarized=not replayed.code)
        if result.code == 0 and not is_told(result, self.usual.err):
            assert replayed.out == result.out, f"it was recorded otherwise:\n{replayed}\n{result}"


class Replays(Trials):
    """Of one record."""

    def words(self):
        return [f"--replay={self.pattern}", *MODES[self.mode]]

    def run(self):
        self.outcome = 0, self.place_probe.run(*self.words())
        return self.outcome[1]

    def is_right(self, made, result):
        return not hasattr(self, "usual") or result.out == self.usual.out

    def judge(self):
        # The summary is the run's: who cannot read it has none.
        result = check_end(self.outcome[1], summarized=not self.outcome[1].code)
        assert self.is_right(0, result) or is_told(result, self.usual.err), f"wrong, without a word:\n{result}"


@pytest.fixture
def replays(place_probe, native, tmp_path):
    """Of a mode: the trials."""
    def make(mode):
        target, pattern, call = native
        file = tmp_path / "run.record"
        live = place_probe.live(f"--record={file}", *MODES[mode], target.pid, pattern)
        call()
        live.stop().expect(0)
        return Replays(place_probe, None, mode, file, None)

    return make


RECORDED = [mode for mode in MODES if mode not in LOOKS | {"watch"}]


@pairs.only_full
@pytest.mark.parametrize("mode", RECORDED)
def test_calls_of_who_replays(replays, tmp_path, mode):
    trials = replays(mode)
    calls_fail(trials, Calls(tmp_path), FAILURES, MOST)
    trials.end()


@pytest.mark.parametrize("mode", pairs.few(RECORDED, "folded"))
def test_allocations_of_who_replays(replays, allocator, mode):
    allocations_fail(replays(mode), allocator, 4)


@pairs.only_full
@pytest.mark.parametrize("mode", RECORDED)
def test_calls_of_who_records(place_probe, native, tmp_path, mode):
    trials = Recordings(place_probe, native[0], mode, tmp_path / "run.record", *native[1:])
    calls_fail(trials, Calls(tmp_path), ["openat", "read", "mmap", "ioctl", "clone,clone3,fork"], MOST)
    trials.end()


@pairs.only_full
@pytest.mark.parametrize("mode", RECORDED)
def test_allocations_of_who_records(place_probe, native, allocator, tmp_path, mode):
    trials = Recordings(place_probe, native[0], mode, tmp_path / "run.record", *native[1:])
    allocations_fail(trials, allocator, 6)


# Killed at each phase ---------------------------------------------------------------------------

PHASES = "openat,bpf,perf_event_open,pread64,epoll_wait,poll,mmap,write,read,clone,clone3"


def phases(trials, calls, number):
    """Which of its calls to be killed at, from the first to the last."""
    trials.place_probe.again(calls.before(PHASES))
    trials.run()
    return spread_evenly(range(1, sum(calls.result()["calls"].values()) + 1), MOST if pairs.is_full() else number)


def entry(place_probe, target, pattern):
    """Where the first bytes of what is probed are, and what they are."""
    listed = place_probe.again([]).run("-l", "-j", target.pid, pattern).expect(0)
    site = listed.records("site")[0]
    return site["address"], machine.memory_of(target.pid, site["address"], 8)


@pytest.mark.parametrize("mode", pairs.few(MODES, "hist"))
def test_killed(place_probe, native, tmp_path, mode):
    """It is killed: its probes go with it, and no process stays."""
    target, pattern, call = native
    calls, trials = Calls(tmp_path), Trials(place_probe, target, mode, pattern, call)
    address, original = entry(place_probe, target, pattern)
    for nth in phases(trials, calls, 5):
        place_probe.again(calls.before(PHASES, "kill", nth))
        trials.attempt(f"killed at {nth}", killed=True)
        machine.wait_until(lambda: machine.memory_of(target.pid, address, 8) == original, "its probe goes")
        assert not calls.result()["left"], f"a process is left that was killed at {nth}"
        assert call() == THREADS * EACH
    trials.end()


@pytest.mark.parametrize("mode", pairs.few(MODES, "count"))
def test_target_is_killed(place_probe, start_app, native, calls_program, tmp_path, mode):
    """The target is killed: it ends as documented, and soon."""
    calls, trials = Calls(tmp_path), Trials(place_probe, native[0], mode, *native[1:])
    for nth in phases(trials, calls, 5):
        victim = start_app("calls", executable=calls_program)
        place_probe.again(calls.before(PHASES, f"kill={victim.pid}", nth))
        live = place_probe.start(*MODES[mode], victim.pid, PLAIN, timeout=30)
        try:
            if calls_died(live, victim):
                check_end(live.finish())
            else:
                check_end(live.stop())
        except AssertionError as problem:
            trials.problems.append(f"--- the target was killed at {nth}\n{problem}")
        assert not calls.result()["left"]
    trials.end()


def calls_died(live, victim):
    """Whether the target has been killed; it makes calls as soon as it is probed."""
    if live.has_attached() and victim.alive():
        victim.tell(f"plain {EACH} {THREADS}")
        with contextlib.suppress(AssertionError):
            victim.answer("done")
    return not victim.alive()


# Where its output goes ---------------------------------------------------------------------------

def without(descriptors):
    """A command that starts it without these."""
    closed = " ".join(f"{descriptor}>&-" for descriptor in descriptors)
    return ["sh", "-c", f'exec "$@" {closed}', "sh"]


@pytest.mark.parametrize("mode", pairs.few(MODES, "count"))
@pytest.mark.parametrize("descriptors", [[0], [1], [2], [0, 1, 2]], ids=str)
def test_without_descriptors(place_probe, native, tmp_path, mode, descriptors):
    """What it opens does not come in the place of standard output."""
    target, pattern, call = native
    output = tmp_path / "output"
    trials = Trials(place_probe, target, mode, pattern, call)
    place_probe.again(without(descriptors))
    if 2 not in descriptors:
        result = trials.run()
        assert result.code == (1 if 1 in descriptors else 0), str(result)
        check_end(result)
        assert 1 not in descriptors or "cannot write the output" in result.err, str(result)
    # Who writes into a file does not need any.
    result = place_probe.run(*MODES[mode], "-d", "0.1", "-o", output, target.pid, pattern)
    assert result.code == 0, str(result)
    usual = place_probe.again([]).run(*MODES[mode], "-d", "0.1", target.pid, pattern).expect(0)
    assert len(output.read_text().splitlines()) == len(usual.out.splitlines()), output.read_text()


@pytest.mark.anyone
@pytest.mark.parametrize("word", ["--help", "--version"])
def test_answers_that_cannot_be_written(place_probe_path, word):
    result = machine.run("sh", "-c", f"{place_probe_path} {word} >/dev/full", check=False)
    assert result.returncode == 1 and "No space left" in result.stderr, str(result)


@pytest.mark.parametrize("mode", ["count", "hist", "watch"])
def test_number_of_cpus_is_not_known(place_probe_path, native, mode):
    """All that is counted by CPU is sized by it."""
    target, pattern, _ = native
    script = 'mount --bind /dev/null /sys/devices/system/cpu/possible && exec "$0" "$@"'
    result = machine.run("unshare", "--mount", "sh", "-c", script, place_probe_path, *MODES[mode], target.pid, pattern,
                         check=False)
    assert result.returncode == 1 and "cannot tell how many CPUs there are" in result.stderr, str(result)


# Runtimes ----------------------------------------------------------------------------------------

@pairs.only_full
@pytest.mark.parametrize("mode", MODES)
def test_allocations_with_dotnet(place_probe, dotnet, allocator, mode):
    allocations_fail(Trials(place_probe, dotnet[0], mode, *dotnet[1:]), allocator, 8)


@pairs.only_full
@pytest.mark.parametrize("mode", MODES)
def test_calls_with_dotnet(place_probe, dotnet, tmp_path, mode):
    trials = Trials(place_probe, dotnet[0], mode, *dotnet[1:])
    calls_fail(trials, Calls(tmp_path), FAILURES, 2)
    trials.end()


@pairs.only_full
@pytest.mark.parametrize("mode", MODES)
def test_memory_of_dotnet_is_not_what_it_should_be(place_probe, dotnet, tmp_path, mode):
    """Of what it reads of the runtime's structures a word is another, each time at other places."""
    trials = Trials(place_probe, dotnet[0], mode, *dotnet[1:])
    calls = Calls(tmp_path)
    place_probe.again(calls.before("pread64"))
    trials.run()
    made = calls.result()["calls"]["pread64"]
    which = spread_evenly(range(1, made + 1), MOST)
    turns = [*map(str, which), *(f"/{each}" for each in (1, 2, 3, 7, 20)), *(f"{nth}+" for nth in which)]
    for turn in turns:
        place_probe.again(calls.before("pread64", "damage", turn))
        trials.attempt_of_damage(f"damage {turn} of {made}")
    trials.end()


@pairs.only_full
@pytest.mark.parametrize("mode", ["hits", "folded"])
def test_memory_of_node_is_not_what_it_should_be(place_probe, node_app, tmp_path, mode):
    """The same of V8, whose frames are read at each hit."""
    node_app.go()

    def call():
        node_app.go()
        return 0

    calls = Calls(tmp_path)
    trials = Trials(place_probe, node_app, mode, v8_hits.TARGETS["builtin"], call, counted=False)
    place_probe.again(calls.before("pread64"))
    trials.run()
    made = calls.result()["calls"]["pread64"]
    for turn in [f"/{each}" for each in (1, 2, 5, 20)] + [f"{nth}+" for nth in spread_evenly(range(1, made + 1), MOST)]:
        place_probe.again(calls.before("pread64", "damage", turn))
        trials.attempt_of_damage(f"damage {turn} of {made}")
    trials.end()
