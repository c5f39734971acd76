// SPDX-License-Identifier: GPL-2.0-or-later
// Values whose types are known when they come, and what compilers make of lambdas, iterators and async methods.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using static Values.Truth;

namespace Values;

/// <summary>What is declared as an order, with more than an order has.</summary>
public class Gift : Order
{
    public string? Wish;
    public int[]? Codes;
    public Named? Giver;
}

public class Shop
{
    public int Number;

    public void Checkout(Order order) => Number += order.Id;
}

public class Built
{
    public int Number;
    public string? Label;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public Built(int a, string b)
    {
        Call("Built::.ctor", $"this: {Any(this)}, a: {a}, b: {b.Spell()}", null);
        Number = a;
        Label = b;
    }
}

public interface IGreets
{
    /// <summary>Of the interface itself; `this` is whoever implements it.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Greet(int a, string b)
    {
        Call("IGreets::Greet", $"this: {Any(this)}, a: {a}, b: {b.Spell()}", (a + 1).ToString());
        return a + 1;
    }
}

public class Greeter : IGreets
{
    public int Id;
    public string? Name;
}

public static class Kinds
{
    private const MethodImplOptions Kept = MethodImplOptions.NoInlining;

    [MethodImpl(Kept)] public static int Delegates(Action<Order>? a, Func<int, int> b, Action c, int d) { Call("Kinds::Delegates", $"a: {Spell(a)}, b: {Spell(b)}, c: {Spell(c)}, d: {d}", $"{d}"); return d; }
    [MethodImpl(Kept)] public static Task<int> Tasks(Task a, Task<int> b, Task<string?> c, ValueTask<int> d, ValueTask e) { Call("Kinds::Tasks", $"a: {State(a)}, b: {State(b)}, c: {State(c)}, d: {State(d)}, e: {State(e)}", State(b)); return b; }
    [MethodImpl(Kept)] public static object? Derived(Order? a, object? b, INamed c) { Call("Kinds::Derived", $"a: {Truth.Any(a)}, b: {Truth.Any(b)}, c: {Truth.Any(c)}", Truth.Any(b)); return b; }

    private static int Twice(int x) => 2 * x;

    private static string Spell(Delegate? d) => d switch
    {
        null => "null",
        _ when d.GetInvocationList().Length > 1 => Name(d.GetType()) + "{...}",
        _ when d.Method.IsStatic => $"{Name(d.GetType())}{{method: {Method(d)}}}",
        _ => $"{Name(d.GetType())}{{target: {Name(d.Target!.GetType())}, method: {Method(d)}}}",
    };

    private static string Method(Delegate d) => $"{Name(d.Method.DeclaringType!)}::{d.Method.Name}";

    private static string State(Task task) => $"System.Threading.Tasks.Task{{{task.Status}}}";

    private static string State<T>(Task<T> task) =>
        $"{Name(typeof(Task<T>))}{{{task.Status}{(task.Status == TaskStatus.RanToCompletion ? ", result: " + Any(task.Result, 0) : "")}}}";

    private static string State(ValueTask task) => "System.Threading.Tasks.ValueTask" + State(task.AsTask())["System.Threading.Tasks.Task".Length..];

    private static string State<T>(ValueTask<T> task) => Name(typeof(ValueTask<T>)) + State(task.AsTask())[Name(typeof(Task<T>)).Length..];

    private static async Task Wait(Task before) => await before;

    private static async Task<T> Wait<T>(Task<T> before) => await before;

    public static void All(int seed)
    {
        var random = new Random(seed);
        int a = random.Next(-1000, 1000);
        string text = $"text {a}";
        var shop = new Shop { Number = a };
        Action<Order>? checkout = random.Next(4) == 0 ? null : shop.Checkout;
        Action some = () => shop.Number++;
        Delegates(checkout, random.Next(2) == 0 ? Twice : x => x + a, random.Next(2) == 0 ? some : some + some, a);

        var pending = new TaskCompletionSource<int>();
        var words = new TaskCompletionSource<string?>();
        Task<int> number = random.Next(5) switch
        {
            0 => Task.FromResult(a),
            1 => Task.FromException<int>(new InvalidOperationException("no stock")),
            2 => Task.FromCanceled<int>(new CancellationToken(true)),
            3 => Wait(pending.Task),
            _ => pending.Task,
        };
        if (random.Next(2) == 0)
        {
            words.SetResult(text);
        }
        Task nothing = random.Next(3) switch { 0 => Task.CompletedTask, 1 => Wait(pending.Task as Task), _ => new Task(() => { }) };
        Tasks(nothing, number, random.Next(2) == 0 ? words.Task : Wait(words.Task),
            random.Next(2) == 0 ? new ValueTask<int>(a) : new ValueTask<int>(number),
            random.Next(2) == 0 ? default : new ValueTask(nothing));
        pending.SetResult(1);
        words.TrySetResult(null);

        var gift = new Gift { Id = a, Customer = "Ada", Wish = random.Next(3) == 0 ? null : text, Codes = new[] { a, 2, 3 }, Giver = new Named { Id = 3 } };
        _ = new Built(a, text).Label!.Length;
        ((IGreets)new Greeter { Id = a, Name = text }).Greet(a, "hello");
        Derived(random.Next(2) == 0 ? gift : new Order { Id = a, Customer = text },
            random.Next(4) switch { 0 => null, 1 => new[] { a, 5 }, 2 => new TextAndInt { Text = text, Number = a }, _ => new long[] { a } },
            new Named { Id = a, Name = text });
    }
}

public static class Made
{
    /// <summary>Its argument and its locals are fields of what the compiler makes of it.</summary>
    public static async Task<int> Work(int id, string name)
    {
        int doubled = id * 2;
        await Task.Yield();
        string both = name + doubled;
        await Task.Yield();
        return both.Length + doubled;
    }

    public static IEnumerable<int> Count(int from, string label)
    {
        for (int i = from; i < from + 3; i++)
        {
            yield return i + label.Length;
        }
    }

    public static int Sum(int[] numbers, int factor, string word)
    {
        return numbers.Sum(x => x * factor + word.Length);
    }

    public static void All(int count)
    {
        for (int i = 0; i < count; i++)
        {
            Work(i, $"name {i}").Wait();
            Count(i, $"label {i}").Sum();
            Sum(new[] { i, i + 1 }, 3, $"word {i}");
        }
    }
}
