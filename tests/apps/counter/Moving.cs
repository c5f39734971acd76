// SPDX-License-Identifier: GPL-2.0-or-later
// More kinds of methods that tiering moves from body to body, and their callers. Each counts its
// own calls; of what the compiler makes of an async method or an iterator the calls are those of
// MoveNext, and each turn of it passes exactly one count.
using System;
using System.Collections.Generic;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Counted;

/// <summary>As Truth, for the methods here; public, since emitted code counts as well.</summary>
public static class MovingTruth
{
    public static long Pointer, Reflected, ShelfRef, ShelfInt, ShelfPoint, Lambda, Closure, Local;
    public static long Dynamic, Fresh, Named, Expression, Async, AsyncPool, Iterator, Small;

    // Never inlined, so that it has frames of its own.
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void NoteNamed() => Interlocked.Increment(ref Named);

    public static void NoteDynamic() => Interlocked.Increment(ref Dynamic);

    public static void NoteFresh() => Interlocked.Increment(ref Fresh);

    public static int NoteExpression(int x)
    {
        Interlocked.Increment(ref Expression);
        return x;
    }
}

/// <summary>A static method of a generic type.</summary>
internal static class Shelf<T>
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static T Add(T value)
    {
        Interlocked.Increment(ref typeof(T) == typeof(int) ? ref MovingTruth.ShelfInt
                              : ref typeof(T) == typeof(Point) ? ref MovingTruth.ShelfPoint
                              : ref MovingTruth.ShelfRef);
        return value;
    }
}

/// <summary>What whoever optimises the caller puts into it: its body is not entered any more.</summary>
internal static class Small
{
    public static int Tiny(int x)
    {
        Interlocked.Increment(ref MovingTruth.Small);
        return x + 1;
    }
}

/// <summary>Awaited, it always suspends, and goes on when and where the caller pumps.</summary>
internal readonly struct Pump : ICriticalNotifyCompletion
{
    [ThreadStatic]
    private static Action? next;

    public Pump GetAwaiter() => this;

    public bool IsCompleted => false;

    public void GetResult()
    {
    }

    public void OnCompleted(Action continuation) => next = continuation;

    public void UnsafeOnCompleted(Action continuation) => next = continuation;

    /// <summary>Go on with what this thread has suspended, until it has ended.</summary>
    public static void Run(Task task)
    {
        while (next is { } continuation)
        {
            next = null;
            continuation();
        }
        task.GetAwaiter().GetResult();
    }
}

internal static class Moving
{
    private static readonly Lazy<Func<int, int>> Made =
        new(() => Make("CountedMade", nameof(MovingTruth.NoteDynamic)));

