// SPDX-License-Identifier: GPL-2.0-or-later
// What the timed methods know of themselves: each reads the clock in its first and its last statement. Some callers
// read it, too, before the call and after it: however often the thread has to wait, the call took no less than the
// one and no more than the other.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Timed;

/// <summary>All that is timed, by its own name.</summary>
internal enum Method
{
    Spin, Nap, Early, Tail, Tailed, Ways, Tick, Judge,
    Direct, Ping, Pong,
    Plain, Catching, Rethrowing, Replacing, Finally, Filter, Again, Throws,
}

/// <summary>What one thread has called.</summary>
internal sealed class Log
{
    public readonly long Tid;
    public readonly long[] Entered = new long[Enum.GetValues<Method>().Length];
    public readonly List<long>[] Took = Lists();
    public readonly List<long>[] Outside = Lists();

    public Log(long tid)
    {
        Tid = tid;
    }

    private static List<long>[] Lists() =>
        Array.ConvertAll(Enum.GetValues<Method>(), static _ => new List<long>(256));
}

internal static class Truth
{
    private const long SysGettid = 186;
    private static readonly List<Log> All = new();

    [ThreadStatic]
    private static Log? mine;

    [DllImport("libc", EntryPoint = "syscall")]
    private static extern long Syscall(long number);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Log Mine()
    {
        if (mine is null)
        {
            mine = new Log(Syscall(SysGettid));
            lock (All)
            {
                All.Add(mine);
            }
        }
        return mine;
    }

    /// <summary>A call begins, now. To be called before: Prepare().</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Enter(Method method)
    {
        long now = Stopwatch.GetTimestamp();
        Mine().Entered[(int)method]++;
        return now;
    }

    /// <summary>A call that began then returns.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Leave(Method method, long began)
    {
        Mine().Took[(int)method].Add(Stopwatch.GetTimestamp() - began);
    }

    public static long Now() => Stopwatch.GetTimestamp();

    /// <summary>Its caller says so: the call began after this, and has returned.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Around(Method method, long before)
    {
        Mine().Outside[(int)method].Add(Stopwatch.GetTimestamp() - before);
    }

    /// <summary>What is slow the first time must not be in a first call's duration.</summary>
    public static void Prepare() => Mine();

    /// <summary>Nothing was called yet, on no thread. None may be in a timed method.</summary>
    public static void Forget()
    {
        lock (All)
        {
            foreach (Log log in All)
            {
                Array.Clear(log.Entered);
                Array.ForEach(log.Took, list => list.Clear());
                Array.ForEach(log.Outside, list => list.Clear());
            }
        }
    }

    /// <summary>TID:ENTERED:NANOSECONDS,NANOSECONDS...:NANOSECONDS,... of each thread that has called it, within and outside.</summary>
    public static string Of(Method method)
    {
        lock (All)
        {
            return string.Join(' ', All.Where(log => log.Entered[(int)method] > 0).Select(log =>
                $"{log.Tid}:{log.Entered[(int)method]}:{string.Join(',', log.Took[(int)method])}:" +
                string.Join(',', log.Outside[(int)method])));
        }
    }
}
