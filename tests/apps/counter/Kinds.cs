// SPDX-License-Identifier: GPL-2.0-or-later
// One method of each kind that can be called. Each counts its own calls, so the truth
// that a test compares with is the target's, whoever makes the calls.
using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Counted;

/// <summary>Calls seen, per kind, by the methods themselves.</summary>
internal static class Truth
{
    public static long Static, Instance, Virtual, Interface, Explicit, Struct, Delegate;
    public static long GenericRef, GenericInt, GenericPoint, BoxRef, BoxInt;
    public static long Ctor, Getter, Throws, Finally, Recurse, OverInt, OverString, OverTwo;
    public static long Sleep, Loop;
    public static long FinalStatic, FinalOther, FinalText, FinalThrows, FinalFinally, FinalRecurse;
    public static long FinalInt, FinalRef, FinalTurn, FinalInstance, FinalInterface, FinalStruct;
}

internal static class Kinds
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Static(int x)
    {
        Interlocked.Increment(ref Truth.Static);
        return x + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int ByDelegate(int x)
    {
        Interlocked.Increment(ref Truth.Delegate);
        return x + 2;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Throws(int x)
    {
        Interlocked.Increment(ref Truth.Throws);
        if (x >= 0)
        {
            throw new InvalidOperationException("as asked");
        }
        return x;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Finally(int x)
    {
        try
        {
            // Every second call leaves by an exception, so the handler runs as a funclet too.
            if ((Interlocked.Increment(ref Truth.Finally) & 1) == 0)
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
            GC.KeepAlive(Truth.Finally);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Recurse(int depth)
    {
        Interlocked.Increment(ref Truth.Recurse);
        return depth <= 1 ? 1 : 1 + Recurse(depth - 1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Over(int x)
    {
        Interlocked.Increment(ref Truth.OverInt);
        return x;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Over(string s)
    {
        Interlocked.Increment(ref Truth.OverString);
        return s.Length;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Over(int x, long y)
    {
        Interlocked.Increment(ref Truth.OverTwo);
        return x + (int)y;
    }
}

internal interface IShape
{
    int Name(int x);
    int Area(int x);
}

internal class Shape
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public virtual int Draw(int x) => x;
}

internal sealed class Square : Shape, IShape
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Plain(int x)
    {
        Interlocked.Increment(ref Truth.Instance);
        return x + 3;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public override int Draw(int x)
    {
        Interlocked.Increment(ref Truth.Virtual);
        return x + 4;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Name(int x)
    {
        Interlocked.Increment(ref Truth.Interface);
        return x + 5;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    int IShape.Area(int x)
    {
        Interlocked.Increment(ref Truth.Explicit);
        return x + 6;
    }
}

internal interface IMeasured
{
    int Length();
}

/// <summary>A value type; called through its interface it is entered by way of an unboxing stub.</summary>
internal struct Point : IMeasured
{
    public int X, Y;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Length()
    {
        Interlocked.Increment(ref Truth.Struct);
        return X + Y;
    }
}

internal static class Generics
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static T Same<T>(T value)
    {
        if (typeof(T) == typeof(int))
        {
            Interlocked.Increment(ref Truth.GenericInt);
        }
        else if (typeof(T) == typeof(Point))
        {
            Interlocked.Increment(ref Truth.GenericPoint);
        }
        else
        {
            Interlocked.Increment(ref Truth.GenericRef);
        }
        return value;
    }
}

internal sealed class Box<T>
{
    private T? content;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Put(T value)
    {
        Interlocked.Increment(ref typeof(T) == typeof(int) ? ref Truth.BoxInt : ref Truth.BoxRef);
        content = value;
    }

    public bool Holds(T value) => Equals(content, value);
}

internal sealed class Item
{
    private readonly int value;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public Item(int value)
    {
        Interlocked.Increment(ref Truth.Ctor);
        this.value = value;
    }

    public int Value
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        get
        {
            Interlocked.Increment(ref Truth.Getter);
            return value;
        }
    }
}

/// <summary>A known chain of callers above Thread.Sleep, for stacks.</summary>
internal static class Chain
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Outer(int x) => Middle(x) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Middle(int x) => Inner(x) + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Inner(int x)
    {
        Thread.Sleep(0);
        Interlocked.Increment(ref Truth.Sleep);
        return x;
    }
}
