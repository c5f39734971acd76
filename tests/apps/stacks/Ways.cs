// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Collections.Generic;
using System.Linq;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Stacks;

internal interface IShape
{
    int Area(int scale);
}

internal abstract class Shape
{
    public abstract int Name(int n);
}

internal sealed class Square : Shape, IShape
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Area(int scale) => Place.Reach(scale) * scale;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public override int Name(int n) => Place.Reach(n) + 1;
}

internal sealed class ByLength : IEqualityComparer<string>
{
    public bool Equals(string? a, string? b) => Place.Reach(a!.Length) == b!.Length;

    public int GetHashCode(string text) => text.Length;
}

internal sealed class Box<T>
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public T Put(T value)
    {
        Place.Reach(1);
        return value;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static TOther Convert<TOther>(T value, Func<T, TOther> how) => how(value);
}

internal static class Ways
{
    private static readonly MethodInfo ReachMethod = typeof(Place).GetMethod(nameof(Place.Reach))!;
    private static readonly Func<int, int> Compiled = MakeExpression();
    private static readonly Func<int, int> Emitted = MakeDynamic();

    public static void All(int round)
    {
        Linq(round);
        Sorting(round);
        Dictionaries();
        Async().GetAwaiter().GetResult();
        foreach (int turn in Turns(3))
        {
            Place.Reach(turn);
        }

        new Box<int>().Put(1);
        new Box<string>().Put("a");
        new Box<(int, long)>().Put((1, 2));
        Box<string>.Convert("abc", text => Place.Reach(text.Length));
        Box<int>.Convert(3, number => Place.Reach(number).ToString());
        Dispatch(new Square());
        Delegates(round);
        Exceptions(round);
        Recurse(round % 10 == 9 ? 200 : round % 40);
        Mutual(20, round);
        Reflection();
        Native();
        Tail(5);
        Large(round);
        Compiled(round);
        Emitted(round);
        Thread thread = new(() => Place.Reach(9));
        thread.Start();
        thread.Join();
    }

    private static void Linq(int round)
    {
        _ = Enumerable.Range(0, 6).Where(n => n % 2 == 0).Select(n => Place.Reach(n) + round)
            .OrderByDescending(n => Place.Reach(n)).GroupBy(n => n % 2).SelectMany(g => g).Sum();
    }

    private static void Sorting(int round)
    {
        int[] numbers = { 5, 3, 9, 1, round, 7 };
        Array.Sort(numbers, (a, b) => Place.Reach(a) - b);
        new List<string> { "bb", "a", "ccc" }.Sort((a, b) => Place.Reach(a.Length) - b.Length);
    }

    private static void Dictionaries()
    {
        var dictionary = new Dictionary<string, int>(new ByLength()) { ["a"] = 1, ["bb"] = 2 };
        dictionary.TryGetValue("c", out _);
        _ = new HashSet<string>(new ByLength()) { "x", "y" };
    }

    private static async Task<int> Async()
    {
        Place.Reach(0);
        await Task.Yield();
        Place.Reach(1);
        int inner = await Inner();
        await Task.Delay(1).ConfigureAwait(false);
        return Place.Reach(inner);
    }

    private static async ValueTask<int> Inner()
    {
        await Task.Yield();
        return Place.Reach(2);
    }

    private static IEnumerable<int> Turns(int count)
    {
        for (int i = 0; i < count; i++)
        {
            yield return Place.Reach(i);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Dispatch(Square square)
    {
        ((IShape)square).Area(2);
        ((Shape)square).Name(3);
    }

    private static unsafe void Delegates(int round)
    {
        Func<int, int> open = Place.Reach;
        Func<int, int> closed = new Square().Area;
        Func<int, int> both = open;
        both += closed;
        open(round);
        closed(round);
        both(round);
        delegate*<int, int> pointer = &Place.Reach;
        pointer(round);
    }

    private static void Exceptions(int round)
    {
        try
        {
            Throw(round % 7);
        }
        catch (InvalidOperationException e) when (Place.Reach(e.Message.Length) > 0)
        {
            Place.Reach(1);
        }
        finally
        {
            Place.Reach(2);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Throw(int depth)
    {
        try
        {
            if (depth > 0)
            {
                Throw(depth - 1);
            }

            throw new InvalidOperationException("thrown");
        }
        finally
        {
            Place.Reach(depth);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Recurse(int depth) => depth > 0 ? Recurse(depth - 1) + 1 : Place.Reach(depth);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Mutual(int depth, long other) =>
        depth > 0 ? Mutual2(depth - 1, other + depth) * 2 : Place.Reach((int)other);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Mutual2(int depth, long other)
    {
        Span<byte> room = stackalloc byte[(depth * 16) + 16];
        room[0] = (byte)depth;
        return Mutual(depth, other) + room[0];
    }

    private static void Reflection()
    {
        ReachMethod.Invoke(null, new object[] { 1 });
        typeof(Square).GetMethod(nameof(Square.Area))!.Invoke(new Square(), new object[] { 2 });
        Activator.CreateInstance(typeof(Made));
    }

    [UnmanagedCallersOnly]
    private static unsafe int Compare(void* a, void* b) => Place.Reach(*(int*)a) - *(int*)b;

    private static unsafe void Native()
    {
        int* numbers = stackalloc int[] { 3, 1, 2 };
        qsort(numbers, 3, sizeof(int), &Compare);
    }

    [DllImport("libc")]
    private static unsafe extern void qsort(void* numbers, nuint count, nuint size, delegate* unmanaged<void*, void*, int> compare);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Tail(int depth) => depth > 0 ? Tail2(depth - 1, depth) : Place.Reach(depth);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Tail2(int depth, int other) => Tail(other > 100 ? 0 : depth);

    /// <summary>A frame of more than a page, which is probed as it is made.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static unsafe int Large(int n)
    {
        Big big = default;
        big.Bytes[n & 1023] = 1;
        return Place.Reach(n) + big.Bytes[n & 1023];
    }

    private static Func<int, int> MakeExpression()
    {
        ParameterExpression n = Expression.Parameter(typeof(int));
        return Expression.Lambda<Func<int, int>>(Expression.Add(Expression.Call(ReachMethod, n), Expression.Constant(1)), n).Compile();
    }

    private static Func<int, int> MakeDynamic()
    {
        var made = new DynamicMethod("Emitted", typeof(int), new[] { typeof(int) }, typeof(Ways).Module);
        ILGenerator il = made.GetILGenerator();
        il.Emit(OpCodes.Ldarg_0);
        il.Emit(OpCodes.Call, ReachMethod);
        il.Emit(OpCodes.Ldc_I4_1);
        il.Emit(OpCodes.Add);
        il.Emit(OpCodes.Ret);
        return made.CreateDelegate<Func<int, int>>();
    }

    private unsafe struct Big
    {
        public fixed byte Bytes[20000];
    }

    private sealed class Made
    {
        public Made() => Place.Reach(1);
    }
}
