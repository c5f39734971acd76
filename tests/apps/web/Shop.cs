// SPDX-License-Identifier: GPL-2.0-or-later
// Twelve methods, in the order of enum Method.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Http;
using Microsoft.Win32.SafeHandles;

namespace Web;

internal enum Method
{
    Around, Order, Total, List, Next, Price, Slowly, Waited, Reversed, Twice, Caught, Fails,
}

internal static class Truth
{
    private const int Apart = 8;
    private static readonly long[] Calls = new long[Enum.GetValues<Method>().Length * Apart];

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Count(Method method) => Interlocked.Increment(ref Calls[(int)method * Apart]);

    public static IEnumerable<string> All() =>
        Enum.GetValues<Method>().Select(method => $"{method}={Volatile.Read(ref Calls[(int)method * Apart])}");
}

internal static class Counting
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Task Around(HttpContext context, Func<Task> next)
    {
        Truth.Count(Method.Around);
        return next();
    }
}

internal interface IShop
{
    string Order(int id);
    IEnumerable<int> List();
}

internal sealed class Shop : IShop
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public string Order(int id)
    {
        Truth.Count(Method.Order);
        return $"order {id}: {Total(Enumerable.Range(id, 10).ToArray())}";
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static T Total<T>(T[] of) where T : System.Numerics.INumber<T>
    {
        Truth.Count(Method.Total);
        return of.Aggregate(T.Zero, static (sum, next) => sum + next);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public IEnumerable<int> List()
    {
        Truth.Count(Method.List);
        return Enumerable.Range(0, 12).Select(Next);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Next(int number)
    {
        Truth.Count(Method.Next);
        return number * 17 % 13;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Price(int of)
    {
        Truth.Count(Method.Price);
        return of * 3;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static Task<string> Slowly()
    {
        Truth.Count(Method.Slowly);
        return Wait();
    }

    private static async Task<string> Wait()
    {
        await Task.Delay(1);
        return Waited("slow");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static string Waited(string what)
    {
        Truth.Count(Method.Waited);
        return what.ToUpperInvariant();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static string Reversed(string text)
    {
        Truth.Count(Method.Reversed);
        return new string(text.Reverse().ToArray());
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static string Twice(string text)
    {
        Truth.Count(Method.Twice);
        return text + text;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static string Caught()
    {
        Truth.Count(Method.Caught);
        try
        {
            Fails(1);
            return "no";
        }
        catch (InvalidOperationException failed)
        {
            return failed.Message;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Fails(int x)
    {
        Truth.Count(Method.Fails);
        throw new InvalidOperationException($"as asked, {x}");
    }
}

internal static class Files
{
    // Who calls it directly may have it inlined.
    private static readonly Func<string, FileMode, FileAccess, FileShare, FileOptions, long, SafeFileHandle> Open = File.OpenHandle;

    public static long Length(string path)
    {
        using SafeFileHandle file = Open(path, FileMode.Open, FileAccess.Read, FileShare.Read, FileOptions.None, 0);
        return RandomAccess.GetLength(file);
    }
}
