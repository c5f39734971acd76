// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Lines;

internal interface IShape
{
    int Area(int scale);
}

internal readonly struct Dot : IShape
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Area(int scale) =>
        Place.Reach(scale)
        + Place.Reach(scale + 1);
}

internal sealed class Square : IShape, IDisposable
{
    private static readonly int Made = Place.Reach(1);
    private readonly int side = Place.Reach(2);

    public Square(int more)
        : this()
    {
        side += Place.Reach(more);
    }

    private Square()
    {
    }

    public int Side
    {
        get => Place.Reach(side) + Made;
        set
        {
            Place.Reach(value);
        }
    }

    public int Area(int scale)
    {
        int area = Place.Reach(scale);
        return area * side;
    }

    public void Dispose() => Place.Reach(3);
}

internal sealed class Box<T>
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public T Put<TOther>(T value, TOther other)
    {
        // A comment.
        Place.Reach(1);

        Place.Reach(other!.GetHashCode() == 1 ? 1 : 2);
        return value;
    }
}

internal static class Sources
{
    public static void All(int round)
    {
        Plain(round); // left
        Statements(round);
        Loops(round);
        new Box<int>().Put(1, "a");
        new Box<string>().Put("a", 2L);
        new Box<(int, long)>().Put((1, 2), new object());
        Shapes(new Dot());
        using (var square = new Square(round))
        {
            Shapes(square);
            square.Side = square.Side;
        } // handler

        Lambdas(round);
        Exceptions(round);
        Iterators();
        Asynchronous(round).GetAwaiter().GetResult();
        Moved(round);
        Hidden(round);
        Recurse(round % 7);
        Large(round);
        if (round % 20 == 0)
        {
            Long(round);
        }
    }

    private static void Plain(int round) => Place.Reach(round);

    // Small enough to become part of its caller.
    private static int Small(int n) => Place.Reach(n) + 1;

    private static int Two(int a, int b) => a + b;

    private static void Statements(int round)
    {
        int a = Two(
            Place.Reach(1),
            Small(
                Place.Reach(2)));
        string text = round switch
        {
            0 => Place.Reach(3).ToString(),
            1 => Small(4).ToString(),
            _ when round > 3 =>
                Place.Reach(5).ToString(),
            _ => $"{Place.Reach(6)} {Small(7)}",
        };
        switch (text.Length)
        {
            case 1:
                Place.Reach(8);
                break;
            default:
                Place.Reach(9);
                goto case 1;
        }

        bool both = Place.Reach(round) > 2
            && Place.Reach(1) > 0
            || Small(2) > 0;
        int chosen = both
            ? Place.Reach(10)
            : Small(11);
        var list = new List<int>
        {
            Place.Reach(12),
            Small(13),
        };
        lock (list)
        {
            list[0] = Place.Reach(chosen + a); list[1] = Small(14);
        }
    }

    private static void Loops(int round)
    {
        for (int i = Place.Reach(0);
            Place.Reach(i) < 2;
            i += Place.Reach(1))
        {
            if (i == round)
                continue;
            Place.Reach(i);
        }

        foreach (int n in new[] { 1, Place.Reach(2) })
            Place.Reach(n);
        int turns = 2;
        do
        {
            Small(turns);
        }
        while (Place.Reach(--turns) > 0);
    }

