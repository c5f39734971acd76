// SPDX-License-Identifier: GPL-2.0-or-later
// Exceptions through frames of all kinds.
using System;
using System.Runtime.CompilerServices;

namespace Timed;

/// <summary>
/// A plan has a letter a frame, the outermost first: p(lain), c(atches), r(ethrows), t(hrows another
/// in its catch), f(inally), w(hen the filter says yes), n(o, it says), a(gain, after a catch). It ends
/// with '!', a timed method that throws, 'x', which throws and is not timed, or '.', which returns.
/// </summary>
internal static class Frames
{
    /// <summary>Not timed; its own frame is above those of the plan.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Run(string plan, int times, bool tick)
    {
        for (int i = 0; i < times; i++)
        {
            try
            {
                Next(plan, 0);
            }
            catch (InvalidOperationException)
            {
                // The point of the call.
            }
        }
        if (tick)
        {
            Work.Tick(0);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Next(string plan, int at)
    {
        return 1 + plan[at] switch
        {
            'p' => Plain(plan, at),
            'c' => Catching(plan, at),
            'r' => Rethrowing(plan, at),
            't' => Replacing(plan, at),
            'f' => Finally(plan, at),
            'w' => Filter(plan, at, true),
            'n' => Filter(plan, at, false),
            'a' => Again(plan, at),
            '!' => Throws(at),
            'x' => throw new InvalidOperationException("as asked"),
            _ => 0,
        };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Throws(int at)
    {
        Truth.Enter(Method.Throws);
        if (at >= 0)
        {
            throw new InvalidOperationException("as asked");
        }
        return at;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Plain(string plan, int at)
    {
        long began = Truth.Enter(Method.Plain);
        int result = Next(plan, at + 1);
        Truth.Leave(Method.Plain, began);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Catching(string plan, int at)
    {
        long began = Truth.Enter(Method.Catching);
        int result;
        try
        {
            result = Next(plan, at + 1);
        }
        catch (InvalidOperationException)
        {
            result = Work.Tick(at);
        }
        Truth.Leave(Method.Catching, began);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Rethrowing(string plan, int at)
    {
        long began = Truth.Enter(Method.Rethrowing);
        int result;
        try
        {
            result = Next(plan, at + 1);
        }
        catch (InvalidOperationException)
        {
            Work.Tick(at);
            throw;
        }
        Truth.Leave(Method.Rethrowing, began);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Replacing(string plan, int at)
    {
        long began = Truth.Enter(Method.Replacing);
        int result;
        try
        {
            result = Next(plan, at + 1);
        }
        catch (InvalidOperationException e)
        {
            throw new InvalidOperationException("instead", e);
        }
        Truth.Leave(Method.Replacing, began);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Finally(string plan, int at)
    {
        long began = Truth.Enter(Method.Finally);
        int result;
        try
        {
            result = Next(plan, at + 1);
        }
        finally
        {
            Work.Tick(at);
        }
        Truth.Leave(Method.Finally, began);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Filter(string plan, int at, bool verdict)
    {
        long began = Truth.Enter(Method.Filter);
        int result;
        try
        {
            result = Next(plan, at + 1);
        }
        catch (InvalidOperationException) when (Work.Judge(verdict))
        {
            result = at;
        }
        Truth.Leave(Method.Filter, began);
        return result;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Again(string plan, int at)
    {
        long began = Truth.Enter(Method.Again);
        int result = 0;
        try
        {
            result = Next(plan, at + 1);
        }
        catch (InvalidOperationException)
        {
            // Now without this.
        }
        result += Next(plan, at + 1);
        Truth.Leave(Method.Again, began);
        return result;
    }
}