    private static readonly Lazy<Func<int, int>> Compiled = new(() =>
    {
        ParameterExpression x = Expression.Parameter(typeof(int));
        MethodInfo note = typeof(MovingTruth).GetMethod(nameof(MovingTruth.NoteExpression))!;
        return Expression.Lambda<Func<int, int>>(Expression.Call(note, x), "CountedExpression", new[] { x })
            .Compile();
    });

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int ByPointer(int x)
    {
        Interlocked.Increment(ref MovingTruth.Pointer);
        return x + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Reflected(int x)
    {
        Interlocked.Increment(ref MovingTruth.Reflected);
        return x + 2;
    }

    /// <summary>Its MoveNext is entered once, and once more after each time it suspends.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async Task Steps(int times)
    {
        Interlocked.Increment(ref MovingTruth.Async);
        for (int i = 1; i < times; i++)
        {
            await new Pump();
            Interlocked.Increment(ref MovingTruth.Async);
        }
    }

    /// <summary>As Steps, on threads of the pool.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async Task PoolSteps(int times)
    {
        Interlocked.Increment(ref MovingTruth.AsyncPool);
        for (int i = 1; i < times; i++)
        {
            await Task.Yield();
            Interlocked.Increment(ref MovingTruth.AsyncPool);
        }
    }

    /// <summary>Its MoveNext is entered for each value and once for the end.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static IEnumerable<int> Turns(int times)
    {
        Interlocked.Increment(ref MovingTruth.Iterator);
        for (int i = 1; i < times; i++)
        {
            yield return i;
            Interlocked.Increment(ref MovingTruth.Iterator);
        }
    }

    private static Func<int, int> Make(string name, string note)
    {
        var method = new DynamicMethod(name, typeof(int), new[] { typeof(int) }, typeof(Moving).Module, true);
        ILGenerator il = method.GetILGenerator();
        il.Emit(OpCodes.Call, typeof(MovingTruth).GetMethod(note)!);
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Ldc_I4_7);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Ret);
        return method.CreateDelegate<Func<int, int>>();
    }

    private static void Repeat(Func<int, int> method, int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            method(i);
        }
    }

    public static unsafe void CallPointer(int calls)
    {
        delegate*<int, int> method = &ByPointer;
        for (int i = 0; i < calls; i++)
        {
            method(i);
        }
    }

    public static void CallReflected(int calls)
    {
        MethodInfo method = typeof(Moving).GetMethod(nameof(Reflected))!;
        object[] arguments = { 1 };
        for (int i = 0; i < calls; i++)
        {
            method.Invoke(null, arguments);
        }
    }

    public static void CallShelfRef(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            if ((i & 1) == 0)
            {
                Shelf<string>.Add("text");
            }
            else
            {
                Shelf<object>.Add(Made);
            }
        }
    }

    public static void CallShelfInt(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Shelf<int>.Add(i);
        }
    }

    public static void CallShelfPoint(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Shelf<Point>.Add(new Point { X = i });
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void CallLambda(int calls)
    {
        Repeat([MethodImpl(MethodImplOptions.NoInlining)] (x) =>
        {
            Interlocked.Increment(ref MovingTruth.Lambda);
            return x + 1;
        }, calls);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void CallClosure(int calls)
    {
        int seen = 0;
        Repeat([MethodImpl(MethodImplOptions.NoInlining)] (x) =>
        {
            Interlocked.Increment(ref MovingTruth.Closure);
            return x + seen++;
        }, calls);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void CallLocal(int calls)
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        static int Local(int x)
        {
            Interlocked.Increment(ref MovingTruth.Local);
            return x + 1;
        }
        for (int i = 0; i < calls; i++)
        {
            Local(i);
        }
    }

    public static void CallDynamic(int calls) => Repeat(Made.Value, calls);

    /// <summary>A dynamic method of its own each time, all of the same name.</summary>
    public static void CallFresh(int calls) => Repeat(Make("CountedFresh", nameof(MovingTruth.NoteFresh)), calls);

    /// <summary>So many dynamic methods, each with a name of its own, which is called one to seven
    /// times and then thrown away, so that others come where it was.</summary>
    public static void CallNamed(int methods)
    {
        for (int i = 0; i < methods; i++)
        {
            Repeat(Make($"CountedNamed{i}", nameof(MovingTruth.NoteNamed)), i % 7 + 1);
            if (i % 8 == 7)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
        }
    }

    public static void CallExpression(int calls) => Repeat(Compiled.Value, calls);

    public static void CallAsync(int calls)
    {
        if (calls > 0)
        {
            Pump.Run(Steps(calls));
        }
    }

    public static void CallAsyncPool(int calls)
    {
        if (calls > 0)
        {
            PoolSteps(calls).GetAwaiter().GetResult();
        }
    }

    // Never optimised: it would learn whose MoveNext it calls, and take that in.
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
    public static void CallIterator(int calls)
    {
        if (calls > 0)
        {
            foreach (int turn in Turns(calls))
            {
                GC.KeepAlive(turn);
            }
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void CallSmall(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Small.Tiny(i);
        }
    }
}
