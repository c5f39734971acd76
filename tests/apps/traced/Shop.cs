// SPDX-License-Identifier: GPL-2.0-or-later
// The root, and what is called below it. Each notes that it is entered, and that it returns.
using System;
using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Traced;

internal static class Shop
{
    public const int Nothing = 6, Long = 7;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Checkout(int kind)
    {
        Node before = Truth.Enter("Checkout");
        int result = kind switch
        {
            0 => Steps.Loop(5),
            1 => Steps.Dive(10),
            2 => Steps.Guard(4) + Steps.Query(1) + Steps.Last(3),
            3 => Steps.Again(2) + Steps.Query(1),
            4 => Steps.Inner(0) + Steps.Inner(6),
            5 => Steps.Dive(200),
            Nothing => 1,
            Long => Steps.Spin(10) + Steps.Loop(3) + Steps.Spin(1),
            8 => Steps.Branches(5),
            _ => Steps.Within(2) + Steps.Query(1),
        };
        Truth.Leave(before);
        return result + 1;
    }
}

internal static class Steps
{
    private static int total;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Query(int x)
    {
        Node before = Truth.Enter("Query");
        total += x;
        Truth.Leave(before);
        return x + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Reserve(int x)
    {
        Node before = Truth.Enter("Reserve");
        int result = Query(x) + Query(x + 1);
        Truth.Leave(before);
        return result + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Loop(int times)
    {
        Node before = Truth.Enter("Loop");
        int result = 0;
        for (int i = 0; i < times; i++)
        {
            result += Query(i);
            result += Reserve(i);
        }
        Truth.Leave(before);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Dive(int depth)
    {
        Node before = Truth.Enter("Dive");
        int result = depth > 1 ? Dive(depth - 1) : 0;
        Truth.Leave(before);
        return result + 1;
    }

    /// <summary>A tree: each calls itself twice, and another.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Branches(int depth)
    {
        Node before = Truth.Enter("Branches");
        int result = depth > 1 ? Branches(depth - 1) + Query(depth) + Branches(depth - 2) : 0;
        Truth.Leave(before);
        return result + 1;
    }

    /// <summary>Catches what is thrown so many calls further in, and goes on.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Guard(int depth)
    {
        Node before = Truth.Enter("Guard"), mine = Truth.Here;
        int result = 0;
        try
        {
            result = Throws(depth);
        }
        catch (InvalidOperationException)
        {
            Truth.Unwind(mine);
        }
        result += Query(result);
        Truth.Leave(before);
        return result + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Throws(int depth)
    {
        Node before = Truth.Enter("Throws");
        if (depth <= 1)
        {
            throw new InvalidOperationException("as asked");
        }
        int result = Query(depth) + Throws(depth - 1);
        Truth.Leave(before);
        return result + 1;
    }

    /// <summary>What is caught is thrown again, and caught further out.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Again(int depth)
    {
        Node before = Truth.Enter("Again"), mine = Truth.Here;
        int result = 0;
        try
        {
            result = Rethrows(depth);
        }
        catch (InvalidOperationException)
        {
            Truth.Unwind(mine);
        }
        Truth.Leave(before);
        return result + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Rethrows(int depth)
    {
        Node before = Truth.Enter("Rethrows"), mine = Truth.Here;
        int result;
        try
        {
            result = Throws(depth);
        }
        catch (InvalidOperationException)
        {
            Truth.Unwind(mine);
            throw;
        }
        Truth.Leave(before);
        return result + 1;
    }

    /// <summary>Calls another while it handles an exception.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Within(int depth)
    {
        Node before = Truth.Enter("Within"), mine = Truth.Here;
        int result;
        try
        {
            result = Throws(depth);
        }
        catch (InvalidOperationException)
        {
            Truth.Unwind(mine);
            result = Query(depth);
        }
        Truth.Leave(before);
        return result + 1;
    }

    /// <summary>The last thing that it does is to throw away what is below it.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Last(int depth)
    {
        Node before = Truth.Enter("Last"), mine = Truth.Here;
        int result = 0;
        try
        {
            result = Throws(depth);
        }
        catch (InvalidOperationException)
        {
            Truth.Unwind(mine);
        }
        Truth.Leave(before);
        return result + 1;
    }

    /// <summary>A root within a root.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Inner(int kind)
    {
        Node before = Truth.Enter("Inner");
        int result = Shop.Checkout(kind);
        Truth.Leave(before);
        return result + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Spin(int milliseconds)
    {
        Node before = Truth.Enter("Spin");
        long until = Stopwatch.GetTimestamp() + milliseconds * Stopwatch.Frequency / 1000;
        while (Stopwatch.GetTimestamp() < until)
        {
            total++;
        }
        Truth.Leave(before);
        return milliseconds;
    }
}
