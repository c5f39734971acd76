# SPDX-License-Identifier: GPL-2.0-or-later
"""The caches outside the tree: what is damaged is made anew, what changes is, and no failure is kept."""

import contextlib
import fcntl
import os
import pathlib
import shutil
import signal
import stat
import subprocess

import pytest

from helpers import cache as entries
from helpers import machine, pairs

pytestmark = [pytest.mark.anyone, pytest.mark.beside]

CACHE = machine.TREE / "tests/cache.sh"


class Cache:
    def __init__(self, directory):
        self.root = directory / "cache"
        self.directory = directory
        self.env = os.environ | {"PLACE_PROBE_CACHE": str(self.root)}

    def run(self, *words, cwd=None, **extra):
        return subprocess.run([CACHE, *words], env=self.env | extra, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60, cwd=cwd)

    def entry(self, key, kind="apps"):
        return self.root / kind / key

    def put(self, key, tree, kind="apps", **extra):
        result = self.run("put", kind, key, tree, **extra)
        assert (result.returncode, result.stderr) == (0, "")

    def get(self, key, kind="apps"):
        """The copy, or None; and what was said."""
        copy = self.directory / "copy"
        result = self.run("get", kind, key, copy)
        assert result.returncode in (0, 1)
        return copy if result.returncode == 0 else None, result.stderr


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path)


@pytest.fixture
def tree(tmp_path):
    """Something to keep."""
    home = tmp_path / "tree"
    (home / "sub/empty").mkdir(parents=True)
    (home / "program").write_bytes(os.urandom(100000))
    (home / "program").chmod(0o755)
    (home / "sub/with space\n").write_text("text")
    (home / "link").symlink_to("sub")
    return home


def listing(home):
    return {str(path.relative_to(home)):
            (stat.filemode(path.lstat().st_mode), os.readlink(path) if path.is_symlink() else
             path.read_bytes() if path.is_file() else None)
            for path in home.rglob("*")}


def test_what_is_got_is_what_was_put(cache, tree):
    assert cache.get("k") == (None, "")
    cache.put("k", tree)
    (cache.directory / "copy").mkdir()
    (cache.directory / "copy/old").touch()
    copy, said = cache.get("k")
    assert said == "" and listing(copy) == listing(tree)
    assert sorted(path.name for path in cache.directory.iterdir()) == ["cache", "copy", "tree"]


def flip_a_bit(entry):
    path = entry / "content/program"
    data = bytearray(path.read_bytes())
    data[50000] ^= 1
    path.write_bytes(data)


DAMAGES = {
    "a bit": flip_a_bit,
    "a truncated file": lambda entry: os.truncate(entry / "content/program", 4096),
    "an empty file": lambda entry: os.truncate(entry / "content/program", 0),
    "a file gone": lambda entry: (entry / "content/program").unlink(),
    "a file more": lambda entry: (entry / "content/more").touch(),
    "a directory gone": lambda entry: (entry / "content/sub/empty").rmdir(),
    "another mode": lambda entry: (entry / "content/program").chmod(0o644),
    "another target": lambda entry: [(entry / "content/link").unlink(),
                                     (entry / "content/link").symlink_to("program")],
    "half a manifest": lambda entry: os.truncate(entry / "manifest", 100),
    "no manifest": lambda entry: (entry / "manifest").unlink(),
    "no content": lambda entry: shutil.rmtree(entry / "content"),
}


@pytest.mark.parametrize("damage", pairs.few(DAMAGES, "a bit", "a file more", "another target", "half a manifest"))
def test_damaged_entries_are_removed_and_said(cache, tree, damage):
    cache.put("k", tree)
    DAMAGES[damage](cache.entry("k"))
    copy, said = cache.get("k")
    assert copy is None
    assert said == "tests/helpers/cache.py: apps/k is damaged: removed\n"
    assert not cache.entry("k").exists()
    assert not (cache.directory / "copy").exists()
    cache.put("k", tree)
    copy, said = cache.get("k")
    assert said == "" and listing(copy) == listing(tree)


@contextlib.contextmanager
def whoever_opens_waits(path):
    """The kernel asks whoever has a lease before another may open the file, and we do not answer."""
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    with open(path, "r+b") as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        try:
            yield
        finally:
            signal.signal(signal.SIGIO, before)


