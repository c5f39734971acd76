// SPDX-License-Identifier: GPL-2.0-or-later
// Calls that are left by exceptions in all ways that C# has, and calls that are not. Each has an id of its own, and
// each is noted with what it was left by, by who knows: the code that catches it, or C#'s rules.
using System;
using System.Collections.Generic;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Thrown;

internal static class Truth
{
    private static readonly List<string> Calls = new();

    public static bool On { get; set; }

    public static List<string> Take()
    {
        lock (Calls)
        {
            var taken = new List<string>(Calls);
            Calls.Clear();
            return taken;
        }
    }

    /// <summary>The call was left by that.</summary>
    public static void Note(string method, int id, string type, string message) =>
        Add($"{method} {id}\t{type}\t{message.Replace("\n", "\\n")}");

    public static void Note(string method, int id, Exception e) => Note(method, id, e.GetType().FullName!, e.Message);

    /// <summary>Whether it was called or not.</summary>
    public static void Note(Node node)
    {
        if (node.Outcome is { } outcome)
        {
            Note(node.Kind.ToString(), node.Id, outcome.Type, outcome.Message);
        }
        else
        {
            Returned(node.Kind.ToString(), node.Id);
        }
    }

    public static void Returned(string method, int id) => Add($"{method} {id}\t-\t");

    private static void Add(string line)
    {
        if (On)
        {
            lock (Calls)
            {
                Calls.Add(line);
            }
        }
    }
}

internal sealed class OwnException : Exception
{
    public OwnException(string message)
        : base(message)
    {
    }
}

/// <summary>What its message is no field has.</summary>
internal sealed class ComputedException : Exception
{
    public override string Message => "computed";
}

internal static unsafe class Cases
{
    private const MethodImplOptions Apart = MethodImplOptions.NoInlining;

    public static volatile int Sink;
    public static volatile object? Nothing;

    // Those that throw, one way each; a method that does nothing else is not precompiled -------------------------

    [MethodImpl(Apart)]
    public static int Plain(int id) => id < 0 ? id : throw new InvalidOperationException($"plain {id}");

    [MethodImpl(Apart)]
    public static int Own(int id)
    {
        if (id >= 0)
        {
            throw new OwnException($"own {id} \"ö\"\n");
        }
        return id;
    }

    [MethodImpl(Apart)]
    public static int Computed(int id) => id < 0 ? id : throw new ComputedException();

    [MethodImpl(Apart)]
    public static int Long(int id) => id < 0 ? id : throw new OwnException($"long {id} " + new string('x', 300));

    [MethodImpl(Apart)]
    public static int Null(int id) => ((string)Nothing!).Length + id;

    [MethodImpl(Apart)]
    public static int Divide(int id) => id / (Sink & 0);

    [MethodImpl(Apart)]
    public static int Cast(int id) => ((string)(object)new int[1]).Length + id;

    [MethodImpl(Apart)]
    public static int Index(int id)
    {
        int[] one = new int[1];
        return one[id];
    }

    [MethodImpl(Apart)]
    public static int Checked(int id) => checked(int.MaxValue + id);

    [MethodImpl(Apart)]
    public static int Helper(int id)
    {
        ArgumentNullException.ThrowIfNull(Nothing, $"parameter {id}");
        return id;
    }

    [MethodImpl(Apart)]
    public static int Framework(int id) => int.Parse($"x{id}");

    // Those that are left by what another has thrown ---------------------------------------------------------------

    [MethodImpl(Apart)]
    public static int Passed(int id) => Plain(id + 1) + Sink;

    [MethodImpl(Apart)]
    public static int Finally(int id)
    {
        try
        {
            return Own(id + 1);
        }
        finally
        {
            Sink++;
        }
    }

    [MethodImpl(Apart)]
    public static int Rethrow(int id)
    {
        try
        {
            return Null(id + 1);
        }
        catch (NullReferenceException)
        {
            Sink++;
            throw;
        }
    }

    [MethodImpl(Apart)]
    public static int Other(int id)
    {
        try
        {
            return Divide(id + 1);
        }
        catch (Exception e)
        {
            throw new OwnException($"other {id}: {e.Message.Length}");
        }
    }

    [MethodImpl(Apart)]
    public static int Replaced(int id)
    {
        try
        {
            return Plain(id + 1);
        }
        finally
        {
            Own(id + 2);
        }
    }

    [MethodImpl(Apart)]
    public static int ReplacedHere(int id)
    {
        try
        {
            return Plain(id + 1);
        }
        finally
        {
            if (id > 0)
            {
                throw new OwnException($"replaced {id}");
            }
        }
    }

    [MethodImpl(Apart)]
    public static int FinallyCatches(int id)
    {
        try
        {
            return Own(id + 1);
        }
        finally
        {
            try
            {
                Plain(id + 2);
            }
            catch (InvalidOperationException)
            {
                Sink++;
            }
        }
    }