    /// <summary>Its loop is gone on with by code that is compiled while it runs.</summary>
    private static void Long(int round)
    {
        int sum = 0;
        for (int i = 0; i < 200_000; i++)
        {
            sum += i ^ round;
            if (i % 50_000 == 49_999)
            {
                Place.Reach(sum);
            }
        }

        Place.Reach(sum);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Shapes<T>(T shape)
        where T : IShape
    {
        shape.Area(2);
        ((IShape)shape).Area(3);
    }

    private static void Lambdas(int round)
    {
        int Local(int n)
        {
            int more = Place.Reach(n);
            return more + round;
        }

        Func<int, int> closure = n =>
        {
            Local(n);
            return Place.Reach(n) + round;
        };
        closure(1);
        Local(2);
        _ = new[] { 3, 1, 2 }
            .Where(n => Place.Reach(n) > 1)
            .Select(n =>
                Small(n))
            .OrderBy(n => Place.Reach(n))
            .Sum();
    }

    private static bool Say(int n)
    {
        Place.Reach(n);
        return n % 2 == 0;
    }

    private static void Fail(int n)
    {
        if (Place.Reach(n) >= 0)
            throw new InvalidOperationException();
    }

    /// <summary>
    /// While a handler runs, the runtime says the line that was left, or the method's first, not that of the call in
    /// the handler.
    /// </summary>
    private static void Exceptions(int round)
    {
        try
        {
            Place.Reach(1); // left
            Fail(round); // left
        }
        catch (InvalidOperationException) when (Say(round))
        {
            Place.Reach(2); // handler
        }
        catch (Exception e) when (
            e.Message.Length > 0
            && !Say(3))
        {
            Place.Reach(4); // handler
        }
        finally
        {
            Place.Reach(5); // handler
        }

        try
        {
            try
            {
                Fail(6); // left
            }
            finally
            {
                Small(7); // handler
            }
        }
        catch (InvalidOperationException)
        {
            Place.Reach(8); // handler
        }
    }

    private static IEnumerable<int> Turns(int count)
    {
        Place.Reach(count);
        try
        {
            for (int i = 0; i < count; i++)
            {
                yield return Place.Reach(i);
            }
        }
        finally
        {
            Place.Reach(9);
        }
    }

    private static void Iterators()
    {
        foreach (int turn in Turns(2))
        {
            Place.Reach(turn);
        }
    }

    private static async Task<int> Asynchronous(int round)
    {
        Place.Reach(0);
        await Task.Yield();
        int inner = Place.Reach(1) +
            await Inner(round);
        try
        {
            await Task.Delay(1).ConfigureAwait(false);
            Fail(2);
        }
        catch (InvalidOperationException) when (Place.Reach(3) == 3)
        {
            await Task.Yield();
            Place.Reach(4);
        }

        await foreach (int n in Stream())
            Place.Reach(n);
        Func<Task> lambda = async () =>
        {
            await Task.Yield();
            Place.Reach(5);
        };
        await lambda();
        return Place.Reach(inner);
    }

    private static async ValueTask<int> Inner(int round)
    {
        if (round % 2 == 0)
            await Task.Yield();
        return Place.Reach(2);
    }

    private static async IAsyncEnumerable<int> Stream()
    {
        Place.Reach(6);
        await Task.Yield();
        yield return Place.Reach(7);
        Place.Reach(8);
    }

    /// <summary>As code is that a tool has made of another file.</summary>
    private static void Moved(int round)
    {
        Place.Reach(1);
#line 1000 "templates/Page.razor"
        Place.Reach(2);
        Small(round);
#line 7 "templates/Other.razor"
        for (int i = 0; i < 1; i++)
            Place.Reach(3);
#line default
        Place.Reach(4);
    }

    private static void Hidden(int round)
    {
        Place.Reach(1);
#line hidden
        Place.Reach(2);
        if (round > 2)
            Small(3);
#line default
        Place.Reach(4);
    }

    private static int Recurse(int depth)
    {
        if (depth == 0)
            return Place.Reach(depth);
        int below =
            Recurse(depth - 1);
        return below + 1;
    }

    private static void Large(int round)
    {
        Span<long> numbers = stackalloc long[200];
        for (int i = 0; i < numbers.Length; i++)
            numbers[i] = i * round;
        Place.Reach((int)numbers[3]);
        double d = Math.Sqrt(round) + Thread.CurrentThread.ManagedThreadId;
        Place.Reach(d > 2 ? 1 : 2);
        Plain((int)(numbers[5] + numbers[7]));
    }
}