def test_a_killed_writer_leaves_no_entry(cache, tree):
    """Killed while it copies, and another does not mind what it leaves."""
    with whoever_opens_waits(tree / "program"):
        writer = subprocess.Popen([CACHE, "put", "apps", "k", tree], env=cache.env,
                                  start_new_session=True)
        machine.wait_until(lambda: any(cache.root.glob(".new.*/content")), "the writer begins")
        assert writer.poll() is None, "it was done before it could be killed"
        os.killpg(writer.pid, signal.SIGKILL)
        writer.wait()
    assert list(cache.root.glob(".new.*")), "it had already put it"
    assert cache.get("k") == (None, "")
    cache.put("k", tree)
    copy, _ = cache.get("k")
    assert listing(copy) == listing(tree)
    # What is left lies there until nobody can be writing it.
    for left in cache.root.glob(".new.*"):
        os.utime(left, (0, 0))
    cache.run("trim")
    assert not list(cache.root.glob(".new.*"))


def test_writers_at_once(cache, tree):
    """All put the same, and whoever reads meanwhile finds all of it or nothing."""
    for number in range(50):
        (tree / str(number)).write_bytes(os.urandom(5000))
    writers = [subprocess.Popen([CACHE, "put", "apps", "k", tree], env=cache.env,
                                stderr=subprocess.PIPE, text=True) for _ in range(6)]
    found = 0
    while any(writer.poll() is None for writer in writers):
        copy, said = cache.get("k")
        assert said == ""
        if copy:
            assert listing(copy) == listing(tree)
            found += 1
    assert [writer.communicate()[1] for writer in writers] == [""] * 6
    assert [writer.returncode for writer in writers] == [0] * 6
    copy, said = cache.get("k")
    assert said == "" and listing(copy) == listing(tree)
    assert [path.name for path in (cache.root / "apps").iterdir()] == ["k"]
    assert not list(cache.root.glob(".new.*"))


def test_what_was_not_used_for_longest_goes(cache, tmp_path):
    """Within the bound all stays; above it the oldest by use, and not by age, go."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "data").write_bytes(os.urandom(1 << 20))
    for number, key in enumerate("abcd"):
        cache.put(key, tree)
        os.utime(cache.entry(key), (1000 + number, 1000 + number))
    assert cache.get("a")[0]
    cache.run("trim", PLACE_PROBE_CACHE_KIB="5000")
    assert {path.name for path in (cache.root / "apps").iterdir()} == set("abcd")
    cache.put("e", tree, PLACE_PROBE_CACHE_KIB="3500")
    assert {path.name for path in (cache.root / "apps").iterdir()} == set("ade")


def test_what_setup_installs_stays(cache, tmp_path):
    """However much there is: nothing brings it back while tests run."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "data").write_bytes(os.urandom(1 << 20))
    cache.put("k", tree)
    for name in ("node-1.2.3/node_modules", "node-api-dotnet-1/node_modules", "libnode-1/lib"):
        installed = cache.root / name
        installed.mkdir(parents=True)
        os.utime(installed, (1000, 1000))
    cache.run("trim", PLACE_PROBE_CACHE_KIB="1")
    assert not list((cache.root / "apps").iterdir())
    assert all((cache.root / name).is_dir() for name in ("node-1.2.3/node_modules", "libnode-1/lib"))


def test_clean(cache, tree):
    """All of it goes, but nothing that is no cache."""
    cache.put("k", tree)
    assert cache.run("clean").returncode == 0 and not cache.root.exists()
    assert cache.run("clean").returncode == 0
    result = cache.run("clean", PLACE_PROBE_CACHE=str(tree))
    assert result.returncode == 1 and "left as it is" in result.stderr
    assert (tree / "program").exists()


def test_where(cache):
    """As told, among the user's caches, and where no HOME is set in the user's home all the same."""
    def where(**env):
        return subprocess.run(["/bin/bash", CACHE, "where"], env=env, capture_output=True, text=True,
                              check=True).stdout.strip()

    home = pathlib.Path("~").expanduser()
    assert where(PLACE_PROBE_CACHE="/a/b", HOME="/c") == "/a/b"
    assert where(XDG_CACHE_HOME="/x", HOME="/c") == "/x/place-probe"
    assert where(HOME="/c") == "/c/.cache/place-probe"
    if "HOME" in os.environ and machine.is_root():
        assert where() == where(HOME="") == str(home / ".cache/place-probe")


