# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes in which JavaScript and .NET call each other, and what they say themselves of each of their stacks:
tests/apps/mixed."""

import dataclasses
import json
import pathlib
import shutil

from . import apps, cache, machine, node, v8

APP = machine.TREE / "tests/apps/mixed/mixed.js"
PACKAGE = machine.TREE / "tests/apps/mixed/node-api-dotnet"


def dotnet_root(build_app, dotnet):
    """Where a runtime of .NET 8 or 10 is installed: 10 on the machine, 8 beside the app."""
    if dotnet == 10:
        return pathlib.Path(shutil.which("dotnet")).resolve().parent
    return build_app(f"mixed{dotnet}").parent / "dotnet"


def libnode():
    """The directory that a process has to be in for its libnode to find its scripts."""
    path = cache.where() / "libnode-108/lib"
    if not (path / "libnode.so.108").exists():
        raise apps.Unavailable(f"there is no {path}: run tests/setup")
    return path


def packages():
    """The node_modules with node-api-dotnet."""
    path = cache.where() / f"node-api-dotnet-{PACKAGE.read_text().strip()}" / "node_modules"
    if not path.exists():
        raise apps.Unavailable(f"there is no {path}: run tests/setup")
    return path


@dataclasses.dataclass(frozen=True)
class Chain:
    """A thread and what it has noted of one of its stacks, innermost first: ("dotnet", TYPE::METHOD) or
    ("v8", v8.Frame)."""
    thread: int
    frames: tuple


def chains_of(file):
    thread, *lines = file.read_text().splitlines()
    read = {"js": lambda text: ("v8", v8.oracle_frame(text)), "dotnet": lambda text: ("dotnet", text)}
    return [Chain(int(thread), tuple(read[engine](text) for engine, texts in json.loads(line) for text in texts))
            for line in lines]


class Mixed:
    """A running one."""

    def __init__(self, app, directory):
        self.app = app
        self.directory = directory
        self.pid = app.pid

    def run(self, end, levels, calls, where):
        """Make chains; returns those of each thread."""
        file = self.directory / f"chains-{end}"
        files = {"main": [file], "worker": [pathlib.Path(f"{file}.worker")]}
        files["both"] = files["main"] + files["worker"]
        made = int(self.app.ask(f"run {end} {levels} {calls} {where} {file}", "ran")[1])
        chains = [chains_of(one) for one in files[where]]
        assert made == calls * len(chains) == sum(map(len, chains)), f"{made} chains were made"
        return chains


def start(start_app, build_app, how, version, dotnet, directory, flags=(), tiered=True, crowd=None):
    """Node of a version, or with None a .NET process that hosts one, in which .NET is hosted by `how`. The latter takes
    addresses first so that libnode is mapped below one whose lower half is `crowd`."""
    assembly = build_app(f"mixed{dotnet}").with_suffix(".dll")
    root = dotnet_root(build_app, dotnet)
    extra = {"DOTNET_ROOT": str(root)}
    if crowd is not None:
        extra["MIXED_CROWD"] = f"{crowd:x}"
    options = {"tiered": tiered, "extra": extra}
    if how == "package":
        before = [node.program(version), *flags, APP, "package", packages(), f"net{dotnet}.0"]
        return Mixed(start_app("mixed", executable=assembly, before=before, **options), directory)
    addon = build_app("mixed")
    if version is None:
        extra["LD_LIBRARY_PATH"] = str(libnode())
        return Mixed(start_app(f"mixed{dotnet}", after=[addon, *flags, APP, "addon", addon], cwd=libnode(), **options),
                     directory)
    hostfxr = max((root / "host/fxr").glob("*/libhostfxr.so"))
    before = [node.program(version), *flags, APP, "addon", addon, hostfxr, assembly.with_suffix(".runtimeconfig.json")]
    return Mixed(start_app("mixed", executable=assembly, before=before, **options), directory)
