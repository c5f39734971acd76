# SPDX-License-Identifier: GPL-2.0-or-later
"""Each failure: one sentence that a user can act on, and its exit code."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from helpers import apps, machine, probe, sanitizers

SLEEP = "System.Threading.Thread::Sleep"
STATIC = apps.METHODS["static"]
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
pytestmark = pytest.mark.beside


@pytest.fixture
def process():
    """process(COMMAND): an ordinary process, ended with the test. Returns its pid."""
    running = []

    def start(*command, **options):
        child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                 **options)
        running.append(child)
        return child

    yield start
    for child in running:
        child.kill()
        child.wait()


@pytest.mark.kernel
def test_dead_process(place_probe):
    pid = machine.unused_pid()
    place_probe.run(pid, SLEEP).expect_sentence(1, str(pid), "no such process|no process")


@pytest.mark.kernel
def test_zombie(place_probe, process):
    child = process("/bin/true")
    machine.wait_until(lambda: machine.process_state(child.pid) == "Z", "the child ends")
    place_probe.run(child.pid, SLEEP).expect_sentence(1, str(child.pid), "zombie|exited|ended")


@pytest.mark.kernel
def test_kernel_thread(place_probe):
    pid = machine.kernel_thread()
    if pid is None:
        pytest.skip("there is no kernel thread to be seen here")
    place_probe.run(pid, SLEEP).expect_sentence(1, str(pid), "kernel thread")


@pytest.mark.kernel
def test_thread_id_for_a_process(place_probe, app):
    """The id of a thread is none of a process."""
    tid = max(int(task) for task in os.listdir(f"/proc/{app.pid}/task"))
    assert tid != app.pid
    place_probe.run(tid, SLEEP).expect_sentence(1, str(tid), "thread")


def test_no_dotnet_in_there(place_probe, process):
    pid = process("/bin/sleep", "1000").pid
    place_probe.run(pid, SLEEP).expect_sentence(1, str(pid), r"\.NET")


@pytest.mark.kernel
def test_32_bit_process(place_probe, process, short_tmp):
    program = short_tmp / "pause32"
    machine.write_elf32(program)
    try:
        child = process(program)
    except OSError:
        pytest.skip("this kernel runs no 32-bit programs")
    place_probe.run(child.pid, SLEEP).expect_sentence(1, str(child.pid), "32-bit")


@pytest.fixture
def as_nobody(place_probe, short_tmp):
    """as_nobody(WORDS...): run place-probe as an ordinary user, from where that user may read it."""
    program = short_tmp / "place-probe"
    shutil.copy(place_probe.path, program)

    def run(*words):
        result = subprocess.run([*NOBODY, program, *map(str, words)], capture_output=True, text=True,
                                stdin=subprocess.DEVNULL, timeout=30, cwd=short_tmp)
        return probe.Result(result.returncode, result.stdout, result.stderr)

    return run


def refused(pid, why):
    """What is said of a process that may not be looked at: what the kernel refused, and why."""
    return (rf"^place-probe: process {pid} \(\S+\) may not be looked at: the kernel refuses "
            rf"/proc/{pid}/exe \(Permission denied\){why}$")


def test_no_permission(as_nobody, app):
    """An ordinary user may not look at root's process."""
    as_nobody("-c", app.pid, STATIC).expect_sentence(1, refused(app.pid, "; run as root"))


# Whoever is root and is refused all the same is not told to be root ---------------------------

WITHOUT_PTRACE = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
WITHOUT_ADMIN = ["setpriv", "--bounding-set=-sys_admin,-bpf,-perfmon",
                 "--inh-caps=-sys_admin,-bpf,-perfmon"]
# Of its own, in which it is root.
USER_NAMESPACE = ["unshare", "--user", "--map-root-user"]
OTHER_NAMESPACE = ", since it is in another user namespace, .* run as root in that one or .*"
NOT_DUMPABLE = (", though place-probe has CAP_SYS_PTRACE in this user namespace: the process is in "
                "another one or not dumpable, .* run as root in the initial one")


@pytest.fixture
def run_as(place_probe):
    """run_as(PREFIX, WORDS...): place-probe started by a command that takes something from it."""
    def run(prefix, *words):
        result = subprocess.run([*prefix, *place_probe.command(words)], capture_output=True,
                                text=True, stdin=subprocess.DEVNULL, timeout=30 * machine.SCALE)
        return probe.Result(result.returncode, result.stdout, result.stderr)

    return run


