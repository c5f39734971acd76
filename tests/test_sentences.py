# SPDX-License-Identifier: GPL-2.0-or-later
"""Each sentence by which a failure is reported, or something that is not as it should be, says what to do next."""

import fnmatch
import pathlib
import re

import pytest

from helpers import machine

pytestmark = [pytest.mark.beside, pytest.mark.anyone]

SOURCES = machine.TREE / "src"
CALL = re.compile(r"\b(?:error_set|error_fill|log_print)\(")
# Those of runtimes, which hand them to the log.
LINE = re.compile(CALL.pattern + r"|\btext_printf\(\s*line,|\btell\(\s*log,")
OF_RUNTIMES = {"runtime/dotnet/log.c", "runtime/v8/v8.c"}
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
OPTION = re.compile(r"(?<![\w-])(?:--([a-z][a-z-]+)|-([a-zA-Z]))(?![\w-])")
DO = re.compile(r"\b(ask|chmod|chown|end|give|have the|leave|list fewer|look for|look with|name another|name the file|"
                r"narrow|probe|publish|raise|read docs|run|see whether|see pgrep|set it|simplify|start|take it|"
                r"take a|time what|"
                r"use|wait for|write)\b|docs/\w+\.md")

# What needs none, as globs; each must be there. They are sentences...
NEEDS_NONE = {
    "with the kernel's reason, for what any process may do: that says which resource is exhausted": [
        "cannot see threads exit: %s", "cannot block signals: %s",
        "cannot open a signalfd: %s", "cannot wait for events: %s", "cannot note that the page of *: %s",
        "cannot map the BPF programs' tables: %s", "cannot tell the programs of new probes: %s",
        "cannot wait for the ring buffer: %s", "cannot map the ring buffer*: %s", "cannot open the BPF object: %s",
        "cannot start a thread: %s", "cannot open a pipe: %s", "cannot fill a BPF map: %s",
        "cannot open our own executable: %s", "cannot handle SIGTRAP: %s", "cannot note the breakpoint at *: %s",
        "cannot tell how many CPUs there are: %s", "cannot try a uprobe on code of our own: %s",
        "cannot look for the thread that probes hang on: %s", "cannot list the processes in /proc: %s",
        "cannot start '%s': %s", "cannot open a pidfd of process %d: %s", "cannot hold process %d once more: %s",
        "cannot look at the threads of process %d: %s", "cannot read the PID namespace of process %d: %s",
        "it cannot be read: %s", "it cannot be opened: %s",
        "the record %s is not whole: %s", "the record %s ends here, *", "no memory*"],
    "of which the kernel's reason, or refusal_remedy(), is what to do": [
        "the kernel refuses BPF programs (%s): %s", "the kernel refuses hardware breakpoints (%s): %s",
        "process %d%s%s%s may not be looked at: *", "cannot read %s of process %d: %s",
        "cannot open the program of process %d (%s): %s", "cannot stat /%s: %s", "/%s of the target is not used: %s"],
    "that name the values that there are": ["--%s takes %s, not '%s'"],
    "that are made of others": ["", "%s", "%s: %s", "%s: %s; %s", "lower bound: %s", "lost: %N %s",
                                "%s '%s%.*s%s': at character %zu %s",
                                "process %d (%s): %s", "%s: %N bad row%s in all", "%s%s"],
    "that nobody is told, since the lines of the script itself are shown in their place": [
        "the source map is not understood: %s"],
    "that say how it goes": [
        "a probe takes the target about %s at an entry and %s at an exit; *", "attached *",
        "asking the servers of DEBUGINFOD_URLS for debug files", "serving %s",
        "mapped 0x%N-*", "asked for: %s", "%N hits of %d (%s)%s%s", "recorded at *",
        "removing the probes takes about %u s", "%s [[]%s] at 0x%N: *", "%s is loaded: %u site%s, *",
        "%zu compilation%s followed: *", "longest hold %N us", "%zu bod%s moved to uprobes",
        "its mapping of code compiled at run time is private until the end, *", "%N hits in %.1f s%s%s",
        "%N hit%s found the kernel's table of stacks full, *", "%N call%s ended that had begun before *",
        "no .NET runtime, %zu file%s", ".NET %u.%u.%u%s, *", "%s: %s, %N method%s of %s",
        "%s: %N method%s where no *", "%s: %N method%s another name *", "%s:%N: %s", "V8 %u.%u.%u.%u in %s",
        "%zu asynchronous method%s followed as a whole", "what was compiled last keeps its debug registers: %s"],
    "that say which name is missing: the lines after it have the closest names, and the last one what to do": [
        "no method matches '%s'%s", "and it is no method's name: %s"],
}

