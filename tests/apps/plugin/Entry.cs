// SPDX-License-Identifier: GPL-2.0-or-later
// What a host that has loaded this assembly can ask for.
using System;

namespace Plugin
{
    public static class Entry
    {
        /// <summary>Run something; but for tallies what it returns says only that it has run.</summary>
        public static long Run(string what, int number) => what switch
        {
            "menagerie" => Menagerie.Visit(),
            // Alone, since a perf map gets the rows of such names wrong.
            "unicode" => Shapes.Größe("zwei"),
            "made" => Made.Make(number),
            "framework" => Framework.Use(),
            "assemblies" => Framework.Load(number),
            "mass" => Mass.Many(0, number),
            "tally" => Tally.Plain(number, 0),
            "tally-threads" => Tally.Plain(number, 4),
            "tally-generic" => Tally.Generic(number),
            "more" => Mass.Some(number),
            _ => throw new ArgumentException(what),
        };
    }
}