@pytest.fixture
def user_namespace():
    if machine.run(*USER_NAMESPACE, "true", check=False).returncode != 0:
        pytest.skip("this kernel gives no user namespaces")
    return USER_NAMESPACE


def test_root_without_ptrace(run_as, process):
    """The target has a capability that we lack, as the host's processes have for a container."""
    pid = process("/bin/sleep", "1000").pid
    run_as(WITHOUT_PTRACE, "-l", pid, SLEEP).expect_sentence(
        1, refused(pid, ", since place-probe is root without CAP_SYS_PTRACE: start it with that "
                        "capability"))


def test_kernel_that_is_locked_down(run_as, process):
    """As the kernel says it, which lets no program read memory then; ours would let them, but we may not load any."""
    locked = ('mount -t tmpfs none /sys/kernel/security && '
              'echo "none integrity [confidentiality]" >/sys/kernel/security/lockdown && exec "$@"')
    pid = process("/bin/sleep", "1000").pid
    run_as(["unshare", "--mount", "sh", "-c", locked, "sh", *WITHOUT_ADMIN], "-c", pid, "libc.so.6!malloc").expect_sentence(
        1, "^place-probe: the kernel does not load the BPF programs: it is locked down .* lockdown=integrity$")


def test_root_of_a_user_namespace(run_as, process, user_namespace):
    """Its capabilities count in there, and the process is outside."""
    pid = process("/bin/sleep", "1000").pid
    run_as(user_namespace, "-l", pid, SLEEP).expect_sentence(1, refused(pid, OTHER_NAMESPACE))


def test_not_dumpable_in_a_user_namespace(place_probe, user_namespace, short_tmp):
    """A program that its namespace may not read: its memory belongs to the namespace outside."""
    program = short_tmp / "sleep"
    shutil.copy("/bin/sleep", program)
    os.chown(program, 65534, 65534)
    program.chmod(0o711)
    # Until it runs the program, the child is a shell, which may be read.
    script = (f"{program} 1000 & trap 'kill $!' EXIT; echo $!; "
              f"until [ \"$(cat /proc/$!/comm)\" = {program.name} ]; do sleep 0.01; done; "
              f"{place_probe.path} -l $! '{SLEEP}'")
    started = machine.run(*user_namespace, "/bin/sh", "-c", script, check=False)
    pid, _, out = started.stdout.partition("\n")
    probe.Result(started.returncode, out, started.stderr).expect_sentence(
        1, refused(pid, NOT_DUMPABLE))


