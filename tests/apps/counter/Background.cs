// SPDX-License-Identifier: GPL-2.0-or-later
// What goes on beside the commands: calls without end, and a clock that notes when it stood still.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Counted;

internal static class Background
{
    private static readonly List<Thread> Callers = new();
    private static volatile bool halting;
    private static Thread? watcher;
    private static volatile bool watching;
    private static long longest;
    private static long pauses;

    /// <summary>Have threads make calls until Halt(); returns once some have been made.</summary>
    public static void Run(string kind, int threads)
    {
        const int atOnce = 20;
        halting = false;
        long before = Caller.Count(kind);
        for (int i = 0; i < threads; i++)
        {
            var thread = new Thread(() =>
            {
                while (!halting)
                {
                    Caller.Here(kind, atOnce);
                }
            })
            { IsBackground = true, Name = $"runner-{kind}" };
            Callers.Add(thread);
            thread.Start();
        }
        SpinWait.SpinUntil(() => Caller.Count(kind) > before);
    }

    /// <summary>End them all, and return how many threads there were.</summary>
    public static int Halt()
    {
        halting = true;
        Callers.ForEach(thread => thread.Join());
        int count = Callers.Count;
        Callers.Clear();
        return count;
    }

    /// <summary>Look at the clock all the time; returns once that is being done.</summary>
    public static void Watch()
    {
        Interlocked.Exchange(ref longest, 0);
        Interlocked.Exchange(ref pauses, 0);
        using var begun = new ManualResetEventSlim();
        watching = true;
        watcher = new Thread(() => Look(begun)) { IsBackground = true, Name = "watcher" };
        watcher.Start();
        begun.Wait();
    }

    /// <summary>The longest time, in microseconds, between two looks, and how often it was over 1 ms.</summary>
    public static (long Microseconds, long Pauses) Seen()
    {
        watching = false;
        watcher!.Join();
        return (longest * 1000000 / Stopwatch.Frequency, pauses);
    }

    // Compiled once: it shall not stand still for its own sake.
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    private static void Look(ManualResetEventSlim begun)
    {
        begun.Set();
        long before = Stopwatch.GetTimestamp();
        do
        {
            long now = Stopwatch.GetTimestamp();
            long gap = now - before;
            before = now;
            longest = Math.Max(longest, gap);
            pauses += gap > Stopwatch.Frequency / 1000 ? 1 : 0;
        }
        while (watching);
    }
}