# ... or parts of sentences, which never stand alone: which one they are part of. That one is held to say what to do.
PARTS = {
    "; docs/record.md says what is read of such a record": [
        "it ends *: *", "it ends within its header", "it is damaged: *"],
    "of the target cannot be read in full, ": [
        "entry %zu of the bundle is damaged", "bundle entry * lies outside the file",
        "the bundle's manifest is damaged",
        "not a PE file: *", "the PE file *", "the metadata*", "metadata table *", "Native* is damaged",
        "its code is not for Linux on *", "ReadyToRun version %u.%u is not known", "its table* of *",
        "the header of its component %u is damaged", "it says it has %u components", "it has no ReadyToRun header",
        "its inlining info%s%s is damaged*"],
    "code compiled at run time is not found": [
        "the runtime exports no way to its map of code ranges", "the runtime's *", "the runtime has no contract *"],
    "JavaScript frames have no names": [
        "process %d (%s) has no V8 in it", "the code of V8 is not mapped", "it is no 64-bit ELF file",
        "there is no version of V8 in it"],
    " (run again to have them): %s": [
        "the target has not loaded %s", "the target has not loaded %s, and %s", "%s cannot be read: %s",
        "%s was deleted", "there is no %s", "no runtime that could be followed is known"],
    "of the target cannot be read, ": [
        "cannot stat %s: %s", "%s is no regular file", "%s is empty", "cannot map %s: %s",
        "cannot open %s of process %d: %s",
        "%s of process %d is too large to read"],
}


def arguments(text, start):
    """What stands between a parenthesis, which ends before `start`, and the one that closes it."""
    depth, at = 1, start
    while depth:
        string = STRING.match(text, at)
        depth += {"(": 1, ")": -1}.get(text[at], 0) if not string else 0
        at = string.end() if string else at + 1
    return text[start:at - 1]


def sentences():
    """All of the sources: (file, sentence), of which %N is any number."""
    for path in sorted(SOURCES.rglob("*.c")):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL).replace("'\"'", "0").replace("')'", "0")
        name = str(path.relative_to(SOURCES))
        for call in (LINE if name in OF_RUNTIMES else CALL).finditer(text):
            # Of several, in the branches of a condition, each has to do it.
            words = re.sub(r'%"\s*PRI\w+\s*"', "%N", arguments(text, call.end()))
            words = re.sub(r'"\s+"', "", words).replace('%" PRIu64', '%N"')
            strings = STRING.findall(words)
            yield name, strings[0].replace('\\"', '"') if strings else "", strings[1:]


SENTENCES = list(sentences())


def options_of_help():
    found = re.findall(r"\{ (?:'(\w)'|OPT_\w+), \"([\w-]+)\"", (SOURCES / "cli/entries.c").read_text())
    return {word for pair in found for word in pair if word}


def says_what_to_do(*texts):
    return any(DO.search(text) or OPTION.search(text) for text in texts)


def listed(sentence):
    return [glob for globs in [*NEEDS_NONE.values(), *PARTS.values()] for glob in globs
            if fnmatch.fnmatchcase(sentence, glob)]


def test_there_are_sentences():
    assert len(SENTENCES) > 300


@pytest.mark.parametrize("room", sorted({str(pathlib.Path(path).parent) for path, *_ in SENTENCES}))
def test_each_says_what_to_do(room):
    silent = [f"{path}: {sentence}" for path, sentence, more in SENTENCES
              if str(pathlib.Path(path).parent) == room
              and not says_what_to_do(sentence, *more) and not listed(sentence)]
    assert silent == []


def test_options_that_are_named_exist():
    unknown = {(path, name) for path, *texts, more in SENTENCES for text in [*texts, *more]
               for pair in OPTION.findall(text) for name in pair if name and name not in options_of_help()}
    # Those of the shell.
    assert {name for _, name in unknown} <= {"n", "l", "w"}, unknown


def test_nothing_is_listed_in_vain():
    there = [sentence for _, sentence, _ in SENTENCES]
    for globs in [*NEEDS_NONE.values(), *PARTS.values()]:
        for glob in globs:
            assert [s for s in there if fnmatch.fnmatchcase(s, glob)], f"no sentence is like '{glob}'"


@pytest.mark.parametrize("whole", PARTS)
def test_parts_are_of_what_says_what_to_do(whole):
    found = [(sentence, *more) for _, sentence, more in SENTENCES if whole in sentence]
    assert found and all(says_what_to_do(*texts) for texts in found), found