    /// <summary>What is thrown in the `finally` is replaced itself before it has left that.</summary>
    [MethodImpl(Apart)]
    public static int ReplacedWithin(int id)
    {
        try
        {
            return Plain(id + 1);
        }
        finally
        {
            CatchesOwn(id + 2);
        }
    }

    [MethodImpl(Apart)]
    public static int CatchesOwn(int id)
    {
        try
        {
            return ReplacedHere(id + 1);
        }
        catch (OwnException)
        {
            return id;
        }
    }

    [MethodImpl(Apart)]
    public static int Caught(int id)
    {
        try
        {
            return Plain(id + 1);
        }
        catch (InvalidOperationException)
        {
            return id;
        }
    }

    [MethodImpl(Apart)]
    public static int CaughtAndThrown(int id)
    {
        try
        {
            Plain(id + 1);
        }
        catch (InvalidOperationException)
        {
            Sink++;
        }
        throw new OwnException($"then {id}");
    }

    /// <summary>The first is to leave the call, and the second, which replaces it, is not.</summary>
    [MethodImpl(Apart)]
    public static int GivenUp(int id)
    {
        try
        {
            try
            {
                Plain(id + 1);
            }
            finally
            {
                Own(id + 2);
            }
        }
        catch (OwnException)
        {
            Sink++;
        }
        if ((id / Round.Ids & 1) == 0)
        {
            return id;
        }
        throw new NotSupportedException($"given up {id}");
    }

    [MethodImpl(Apart)]
    public static int GivenUpHere(int id)
    {
        try
        {
            try
            {
                Plain(id + 1);
            }
            finally
            {
                if (id > 0)
                {
                    throw new OwnException($"here {id}");
                }
            }
        }
        catch (OwnException)
        {
            Sink++;
        }
        throw new NotSupportedException($"given up here {id}");
    }

    [MethodImpl(Apart)]
    public static int Deep(int id, int depth)
    {
        if (depth == 0)
        {
            throw new OwnException($"deep {id}");
        }
        try
        {
            return Deep(id + 1, depth - 1) + 1;
        }
        catch (OwnException) when (depth == 3)
        {
            throw;
        }
        catch (OwnException e) when (depth == 5)
        {
            throw new InvalidOperationException($"from {e.Message}");
        }
    }

    [MethodImpl(Apart)]
    public static int Filtered(int id)
    {
        try
        {
            return Plain(id + 1);
        }
        catch (InvalidOperationException) when (IsPlain(id))
        {
            return id;
        }
    }

    private static bool IsPlain(int id) => id < 0;

    /// <summary>What a filter throws is lost, and counts as false.</summary>
    [MethodImpl(Apart)]
    public static int FilterThrows(int id)
    {
        try
        {
            return Plain(id + 1);
        }
        catch (InvalidOperationException) when (Own(id + 2) > 0)
        {
            return id;
        }
    }

    [MethodImpl(Apart)]
    public static int Initialised(int id) => id % 2 == 0 ? Never.Value : Never.Value + 1;

    [MethodImpl(Apart)]
    public static int Delegated(int id)
    {
        Func<int, int> plain = Plain;
        return plain(id + 1);
    }

    [MethodImpl(Apart)]
    public static IEnumerable<int> Items(int id)
    {
        try
        {
            yield return Own(id + 1);
        }
        finally
        {
            Sink++;
        }
    }

    // Across native frames -----------------------------------------------------------------------------------------

    [MethodImpl(Apart)]
    public static int Reflected(int id) => id < 0 ? id : throw new OwnException($"reflected {id}");

    [MethodImpl(Apart)]
    public static int Invokes(int id)
    {
        MethodInfo method = typeof(Cases).GetMethod(nameof(Reflected))!;
        return (int)method.Invoke(null, new object[] { id + 1 })!;
    }

    [DllImport("libc", EntryPoint = "qsort")]
    private static extern void Sort(int* items, nint count, nint size, delegate* unmanaged<int*, int*, int> compare);

    [MethodImpl(Apart)]
    public static int Native(int id)
    {
        int* items = stackalloc int[2] { id + 1, id + 1 };
        Sort(items, 2, sizeof(int), &Compare);
        return Own(id + 2);
    }

    [UnmanagedCallersOnly]
    private static int Compare(int* a, int* b)
    {
        try
        {
            return Plain(*a);
        }
        catch (InvalidOperationException e)
        {
            Truth.Note("Plain", *a, e);
            return 0;
        }
    }

    // What others throw where a call had been before that was left -------------------------------------------------

    [MethodImpl(Apart)]
    private static int Unseen(int id) => throw new NotSupportedException($"unseen {id}");

    [MethodImpl(Apart)]
    public static void Stale(int id)
    {
        try
        {
            Plain(id + 1);
        }
        catch (InvalidOperationException)
        {
            Sink++;
        }
        try
        {
            Unseen(id);
        }
        catch (NotSupportedException)
        {
            Sink++;
        }
    }

