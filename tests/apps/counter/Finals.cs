// SPDX-License-Identifier: GPL-2.0-or-later
// Methods that are never precompiled and compiled once, fully optimised: their first body is
// their last, so whoever counts its calls has counted all. Each counts its own calls.
using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Counted;

internal static class Finals
{
    private const MethodImplOptions Once =
        MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization;

    [MethodImpl(Once)]
    public static int Static(int x)
    {
        Interlocked.Increment(ref Truth.FinalStatic);
        return x + 1;
    }

    [MethodImpl(Once)]
    public static int Other(int x)
    {
        Interlocked.Increment(ref Truth.FinalOther);
        return x + 2;
    }

    [MethodImpl(Once)]
    public static int Text(string s)
    {
        Interlocked.Increment(ref Truth.FinalText);
        return s.Length;
    }

    [MethodImpl(Once)]
    public static int Throws(int x)
    {
        Interlocked.Increment(ref Truth.FinalThrows);
        if (x >= 0)
        {
            throw new InvalidOperationException("as asked");
        }
        return x;
    }

    [MethodImpl(Once)]
    public static int Finally(int x)
    {
        try
        {
            if ((Interlocked.Increment(ref Truth.FinalFinally) & 1) == 0)
            {
                throw new InvalidOperationException("as asked");
            }
            return x;
        }
        catch (InvalidOperationException)
        {
            return -x;
        }
        finally
        {
            GC.KeepAlive(Truth.FinalFinally);
        }
    }

    [MethodImpl(Once)]
    public static int Recurse(int depth)
    {
        Interlocked.Increment(ref Truth.FinalRecurse);
        return depth <= 1 ? 1 : 1 + Recurse(depth - 1);
    }

    [MethodImpl(Once)]
    public static T Same<T>(T value)
    {
        Interlocked.Increment(ref typeof(T) == typeof(int) ? ref Truth.FinalInt : ref Truth.FinalRef);
        return value;
    }

    /// <summary>
    /// Nothing but a loop, so that its first instruction may be where the loop jumps to. It counts
    /// no calls, only turns: the caller counts for it.
    /// </summary>
    [MethodImpl(Once)]
    public static void Turn(ref long turns, long times)
    {
        do
        {
            turns++;
        }
        while (--times > 0);
    }
}

internal sealed class Final : IShape
{
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    public int Name(int x)
    {
        Interlocked.Increment(ref Truth.FinalInterface);
        return x + 5;
    }

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    public int Area(int x)
    {
        Interlocked.Increment(ref Truth.FinalInstance);
        return x + 6;
    }
}

internal struct FinalPoint : IMeasured
{
    public int X;

    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    public int Length()
    {
        Interlocked.Increment(ref Truth.FinalStruct);
        return X;
    }
}

/// <summary>Not final at all: what begins as quick code and is replaced inside its own loop.</summary>
internal static class Loops
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Long(int turns)
    {
        Interlocked.Increment(ref Truth.Loop);
        long sum = 0;
        for (int i = 0; i < turns; i++)
        {
            sum += i ^ sum;
        }
        return sum;
    }
}