def test_nothing_can_be_kept(cache, tree):
    """Where a file stands instead of the cache all goes on without."""
    cache.root.write_text("")
    cache.put("k", tree)
    assert cache.get("k") == (None, "")
    assert cache.run("compile", "sh", "-c", "echo ${CCACHE:-none}").stdout == "none\n"


def test_key(cache, tmp_path):
    """Any word, name or content makes another, and none of what is not there."""
    for name in ("one", "two", "three"):
        (tmp_path / name).write_text("same")

    def key(*words):
        result = subprocess.run([CACHE, "key", *words], cwd=tmp_path, env=cache.env,
                                capture_output=True, text=True)
        return result.stdout if result.returncode == 0 else None

    keys = [key("a", "b", "--", "one"), key("ab", "--", "one"), key("a", "--", "one"),
            key("a", "b", "--", "two"), key("a", "b", "--", "one", "two"), key("a", "b"), key(),
            key("a", "b", "one")]
    (tmp_path / "one").write_text("Same")
    keys.append(key("a", "b", "--", "one"))
    assert len(set(keys)) == len(keys) and None not in keys
    assert key("a", "--", "none") is None


def test_python_and_shell_agree(cache, monkeypatch):
    """They have the same entries."""
    files = ["README.md", "tests/cache.sh"]
    assert cache.run("key", "a", "b c", "--", *files, cwd=machine.TREE).stdout.strip() == \
        entries.key(["a", "b c"], files)
    for env in ({"PLACE_PROBE_CACHE": "/a"}, {"XDG_CACHE_HOME": "/x"}, {"HOME": "/h"}, {"HOME": ""}):
        for name in ("PLACE_PROBE_CACHE", "XDG_CACHE_HOME", "HOME"):
            monkeypatch.delenv(name, raising=False)
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        assert subprocess.run([CACHE, "where"], stdout=subprocess.PIPE, text=True,
                              check=True).stdout.strip() == str(entries.where())


# The check of the tree ------------------------------------------------------------------------


class Project:
    """A small tree with tests/lint, and a cache of its own."""

    FILES = {
        "src/used.h": "#define USED 3\n",
        "src/near.h": '#include "used.h"\n',
        "src/far.h": "#define FAR 1\n",
        "src/uses.c": '#include "near.h"\n\nint uses(void);\n\nint uses(void)\n{\n\treturn USED;\n}\n',
        "src/alone.c": "int alone(void);\n\nint alone(void)\n{\n\treturn 2;\n}\n",
        "tests/tool.py": "import sys\n\nprint(sys.argv)\n",
        "tests/words.sh": "# shellcheck shell=bash\n# SPDX\nexport words=1\n",
        "tests/script": '#!/bin/bash\n. tests/words.sh\necho "$words"\n',
    }
    # (check, file) with each of its files counted once: 5 formats, 3 analyses twice, scripts, paths.
    CHECKS = 5 + 3 * 2 + 2 + 1

    def __init__(self, home):
        self.home = home / "project"
        self.env = os.environ | {"PLACE_PROBE_CACHE": str(home / "cache")}
        self.cache = home / "cache"
        for name, text in self.FILES.items():
            self.write(name, text)
        for name in (".clang-format", ".clang-tidy", "tests/cppcheck-suppressions", "tests/lint/run",
                     "tests/lint/keys", "tests/cache.sh"):
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(machine.TREE / name, self.home / name)
        machine.run("git", "init", "-q", self.home)

    def write(self, name, text):
        (self.home / name).parent.mkdir(parents=True, exist_ok=True)
        (self.home / name).write_text(text)

    def lint(self):
        """Exit code, (passed, failed), how many had passed before, and all the output."""
        files = [name for name in self.FILES if (self.home / name).exists()]
        result = subprocess.run(["tests/lint/run", *files], cwd=self.home, env=self.env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=120)
        lines = result.stdout.splitlines()
        words = lines[-1].split()
        assert words[1::2] == ["passed,", "failed,", "skipped"], result.stdout
        before = [int(line.split()[1]) for line in lines if "have passed before" in line]
        return result.returncode, (int(words[0]), int(words[2])), sum(before), result.stdout


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """One that was checked, and what it and its cache were then: analysers take long to start."""
    home = tmp_path_factory.mktemp("lint")
    made = Project(home / "used")
    status, counts, before, output = made.lint()
    assert (status, counts, before) == (0, (made.CHECKS + len(made.FILES), 0), 0), output
    shutil.copytree(home / "used", home / "checked", symlinks=True)
    return made, home / "checked"


