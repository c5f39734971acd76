# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced: is there a .NET SDK that builds the test apps, and what to say if not.

# Print the version of the newest .NET SDK of 10 or later; fails if there is none.
sdk_version()
{
	local newest
	newest=$(dotnet --list-sdks 2>/dev/null | cut -d' ' -f1 | sort -V | tail -n 1)
	[ "${newest%%.*}" -ge 10 ] 2>/dev/null && echo "$newest"
}

sdk_missing()
{
	echo "The .NET 10 SDK is neither on PATH nor in apt: get it from" \
		"https://dotnet.microsoft.com/download/dotnet/10.0 (or add Microsoft's apt source)" \
		"and run this again."
}
