// SPDX-License-Identifier: GPL-2.0-or-later
// Code that is there to lie behind other code.
using System;
using System.Runtime.CompilerServices;

namespace Asynced;

internal static class Other
{
    private const int Depth = 8;

    private static readonly Action<int>[] Kinds =
    {
        Compile<byte>, Compile<short>, Compile<int>, Compile<long>, Compile<float>, Compile<double>,
    };

    /// <summary>Has some hundred bodies compiled.</summary>
    public static void Fill(int number) => Kinds[number](Depth);

    // Each instantiation has a body of its own.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Compile<T>(int depth)
    {
        if (depth > 0)
        {
            Compile<Left<T>>(depth - 1);
            Compile<Right<T>>(depth - 1);
        }
    }

    private struct Left<T>
    {
    }

    private struct Right<T>
    {
    }
}