@pytest.fixture
def project(checked):
    made, then = checked
    shutil.rmtree(made.home.parent)
    shutil.copytree(then, made.home.parent, symlinks=True)
    made.env = os.environ | {"PLACE_PROBE_CACHE": str(made.cache)}
    return made


def expect(project, rerun):
    """All pass, and all but `rerun` of the checks that are kept had passed before."""
    status, counts, before, output = project.lint()
    assert (status, counts[1]) == (0, 0), output
    assert counts[0] == project.CHECKS + len(project.FILES)
    assert before == project.CHECKS - rerun, output


def test_lint_runs_what_has_changed(project):
    """A header counts for all that includes it."""
    project.write("src/used.h", "#define USED 4\n")
    project.write("src/far.h", "#define FAR 2\n")
    # Both formats; the analyses of what includes the one by way of another. Nothing includes the other.
    expect(project, 2 + 3)


@pairs.only_full
def test_lint_knows_what_passed_before_as_it_is_again(project):
    project.write("src/used.h", "#define USED 4\n")
    expect(project, 1 + 3)
    project.write("src/used.h", "#define USED 3\n")
    expect(project, 0)


@pairs.only_full
def test_lint_runs_what_is_configured_anew(project):
    with open(project.home / ".clang-tidy", "a") as file:
        file.write("# another\n")
    expect(project, 2)
    with open(project.home / ".clang-format", "a") as file:
        file.write("# another\n")
    expect(project, 5)
    with open(project.home / "tests/cppcheck-suppressions", "a") as file:
        file.write("nullPointer:none.c\n")
    expect(project, 2)
    project.write("tests/words.sh", "# shellcheck shell=bash\n# SPDX\nexport words=2\n")
    expect(project, 2)
    with open(project.home / "tests/lint/run", "a") as file:
        file.write("# another\n")
    expect(project, project.CHECKS)


@pairs.only_full
def test_lint_sees_a_header_that_takes_the_place_of_another(project):
    """Beside the source it comes before what the options name."""
    project.write("late.h", "#define LATE 1\n")
    project.write("src/alone.c", '#include "late.h"\n\n' + project.FILES["src/alone.c"])
    expect(project, 4)
    expect(project, 0)
    project.write("src/late.h", "#define LATE 2\n")
    expect(project, 3)


def test_lint_keeps_no_failure(project):
    """What fails is run and told each time, by name; what passes beside it is kept."""
    project.write("src/alone.c", "int alone(void);\nint alone(void)\n{\n    return 2;\n}\n")
    project.write("tests/tool.py", "import os\n")
    for _ in range(2):
        status, (passed, failed), _, output = project.lint()
        assert (status, failed) == (1, 2), output
        assert passed == project.CHECKS + len(project.FILES) - 2
        assert "clang-format: src/alone.c\n" in output
        assert "pyflakes: tests/tool.py\n" in output and "'os' imported but unused" in output


@pairs.only_full
def test_lint_keeps_nothing_of_a_file_that_changes_meanwhile(project, tmp_path):
    """Whatever the tool has seen, it need not be what the key was made of."""
    tools = tmp_path / "bin"
    tools.mkdir()
    source = project.home / "src/alone.c"
    (tools / "cppcheck").write_text(f"""#!/bin/bash
[ "${{*: -1}}" != src/alone.c ] || [ -e {tmp_path}/done ] ||
	{{ echo >>{source}; touch {tmp_path}/done; }}
""")
    (tools / "cppcheck").chmod(0o755)
    project.env["PATH"] = f"{tools}:{project.env['PATH']}"
    expect(project, 2)
    assert source.read_text() == project.FILES["src/alone.c"] + "\n"
    source.write_text(project.FILES["src/alone.c"])
    expect(project, 1)
    expect(project, 0)


@pytest.mark.parametrize("damage", pairs.few([b"", b"lint", b"passed\n", None], b"lint"))
def test_lint_runs_what_it_has_no_whole_note_of(project, damage):
    notes = sorted((project.cache / "lint").iterdir())
    assert len(notes) == project.CHECKS
    if damage is None:
        notes[0].unlink()
    else:
        notes[0].write_bytes(damage)
    status, counts, before, output = project.lint()
    assert (status, counts[1], before) == (0, 0, project.CHECKS - 1), output
    assert (f"tests/cache.sh: lint/{notes[0].name} is damaged: removed" in output) == \
        (damage is not None)
    if pairs.is_full():
        expect(project, 0)


