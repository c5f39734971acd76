# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiler of precompiled images, and the maps it writes of them."""

import pathlib
import re
import shutil

import pytest

from helpers import machine

WORK = machine.BUILD / "crossgen2"
PROJECT = """<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup><TargetFramework>net10.0</TargetFramework></PropertyGroup>
  <ItemGroup>{}</ItemGroup>
</Project>
"""
CROSSGEN2 = "microsoft.netcore.app.crossgen2.linux-x64"
RUNTIME = "microsoft.netcore.app.runtime.linux-x64"
PACKAGES = {10: [(CROSSGEN2, "10.0.12")], 8: [(CROSSGEN2, "8.0.30"), (RUNTIME, "8.0.31")]}


def restore(release):
    """Fetch the packages of a release with the SDK's own means. Returns {id: directory}."""
    project = WORK / f"packages-{release}"
    project.mkdir(parents=True, exist_ok=True)
    references = "".join(f'<PackageDownload Include="{name}" Version="[{version}]" />'
                         for name, version in PACKAGES[release])
    (project / "fetch.csproj").write_text(PROJECT.format(references))
    found = {name: WORK / "packages" / name / version for name, version in PACKAGES[release]}
    if not all(path.is_dir() for path in found.values()):
        if not shutil.which("dotnet"):
            pytest.skip("there is no .NET 10 SDK")
        result = machine.run("dotnet", "restore", "--packages", WORK / "packages",
                             project / "fetch.csproj", check=False, timeout=300)
        missing = re.search(r"NU1(101|102|103|301): .*", result.stdout)
        if missing:
            pytest.skip(f"a package cannot be had: {missing[0]}")
        assert result.returncode == 0, result.stdout
    return found


def framework_10():
    for line in machine.run("dotnet", "--list-runtimes").stdout.splitlines():
        found = re.fullmatch(r"Microsoft\.NETCore\.App (10\.\S+) \[(.*)\]", line)
        if found:
            return pathlib.Path(found[2]) / found[1]
    pytest.skip("there is no .NET 10 runtime")


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
        """Returns the image and the map."""
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        composite = "--composite" in options
        image = out / ("all.r2r.dll" if composite else inputs[0].name)
        references = {self.framework} | {path.parent for path in inputs}
        machine.run(self.program, *inputs, "-o", image,
                    *(word for path in references for word in ("-r", path / "*.dll")),
                    "--targetos", "linux", "--targetarch", "x64", "-O", "--parallelism", threads,
                    "--perfmap", "--perfmap-format-version", "1", *options, timeout=600)
        return image, next(out.glob("*.r2rmap"))
