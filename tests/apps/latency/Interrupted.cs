// SPDX-License-Identifier: GPL-2.0-or-later
// Threads that are interrupted by collections all the time, in methods that keep as much in their frames as they
// can: what is written into the wrong word of a stack makes a wrong number, or the end.
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Timed;

internal static class Interrupted
{
    private static long calls, wrong;
    private static volatile bool on;

    /// <summary>How often Work was called, how often what came of it was wrong, and how many collections there were.</summary>
    public static string Run(int milliseconds, int threads)
    {
        calls = wrong = 0;
        on = true;
        int before = GC.CollectionCount(0);
        var all = new Thread[threads];
        for (int i = 0; i < threads; i++)
        {
            int first = i;
            all[i] = new Thread(() => Call(first));
            all[i].Start();
        }
        for (var time = Stopwatch.StartNew(); time.ElapsedMilliseconds < milliseconds;)
        {
            GC.Collect(0);
        }
        on = false;
        Array.ForEach(all, thread => thread.Join());
        return $"{calls} {wrong} {GC.CollectionCount(0) - before}";
    }

    private static void Call(int i)
    {
        long called = 0, failed = 0;
        for (; on; i++, called++)
        {
            failed += Outermost(i, i ^ 77, i + 5) == Expected(i, i ^ 77, i + 5) ? 0 : 1;
        }
        Interlocked.Add(ref calls, called);
        Interlocked.Add(ref wrong, failed);
    }

    private static int Expected(int a, int b, int c) =>
        unchecked((a * 6 + b * 9 + c * 15 + 10 + a + b + c) * 2 + (a ^ b) + (b ^ c) + (a ^ c) + (a | b) + (b | c) + (a | c) +
                  (a & b) + (b & c) + (a & c) + a + b + c);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Leaf(int x) => unchecked(x * 3 + 1);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Work(int a, int b, int c)
    {
        int x = Leaf(a), y = Leaf(b), z = Leaf(c);
        return unchecked(x * 2 + y * 3 + z * 5 + a + b + c);
    }

    // Frames as large as that of Work lie where another's return address would be.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Outer(int a, int b, int c)
    {
        int x = Work(a, b, c);
        return unchecked(x + Leaf(a) + a + b + c - Leaf(a) - a - b - c);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Outermost(int a, int b, int c)
    {
        int d = a ^ b, e = b ^ c, f = a ^ c, g = a | b, h = b | c, i = a | c, j = a & b, k = b & c, l = a & c;
        int x = Outer(a, b, c);
        return unchecked(x * 2 + d + e + f + g + h + i + j + k + l + a + b + c);
    }
}