    [MethodImpl(Apart)]
    public static void StaleNested(int id)
    {
        try
        {
            Plain(id + 1);
        }
        catch (InvalidOperationException)
        {
            try
            {
                Unseen(id);
            }
            catch (NotSupportedException)
            {
                Sink++;
            }
        }
        try
        {
            Unseen(id);
        }
        catch (NotSupportedException)
        {
            Sink++;
        }
    }
}

internal static class Never
{
    public static readonly int Value = Cases.Own(0);
}

/// <summary>All cases once.</summary>
internal static class Round
{
    public const int Ids = 200;

    private static readonly (string Name, Func<int, int> Method)[] Single =
    {
        ("Plain", Cases.Plain), ("Own", Cases.Own), ("Computed", Cases.Computed), ("Long", Cases.Long),
        ("Null", Cases.Null), ("Divide", Cases.Divide), ("Cast", Cases.Cast), ("Index", Cases.Index),
        ("Checked", Cases.Checked), ("Helper", Cases.Helper), ("Framework", Cases.Framework), ("Passed", Cases.Passed),
        ("Finally", Cases.Finally), ("Rethrow", Cases.Rethrow), ("Other", Cases.Other), ("Replaced", Cases.Replaced),
        ("ReplacedHere", Cases.ReplacedHere), ("FinallyCatches", Cases.FinallyCatches),
        ("ReplacedWithin", Cases.ReplacedWithin), ("Caught", Cases.Caught),
        ("CaughtAndThrown", Cases.CaughtAndThrown), ("GivenUp", Cases.GivenUp), ("GivenUpHere", Cases.GivenUpHere),
        ("Filtered", Cases.Filtered), ("FilterThrows", Cases.FilterThrows), ("Initialised", Cases.Initialised),
        ("Delegated", Cases.Delegated), ("Invokes", Cases.Invokes), ("Native", Cases.Native),
    };

    public static void All(int number)
    {
        int id = number * Ids + 1;
        foreach ((string name, Func<int, int> method) in Single)
        {
            try
            {
                method(id);
                Truth.Returned(name, id);
            }
            catch (Exception e)
            {
                Truth.Note(name, id, e);
            }
            Within(name, id);
            id += 4;
        }
        Deep(id);
        Items(id + 10);
        Stale(id + 14);
    }

    // The calls that these have made themselves.
    private static void Within(string name, int id)
    {
        switch (name)
        {
            case "Passed" or "Caught" or "CaughtAndThrown" or "Filtered" or "Delegated":
                Plain(id + 1);
                break;
            case "Finally":
                Own(id + 1);
                break;
            case "Rethrow":
                Truth.Note("Null", id + 1, "System.NullReferenceException",
                           "Object reference not set to an instance of an object.");
                break;
            case "Other":
                Truth.Note("Divide", id + 1, "System.DivideByZeroException", "Attempted to divide by zero.");
                break;
            case "Replaced" or "GivenUp" or "FilterThrows":
                Plain(id + 1);
                Own(id + 2);
                break;
            case "ReplacedHere" or "GivenUpHere":
                Plain(id + 1);
                break;
            case "FinallyCatches":
                Own(id + 1);
                Plain(id + 2);
                break;
            case "ReplacedWithin":
                Plain(id + 1);
                Truth.Returned("CatchesOwn", id + 2);
                Truth.Note("ReplacedHere", id + 3, "Thrown.OwnException", $"replaced {id + 3}");
                Plain(id + 4);
                break;
            case "Native":
                Own(id + 2);
                break;
            case "Invokes":
                Truth.Note("Reflected", id + 1, "Thrown.OwnException", $"reflected {id + 1}");
                break;
        }
    }

    private static void Plain(int id) => Truth.Note("Plain", id, "System.InvalidOperationException", $"plain {id}");

    private static void Own(int id) => Truth.Note("Own", id, "Thrown.OwnException", $"own {id} \"ö\"\n");

    private static void Deep(int id)
    {
        try
        {
            Cases.Deep(id, 6);
        }
        catch (InvalidOperationException e)
        {
            Truth.Note("Deep", id, e);
        }
        for (int depth = 5; depth >= 0; depth--)
        {
            int inner = id + 6 - depth;
            if (depth == 5)
            {
                Truth.Note("Deep", inner, "System.InvalidOperationException", $"from deep {id + 6}");
            }
            else
            {
                Truth.Note("Deep", inner, "Thrown.OwnException", $"deep {id + 6}");
            }
        }
    }

    private static void Items(int id)
    {
        try
        {
            foreach (int item in Cases.Items(id))
            {
                Cases.Sink += item;
            }
        }
        catch (OwnException)
        {
            Own(id + 1);
        }
        Truth.Returned("Items", id);
    }

    private static void Stale(int id)
    {
        Cases.Stale(id);
        Truth.Returned("Stale", id);
        Plain(id + 1);
        Cases.StaleNested(id + 2);
        Truth.Returned("StaleNested", id + 2);
        Plain(id + 3);
    }
}