# Landlock lets nobody look out of it, whatever capabilities he has.
LANDLOCKED = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
make_symlinks = struct.pack("Q", 1 << 12)
ruleset = libc.syscall(444, make_symlinks, len(make_symlinks), 0)
if ruleset < 0:
    sys.exit(77)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.syscall(446, ruleset, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_root_in_a_sandbox(run_as, process):
    """Root with all capabilities, and a security module that forbids it."""
    pid = process("/bin/sleep", "1000").pid
    result = run_as([sys.executable, "-c", LANDLOCKED], "-l", pid, SLEEP)
    if result.code == 77:
        pytest.skip("this kernel has no Landlock")
    result.expect_sentence(1, refused(pid, ", though place-probe has CAP_SYS_PTRACE: a security "
                                           "module.* or a sandbox forbids it; run place-probe "
                                           "outside of that"))


# Yama, say, lets a process' maps and files be looked at, and not its memory.
NO_MEMORY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
int openat(int fd, const char *name, int flags, int mode)
{
    int (*real)(int, const char *, int, int) = dlsym(RTLD_NEXT, "openat");
    if (strcmp(name, "mem"))
        return real(fd, name, flags, mode);
    errno = EPERM;
    return -1;
}
"""


def test_memory_may_not_be_read(run_as, place_probe_path, start_app, tmp_path):
    """What lies in files is found without it; what is compiled at run time is said to be missing."""
    if sanitizers.is_sanitized(place_probe_path):
        pytest.skip("AddressSanitizer wants to be the first library")
    source, library = tmp_path / "no_memory.c", tmp_path / "no_memory.so"
    source.write_text(NO_MEMORY)
    machine.run("gcc", "-shared", "-fPIC", "-o", library, source)
    app = start_app("r2r10")
    result = run_as(["env", f"LD_PRELOAD={library}"], "-l", "-j", app.pid, STATIC).expect(0)
    site, = result.records("site")
    assert (site["method"], site["mechanism"]) == (STATIC, "uprobe"), site
    assert "code compiled at run time is not found: " in result.err, str(result)


def test_root_who_may_not_load_programs(run_as, process, user_namespace, place_probe):
    """The process may be looked at, but BPF takes more: the one capability, or the other namespace."""
    pid = process("/bin/sleep", "1000").pid
    run_as(WITHOUT_ADMIN, "-c", pid, "libc.so.6!malloc").expect_sentence(
        1, r"the kernel refuses BPF programs \(Operation not permitted\): this is root without "
           "CAP_BPF and CAP_PERFMON, start it with these capabilities$")
    script = (f"/bin/sleep 1000 & trap 'kill $!' EXIT; until {place_probe.path} -l $! "
              f"'libc.so.6!malloc' >/dev/null 2>&1; do :; done; "
              f"{place_probe.path} -c $! 'libc.so.6!malloc'")
    started = machine.run(*user_namespace, "/bin/sh", "-c", script, check=False)
    probe.Result(started.returncode, started.stdout, started.stderr).expect_sentence(
        1, "the kernel refuses BPF programs .* root of a user namespace, run as root outside of it$")


@pytest.mark.registers
def test_own_process_but_no_capability(as_nobody, start_app, build_app, short_tmp):
    """An ordinary user may look at an own process, but not put probes on it."""
    home = short_tmp / "app"
    shutil.copytree(build_app("r2r10").parent, home)
    short_tmp.chmod(0o777)
    app = start_app("r2r10", executable=home / "counter", before=NOBODY)
    as_nobody("-c", app.pid, STATIC).expect_sentence(
        1, r"the kernel refuses BPF programs \(Operation not permitted\): run as root, or give it CAP_BPF and CAP_PERFMON$")
    site, = as_nobody("-l", "-j", app.pid, STATIC).expect(0).records("site")
    assert (site["method"], site["mechanism"]) == (STATIC, "uprobe"), site
    assert "perf probe" in as_nobody("-n", app.pid, STATIC).expect(0).out


@pytest.mark.anyone
@pytest.mark.parametrize("words, what", [
    ([], "give a PID and a PATTERN"),
    (["1"], "give a PATTERN after the PID"),
    (["--no-such-option", "1", SLEEP], "no option --no-such-option"),
    (["nonsense", SLEEP], "'nonsense' is no process id"),
    (["-1", SLEEP], "no option -1"),
    (["0", SLEEP], "'0' is no process id"),
    (["99999999999999999999", SLEEP], "'99999999999999999999' is no process id"),
    (["-d", "soon", "1", SLEEP], "--duration takes .*, not 'soon'"),
    (["-d", "-1", "1", SLEEP], "--duration takes .*, not '-1'"),
    (["-N", "0x", "1", SLEEP], "--hits takes .*, not '0x'"),
    (["-N", "0", "1", SLEEP], "--hits takes .* from 1 .*, not '0'"),
    (["-i", "never", "1", SLEEP], "--interval takes .*, not 'never'"),
    (["-d"], "-d needs a value"),
    (["1", ""], "pattern '' is empty"),
    (["--stack=deep", "1", SLEEP], "--stack takes full or managed, not 'deep'"),
    (["--max-frames", "0", "1", SLEEP], "--max-frames takes .* from 1 to 768, not '0'"),
    (["--uprobe-by=magic", "1", SLEEP], "--uprobe-by takes .*, not 'magic'"),
    (["--hold", "0", "1", SLEEP], "--hold takes .* from 1 to 10000, not '0'"),
    (["--hold=10001", "1", SLEEP], "--hold takes .* from 1 to 10000, not '10001'"),
    (["--hold=5", "--no-hold", "1", SLEEP], "only one of --hold and --no-hold"),
    (["--wait", "-l", "1", SLEEP], "--wait goes with probing"),
    (["--"], "give a COMMAND after --"),
    ([SLEEP, "--"], "give a COMMAND after --"),
    (["--", "true"], "give a PATTERN before --"),
    (["-t", "1", SLEEP, "--", "true"], "-t goes with a PID"),
    (["-l", SLEEP, "--", "true"], "--list goes with a PID"),
    (["-n", SLEEP, "--", "true"], "--dry-run goes with a PID"),
])
def test_usage(place_probe, words, what):
    place_probe.run(*words).expect_sentence(2, what)


@pytest.mark.parametrize("pattern, what", [
    ("/(/", "missing closing parenthesis"), ("/[/", "missing terminating ]"),
    ("A::B(", "missing at the end"), ("A::B(int", "missing at the end"),
    ("Counted.Kinds.Static", "has no '::'"),
])
def test_bad_pattern(place_probe, app, pattern, what):
    place_probe.run(app.pid, pattern).expect_sentence(2, re.escape(f"pattern '{pattern}'"), what)


@pytest.mark.anyone
def test_help_and_version(place_probe):
    for option in ("-h", "--help"):
        assert "Usage" in place_probe.run(option).expect(0).out
    for option in ("-V", "--version"):
        result = place_probe.run(option).expect(0)
        assert result.out.startswith("place-probe ") and len(result.out.splitlines()) == 1


# What a word in the place of an option's value may be.
VALUES = {"[RANGE]": "linear:0ms:50ms:5ms", "DUR": "10ms", "WHAT": "tid", "WHICH": "managed",
          "N": "5", "FILE": "/dev/null", "SEC": "1", "COUNT": "5", "TID": "1", "DIR|FILE": "/dev/null", "DIR": "/tmp",
          "LEVELS": "1", "EXPR": "id == 1", "REGEX": "secret", "MS": "20", "[MS]": "20", "[WHEN]": "auto", "SIZE": "64M",
          "MEANS": "perf", "NAME": "json",
          "PATTERN": "App.*::*",
          "[ADDR:PORT]": "127.0.0.1:0"}
OPTION_ENTRY = re.compile(r'\{ (?:\'(\w)\'|OPT_\w+), "([\w-]+)", (?:NULL|"([^"]+)"),\s')
OPTION_WORD = re.compile(r"(?<![\w-])(?:-(\w)|--(\w[\w-]*))(?![\w-])")


def options_of_the_program():
    """All that it has: (letter or "", name, value or "")."""
    found = OPTION_ENTRY.findall((machine.TREE / "src/cli/entries.c").read_text())
    assert len(found) > 30, found
    return found


def words_of(options):
    return {word for letter, name, *_ in options for word in (letter, name) if word}


def test_help_names_every_option(place_probe):
    """Each has a line of its own in the help, with its value, and nothing else has."""
    text = place_probe.run("--help").expect(0).out
    lines = re.findall(r"^  (?:-(\w), |    )--([\w-]+)(\[?=[\w|:]+\]?)? ", text, re.MULTILINE)
    shown = [(letter, name, value.replace("[=", "[", 1).removeprefix("="))
             for letter, name, value in lines]
    assert sorted(shown) == sorted(options_of_the_program())
    assert "-- COMMAND" in text


@pytest.mark.anyone
def test_manual_names_every_option():
    """Those of its section OPTIONS are those that there are."""
    manual = (machine.TREE / "docs/place-probe.1").read_text()
    section = manual.partition(".SH OPTIONS\n")[2].partition("\n.SH ")[0]
    heads = re.sub(r"\\f.", "", "\n".join(re.findall(r"^\.TP\n(.*)$", section, re.MULTILINE)))
    heads = heads.replace("\\-", "-").replace('"', " ")
    named = {letter or name for letter, name in OPTION_WORD.findall(heads)}
    assert named == words_of(options_of_the_program())


@pytest.mark.parametrize("option", options_of_the_program(), ids=lambda option: option[1])
def test_option_is_accepted(place_probe, option):
    """It goes with a run, or with some kind of run; without its value it does not, nor with one too many."""
    letter, name, value = option
    known = VALUES[value] if value else ""
    pid = machine.unused_pid()

    def codes(*words):
        """As it ends together with each mode; 1: the command line was good, there is no such process."""
        return {place_probe.run(*words, *mode, pid, SLEEP).code
                for mode in ([], ["-c"], ["-H"], ["--watch"], ["--trace", "--calls=App.*::*"])}

    # A record has the process of its run.
    ends = 0 if name in ("help", "version", "self-test") else 2 if name in ("replay", "base") else 1
    for spelt in [f"--{name}"] + ([f"-{letter}"] if letter else []):
        if value.startswith("["):
            assert ends in codes(spelt)
        elif value:
            assert ends in codes(spelt, known)
            assert place_probe.run("-c", pid, SLEEP, spelt).code == 2
        else:
            assert ends in codes(spelt)
            assert codes(f"--{name}={known}x") == {2}
    if value:
        assert ends in codes(f"--{name}={known}")
        # Whether a file can be had is seen when it is opened; not every mode need have one.
        empty = codes(f"--{name}=")
        assert ends in empty if "FILE" in value else empty == {2}


def close_names(result):
    """What it suggests in place of a pattern."""
    lines = result.err.splitlines()
    at = lines.index("  close names:") if "  close names:" in lines else len(lines)
    return [line.strip() for line in lines[at + 1:] if line.startswith("    ")]


@pytest.mark.parametrize("pattern, meant", [
    ("System.Threading.Thread::Slep", "System.Threading.Thread::Sleep"),
    ("System.Threading.Tread::Sleep", "System.Threading.Thread::Sleep"),
    ("Counted.Kinds::static", "Counted.Kinds::Static"),
    ("Counted.Kind::Static", "Counted.Kinds::Static"),
])
def test_near_miss(place_probe, app, pattern, meant):
    """Nothing matches: exit 3, with what was probably meant."""
    result = place_probe.run("-c", app.pid, pattern).expect(3)
    assert close_names(result)[0] == meant, str(result)
    assert result.out == ""


def test_nothing_like_it(place_probe, app):
    result = place_probe.run("-c", app.pid, "Qqqqqq.Wwwwww::Zzzzzz").expect(3)
    told, end = result.err.splitlines()
    assert told == "place-probe: no method matches 'Qqqqqq.Wwwwww::Zzzzzz' yet"
    assert re.fullmatch(rf"place-probe: nothing matched in \d+ managed images of process {app.pid}: .*--list.*--wait.*", end)
    assert result.out == ""


def test_many_that_are_not_there(place_probe, app):
    """A few lines, however many they are, unless they are asked for."""
    patterns = [f"Counted.Kinds::Stati{letter}" for letter in "qrstuvwx"]
    result = place_probe.run("-c", app.pid, *patterns).expect(3)
    assert len(result.err.splitlines()) <= 8 and "match 6 more patterns (-v names them)" in result.err, str(result)
    verbose = place_probe.run("-c", "-v", app.pid, *patterns).expect(3)
    assert all(f"no method matches '{pattern}' yet" in verbose.err for pattern in patterns), str(verbose)


def test_overload_that_is_not_there(place_probe, app):
    """The method exists, with other parameters: it is suggested without them."""
    result = place_probe.run("-c", app.pid, "Counted.Kinds::Over(double)").expect(3)
    assert close_names(result)[0] == "Counted.Kinds::Over", str(result)


def test_one_of_two_matches(place_probe, app):
    """What matches is probed, what does not is warned about."""
    live = place_probe.count(app.pid, "Counted.Kinds::Static", "Counted.Kinds::Nowhere")
    app.calls("static", 8)
    result = live.stop().expect(0)
    assert result.calls() == 8
    assert "no method matches 'Counted.Kinds::Nowhere' yet" in result.err


def test_too_many_for_perf_events(place_probe, app):
    """Closing a perf event takes a while each: more than 100 are refused, with what it would take."""
    result = place_probe.run("-c", "--uprobe-by=perf", app.pid, "System.Private.CoreLib!System.*::*")
    result.expect(1)
    assert "--force" in result.err and result.out == ""


def test_output_file_that_cannot_be(place_probe, app):
    place_probe.run("-o", "/nonexistent/out", "-d", "1", app.pid,
                    STATIC).expect_sentence(1, "/nonexistent/out")


@pytest.mark.parametrize("mode", [[], ["-j"]], ids=["hits", "JSON"])
def test_output_without_room(place_probe, app, mode):
    """A full disk ends the run, and what the kernel said of it is told."""
    live = place_probe.live(*mode, "-o", "/dev/full", app.pid, STATIC)
    app.calls("static", 10)
    result = live.finish().expect(1)
    assert result.err.splitlines()[-1] == \
        "place-probe: cannot write the output: No space left on device (-o names another place)", str(result)


@pytest.mark.registers
@pytest.mark.parametrize("mode", [[], ["-j"], ["-c", "-i", "0.1"]], ids=["hits", "JSON", "counts"])
def test_output_is_closed(place_probe, app, mode):
    """A reader that goes away (`| head`) ends the run, which is no failure, and not the target."""
    with subprocess.Popen(place_probe.command([*mode, app.pid, STATIC]), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert any("attached" in line for line in process.stderr)
            process.stdout.close()
            machine.wait_until(lambda: app.calls("static", 10) and process.poll() is not None,
                               "place-probe ends when nobody reads")
            assert process.returncode == 0, process.stderr.read()
        finally:
            process.kill()
    assert app.calls("static", 10) == 10
