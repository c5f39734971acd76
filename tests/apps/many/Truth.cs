// SPDX-License-Identifier: GPL-2.0-or-later
// What the methods say of themselves.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Many;

internal sealed class Thrown : Exception
{
}

internal static class Truth
{
    // A cache line each.
    public const int Apart = 8;
    public static readonly long[] Calls = new long[256 * Apart];

    public static IEnumerable<long> Counts() =>
        Enumerable.Range(0, Generated.Table.Length).Select(i => Volatile.Read(ref Calls[i * Apart]));

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Touch(int at) => Calls[at];

    public static long Caught(Func<int, long> call, int x)
    {
        try
        {
            return call(x);
        }
        catch (Thrown)
        {
            return -1;
        }
    }
}

/// <summary>
/// Calls of a millisecond and more. Each says how long it took at least, and its caller how long at most: however
/// often a thread loses its CPU, that holds.
/// </summary>
internal static class Timed
{
    private const int Number = 6;
    private static readonly long[] Calls = new long[Number];
    private static readonly long[] Took = new long[Number];
    private static readonly long[] Around = new long[Number];
    private static readonly Action[] Table = { T0, T1, T2, T3, T4, T5 };

    public static void Spin(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            long before = Stopwatch.GetTimestamp();
            Table[i % Number]();
            Interlocked.Add(ref Around[i % Number], Stopwatch.GetTimestamp() - before);
        }
    }

    public static IEnumerable<long> Totals() =>
        Enumerable.Range(0, Number).SelectMany(i => new[]
        {
            Volatile.Read(ref Calls[i]),
            (long)(Volatile.Read(ref Took[i]) * (1e9 / Stopwatch.Frequency)),
            (long)(Volatile.Read(ref Around[i]) * (1e9 / Stopwatch.Frequency)),
        });

    // In the method itself: what the probes take lies outside.
    private static void Note(int number, long began)
    {
        Interlocked.Increment(ref Calls[number]);
        Interlocked.Add(ref Took[number], Stopwatch.GetTimestamp() - began);
    }

    private static void Wait(int microseconds, long began)
    {
        while (Stopwatch.GetTimestamp() - began < microseconds * (Stopwatch.Frequency / 1000000))
        {
            Thread.SpinWait(20);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void T0()
    {
        long began = Stopwatch.GetTimestamp();
        Wait(1000, began);
        Note(0, began);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void T1()
    {
        long began = Stopwatch.GetTimestamp();
        Wait(1500, began);
        Note(1, began);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void T2()
    {
        long began = Stopwatch.GetTimestamp();
        Thread.Sleep(2);
        Note(2, began);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int T3Ways(int way)
    {
        long began = Stopwatch.GetTimestamp();
        Wait(1000 + way * 300, began);
        Note(3, began);
        if (way == 0)
        {
            return (int)Truth.Touch(0);
        }
        return way == 1 ? (int)Truth.Touch(8) + 1 : (int)Truth.Touch(16) * way;
    }

    private static void T3() => T3Ways(Environment.TickCount % 4);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void T4()
    {
        long began = Stopwatch.GetTimestamp();
        Thread.Sleep(5);
        Note(4, began);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void T5()
    {
        long began = Stopwatch.GetTimestamp();
        Wait(2500, began);
        Note(5, began);
    }
}
