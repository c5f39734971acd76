# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiler of precompiled images, and the maps it writes of them."""

import functools
import pathlib
import re
import shutil

import pytest

from helpers import cache, machine

WORK = machine.BUILD / "crossgen2"
PROJECT = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup><TargetFramework>net10.0</TargetFramework></PropertyGroup>
  <ItemGroup>{}</ItemGroup>
</Project>
"""
CROSSGEN2 = "microsoft.netcore.app.crossgen2.linux-x64"
RUNTIME = "microsoft.netcore.app.runtime.linux-x64"
PACKAGES = {10: [(CROSSGEN2, "10.0.12")], 8: [(CROSSGEN2, "8.0.30"), (RUNTIME, "8.0.31")]}


def is_whole(package):
    """What NuGet writes last is there."""
    return (package / ".nupkg.metadata").is_file()


def restore(release):
    """Fetch the packages of a release with the SDK's own means. Returns {id: directory}."""
    project = WORK / f"packages-{release}"
    project.mkdir(parents=True, exist_ok=True)
    references = "".join(f'<PackageDownload Include="{name}" Version="[{version}]" />'
                         for name, version in PACKAGES[release])
    (project / "fetch.csproj").write_text(PROJECT.format(references))
    found = {name: WORK / "packages" / name / version for name, version in PACKAGES[release]}
    if not shutil.which("dotnet"):
        pytest.skip("there is no .NET 10 SDK")
    missing = {name: path for name, path in found.items()
               if not is_whole(path) and not cache.get("packs", f"{name}.{path.name}", path)}
    if missing:
        result = machine.run("dotnet", "restore", "--packages", WORK / "packages",
                             project / "fetch.csproj", check=False, timeout=300)
        unavailable = re.search(r"NU1(101|102|103|301): .*", result.stdout)
        if unavailable:
            pytest.skip(f"a package cannot be had: {unavailable[0]}")
        assert result.returncode == 0, result.stdout
        for name, path in missing.items():
            cache.put("packs", f"{name}.{path.name}", path)
    return found


def build_il(project, out, *options):
    """Build a project below tests/apps into `out`, not precompiled; what has been built of the same
    sources before is taken as it is."""
    if not shutil.which("dotnet"):
        pytest.skip("there is no .NET 10 SDK")
    apps = machine.TREE / "tests/apps"
    sources = [path for path in sorted((apps / project.split("/")[0]).rglob("*"))
               if path.is_file() and not {"bin", "obj"} & set(path.relative_to(apps).parts)]
    # With the commit in it, an assembly would be another after each.
    options = ["-p:IncludeSourceRevisionInInformationalVersion=false", *options]
    key = cache.key(["build", project, machine.run("dotnet", "--list-sdks").stdout, *options],
                    [*sorted(apps.glob("Directory.Build.*")), *sources])
    if not cache.get("il", key, out):
        shutil.rmtree(out, ignore_errors=True)
        machine.run("dotnet", "build", apps / project, "-c", "Release", "-o", out,
                    "--artifacts-path", f"{out}-artifacts", *options, "-v", "quiet", "--nologo",
                    "-nodeReuse:false", "-p:UseSharedCompilation=false", timeout=300)
        cache.put("il", key, out)


def framework_10():
    for line in machine.run("dotnet", "--list-runtimes").stdout.splitlines():
        found = re.fullmatch(r"Microsoft\.NETCore\.App (10\.\S+) \[(.*)\]", line)
        if found:
            return pathlib.Path(found[2]) / found[1]
    pytest.skip("there is no .NET 10 runtime")


@functools.lru_cache
def state_of(*directories):
    """A hash of all that is in them."""
    return cache.key([], [path for directory in directories
                          for path in sorted(directory.iterdir()) if path.is_file()])


class Crossgen2:
    """One release of the compiler and the framework it compiles for."""

    def __init__(self, release):
        packages = restore(release)
        self.program = packages[CROSSGEN2] / "tools/crossgen2"
        self.program.chmod(0o755)
        if release == 10:
            self.framework = framework_10()
        else:
            self.framework = packages[RUNTIME] / "runtimes/linux-x64/lib/net8.0"

    def compile(self, out, inputs, *options, threads=2):
        """Returns the image and the map. What options have it write besides belongs into `out`."""
        composite = "--composite" in options
        image = out / ("all.r2r.dll" if composite else inputs[0].name)
        references = sorted({path.parent for path in inputs} - {self.framework})
        key = cache.key([state_of(self.program.parent, self.framework), threads, *options,
                         "of", *inputs],
                        [path for home in references for path in sorted(home.glob("*.dll"))])
        if not cache.get("crossgen", key, out):
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir(parents=True)
            machine.run(self.program, *inputs, "-o", image,
                        *(word for path in [self.framework, *references]
                          for word in ("-r", path / "*.dll")),
                        "--targetos", "linux", "--targetarch", "x64", "-O", "--parallelism", threads,
                        "--perfmap", "--perfmap-format-version", "1", *options, timeout=600)
            cache.put("crossgen", key, out)
        return image, next(out.glob("*.r2rmap"))