# Test apps ------------------------------------------------------------------------------------


SDK = """#!/bin/bash
# Says what it is asked to, and notes each publish.
case $1 in
--list-sdks) echo "${FAKE_SDK:-10.0.100} [/sdk]"; exit ;;
esac
echo "$*" >>"$FAKE_LOG"
while [ $# -gt 0 ]; do
	[ "$1" != -o ] || out=$2
	shift
done
mkdir -p "$out"
[ -z "${FAKE_FAILS:-}" ] || exit 1
printf 'program' >"$out/sleeper"
chmod +x "$out/sleeper"
printf 'library' >"$out/sleeper.dll"
"""


class Apps:
    """A clone with tests/apps/build and an SDK that only pretends."""

    def __init__(self, home, name="clone"):
        self.home = home / name
        self.log = home / "log"
        self.log.touch()
        self.cache = home / "cache"
        (self.home / "tests/apps").mkdir(parents=True)
        (self.home / "tests/helpers").mkdir()
        for script in ("tests/sdk.sh", "tests/apps/build", "tests/helpers/__init__.py", "tests/helpers/cache.py",
                       "tests/apps/Directory.Build.props", "tests/apps/Directory.Build.targets"):
            shutil.copy(machine.TREE / script, self.home / script)
        shutil.copytree(machine.TREE / "tests/apps/sleeper", self.home / "tests/apps/sleeper",
                        ignore=shutil.ignore_patterns("bin", "obj"))
        (home / "bin").mkdir(exist_ok=True)
        (home / "bin/dotnet").write_text(SDK)
        (home / "bin/dotnet").chmod(0o755)
        self.env = os.environ | {"PLACE_PROBE_CACHE": str(self.cache), "FAKE_LOG": str(self.log),
                                 "PATH": f"{home}/bin:{os.environ['PATH']}"}

    def build(self, expected=0, **extra):
        """How many publishes it took."""
        before = len(self.log.read_text().splitlines())
        result = subprocess.run(["tests/apps/build", "sleeper"], cwd=self.home, text=True,
                                env=self.env | extra, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
        assert result.returncode == expected, result.stdout
        self.said = result.stdout
        return len(self.log.read_text().splitlines()) - before

    @property
    def entry(self):
        return next((self.cache / "apps").iterdir())


def test_app_is_published_once_for_all_clones(tmp_path):
    one, other = Apps(tmp_path), Apps(tmp_path, "other")
    assert [one.build(), one.build(), other.build(), other.build()] == [1, 0, 0, 0]
    assert listing(one.home / "build/apps/sleeper") == listing(other.home / "build/apps/sleeper")
    assert os.access(other.home / "build/apps/sleeper/sleeper", os.X_OK)


@pytest.mark.parametrize("changed", pairs.few(
    ["tests/apps/Directory.Build.props", "tests/apps/build", "tests/apps/Directory.Build.targets",
     "tests/apps/sleeper/Program.cs", "tests/apps/sleeper/sleeper.csproj"],
    "tests/apps/Directory.Build.targets", "tests/apps/sleeper/Program.cs"))
def test_app_is_published_again_when_anything_changes(tmp_path, changed):
    app = Apps(tmp_path)
    assert app.build() == 1
    path = app.home / changed
    text = path.read_text()
    path.write_text(text + "\n")
    assert app.build() == 1
    # Of what was before there is an entry still.
    path.write_text(text)
    assert app.build() == 0
    assert app.build(FAKE_SDK="10.0.200") == 1


def cut_off(entry):
    os.truncate(entry / "content/sleeper.dll", 3)


@pytest.mark.parametrize("damage", pairs.few([
    cut_off,
    lambda entry: (entry / "content/sleeper").unlink(),
    lambda entry: os.truncate(entry / "manifest", 10)], cut_off))
def test_damaged_app_is_published_again(tmp_path, damage):
    app = Apps(tmp_path)
    app.build()
    damage(app.entry)
    shutil.rmtree(app.home / "build")
    assert app.build() == 1
    assert "is damaged: removed" in app.said
    assert (app.home / "build/apps/sleeper/sleeper.dll").read_text() == "library"
    shutil.rmtree(app.home / "build")
    assert app.build() == 0


def test_failed_publish_is_not_kept(tmp_path):
    app = Apps(tmp_path)
    assert app.build(expected=1, FAKE_FAILS="1") == 1
    assert list((app.cache / "apps").iterdir()) == []
    assert app.build() == 1
