// SPDX-License-Identifier: GPL-2.0-or-later
// Many methods that are called all the time, at rates of their own, and count that themselves.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Timed;

internal static class Crowd
{
    // The first ones are called in each round, the next four in one of so many, the last four never.
    private const int Often = 12, Seldom = 4, SeldomEach = 16;

    private static readonly long[] Counts = new long[Often + Seldom];
    private static readonly List<Thread> Threads = new();
    private static volatile bool halting;

    /// <summary>Have threads call them all until Halt(); a round takes at least so long.</summary>
    public static void Run(int threads, int microseconds)
    {
        halting = false;
        for (int i = 0; i < threads; i++)
        {
            var thread = new Thread(() => Rounds(microseconds)) { IsBackground = true, Name = "crowd" };
            Threads.Add(thread);
            thread.Start();
        }
    }

    public static void Halt()
    {
        halting = true;
        Threads.ForEach(thread => thread.Join());
        Threads.Clear();
    }

    /// <summary>How often each was called so far.</summary>
    public static string Truth() => string.Join(' ', Counts.Select(count => count.ToString()));

    private static void Rounds(int microseconds)
    {
        for (int round = 0; !halting; round++)
        {
            long until = System.Diagnostics.Stopwatch.GetTimestamp() +
                microseconds * System.Diagnostics.Stopwatch.Frequency / 1000000;
            Ada(Bo(Cal(Dee(Eve(Fay(Gus(Hal(Ida(Jo(Kit(Lou(round))))))))))));
            if (round % SeldomEach == 0)
            {
                Max(Ned(Oz(Pat(round))));
            }
            if (round < 0)
            {
                Una(Val(Wes(Zoe(round))));
            }
            while (System.Diagnostics.Stopwatch.GetTimestamp() < until)
            {
                Thread.Sleep(0);
            }
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Ada(int x)
    {
        Interlocked.Increment(ref Counts[0]);
        return x + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Bo(int x)
    {
        Interlocked.Increment(ref Counts[1]);
        return x + 2;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Cal(int x)
    {
        Interlocked.Increment(ref Counts[2]);
        return x + 3;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Dee(int x)
    {
        Interlocked.Increment(ref Counts[3]);
        return x + 4;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Eve(int x)
    {
        Interlocked.Increment(ref Counts[4]);
        return x + 5;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Fay(int x)
    {
        Interlocked.Increment(ref Counts[5]);
        return x + 6;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Gus(int x)
    {
        Interlocked.Increment(ref Counts[6]);
        return x + 7;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Hal(int x)
    {
        Interlocked.Increment(ref Counts[7]);
        return x + 8;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Ida(int x)
    {
        Interlocked.Increment(ref Counts[8]);
        return x + 9;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Jo(int x)
    {
        Interlocked.Increment(ref Counts[9]);
        return x + 10;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Kit(int x)
    {
        Interlocked.Increment(ref Counts[10]);
        return x + 11;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Lou(int x)
    {
        Interlocked.Increment(ref Counts[11]);
        return x + 12;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Max(int x)
    {
        Interlocked.Increment(ref Counts[12]);
        return x + 13;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Ned(int x)
    {
        Interlocked.Increment(ref Counts[13]);
        return x + 14;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Oz(int x)
    {
        Interlocked.Increment(ref Counts[14]);
        return x + 15;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Pat(int x)
    {
        Interlocked.Increment(ref Counts[15]);
        return x + 16;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Una(int x) => x + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Val(int x) => x + 2;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Wes(int x) => x + 3;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Zoe(int x) => x + 4;
}
