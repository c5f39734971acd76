// SPDX-License-Identifier: GPL-2.0-or-later
// Methods that take a known time, and their callers.
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Timed;

internal static class Work
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Spin(int microseconds)
    {
        long began = Truth.Enter(Method.Spin);
        while (Stopwatch.GetTimestamp() - began < microseconds * 1000L)
        {
        }
        Truth.Leave(Method.Spin, began);
        return microseconds;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Nap(int milliseconds)
    {
        long began = Truth.Enter(Method.Nap);
        Thread.Sleep(milliseconds);
        Truth.Leave(Method.Nap, began);
        return milliseconds;
    }

    /// <summary>Returns from many places.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static string? Early(int way, string text)
    {
        long began = Truth.Enter(Method.Early);
        if (way == 0)
        {
            Truth.Leave(Method.Early, began);
            return null;
        }
        if (way == 1)
        {
            Truth.Leave(Method.Early, began);
            return text;
        }
        for (int i = 2; i < 6; i++)
        {
            if (way == i)
            {
                Truth.Leave(Method.Early, began);
                return text[i..];
            }
        }
        try
        {
            if (way == 6)
            {
                Truth.Leave(Method.Early, began);
                return "";
            }
        }
        finally
        {
            GC.KeepAlive(text);
        }
        Truth.Leave(Method.Early, began);
        return text.ToUpperInvariant();
    }

    /// <summary>
    /// Its last call may be a jump, and then it is over before what it calls begins. Not so with
    /// NoInlining: it is only called by way of a delegate.
    /// </summary>
    public static int Tail(int x)
    {
        long began = Truth.Enter(Method.Tail);
        Truth.Leave(Method.Tail, began);
        return Tailed(x + 1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Tailed(int x)
    {
        long began = Truth.Enter(Method.Tailed);
        Truth.Leave(Method.Tailed, began);
        return x * 2;
    }

    /// <summary>As many returns as the compiler does not yet make one of.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Ways(int way)
    {
        long began = Truth.Enter(Method.Ways);
        Truth.Leave(Method.Ways, began);
        if (way == 0)
        {
            return Nap(way) + 1;
        }
        if (way == 1)
        {
            return Tailed(way) * 5;
        }
        if (way == 2)
        {
            return Tick(way) ^ 7;
        }
        return Recursion.Direct(way) - 3;
    }

    /// <summary>Short: what is called after the others, in finally blocks and the like.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Tick(int x)
    {
        long began = Truth.Enter(Method.Tick);
        Truth.Leave(Method.Tick, began);
        return x + 1;
    }

    /// <summary>What a filter asks.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static bool Judge(bool verdict)
    {
        long began = Truth.Enter(Method.Judge);
        Truth.Leave(Method.Judge, began);
        return verdict;
    }
}

internal static class Recursion
{
    /// <summary>How long the work at each depth takes.</summary>
    public static int Microseconds { get; set; } = 2;

    // So that durations differ.
    private static void Pass()
    {
        long began = Stopwatch.GetTimestamp();
        while (Stopwatch.GetTimestamp() - began < Microseconds * 1000L)
        {
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Direct(int depth)
    {
        long began = Truth.Enter(Method.Direct);
        Pass();
        int result = depth <= 1 ? 1 : 1 + Direct(depth - 1);
        Truth.Leave(Method.Direct, began);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Ping(int depth)
    {
        long began = Truth.Enter(Method.Ping);
        Pass();
        int result = depth <= 1 ? 1 : 1 + Pong(depth - 1);
        Truth.Leave(Method.Ping, began);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Pong(int depth)
    {
        long began = Truth.Enter(Method.Pong);
        Pass();
        int result = depth <= 1 ? 1 : 1 + Ping(depth - 1);
        Truth.Leave(Method.Pong, began);
        return result;
    }
}

/// <summary>Two that call the same; they are not timed themselves.</summary>
internal static class Callers
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int First(int microseconds)
    {
        long before = Truth.Now();
        int result = Work.Spin(microseconds);
        Truth.Around(Method.Spin, before);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Second(int microseconds)
    {
        long before = Truth.Now();
        int result = Work.Spin(microseconds);
        Truth.Around(Method.Spin, before);
        before = Truth.Now();
        result += Work.Spin(microseconds);
        Truth.Around(Method.Spin, before);
        return result;
    }
}
