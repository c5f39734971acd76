// SPDX-License-Identifier: GPL-2.0-or-later
// Calls within each other that throw, catch and clean up at random. What a call is left by depends on what is below it
// alone, so it is known of each without a look at what happens: Node.Outcome is all that the tests compare with.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Thrown;

internal enum Kind
{
    Return, Throw, Fault, Each, Finally, Catch, Rethrow, Other, Filter,
}

/// <summary>What leaves a call; null: nothing.</summary>
internal sealed record Outcome(string Type, string Message)
{
    public bool IsOwn => Type == "Thrown.OwnException";
}

internal sealed class Node
{
    public int Id;
    public Kind Kind;
    public bool Own; // which type is thrown, or caught
    public Node A = null!, B = null!, C = null!;
    public Outcome? Outcome;

    public Exception Exception => Own ? new OwnException($"node {Id}") : new InvalidOperationException($"node {Id}");

    public void Decide()
    {
        Outcome thrown = new(Own ? "Thrown.OwnException" : "System.InvalidOperationException", $"node {Id}");
        Outcome? a = A?.Outcome, b = B?.Outcome, c = C?.Outcome;
        Outcome = Kind switch
        {
            Kind.Return => null,
            Kind.Throw => thrown,
            Kind.Fault => new("System.NullReferenceException", "Object reference not set to an instance of an object."),
            Kind.Each => a ?? b,
            Kind.Finally => b ?? a,
            Kind.Catch => a is null ? c : a.IsOwn == Own ? b ?? c : a,
            Kind.Rethrow => a is null ? null : b ?? a,
            Kind.Other => a is null ? null : thrown,
            _ => a is null ? null : b is null && a.IsOwn == Own ? c : a,
        };
    }
}

internal static class Trees
{
    private const MethodImplOptions Apart = MethodImplOptions.NoInlining;
    private const int Depth = 6;

    public static readonly List<Node> All = new();

    private static Node[] nodes = Array.Empty<Node>();

    /// <summary>So many trees on each thread.</summary>
    public static void Run(int count, int threads, int seed)
    {
        var roots = new Node[threads, count];
        var all = new List<Thread>();
        var random = new Random(seed);
        All.Clear();
        for (int i = 0; i < threads * count; i++)
        {
            roots[i / count, i % count] = Make(random, Depth);
        }
        nodes = All.ToArray();
        for (int i = 0; i < threads; i++)
        {
            int thread = i;
            all.Add(new Thread(() =>
            {
                for (int j = 0; j < count; j++)
                {
                    Root(roots[thread, j]);
                }
            }));
        }
        all.ForEach(thread => thread.Start());
        all.ForEach(thread => thread.Join());
    }

    private static Node Make(Random random, int depth)
    {
        var node = new Node { Own = random.Next(2) == 0, Kind = (Kind)random.Next(depth > 0 ? 9 : 3) };
        if (depth == Depth && node.Kind < Kind.Each)
        {
            node.Kind = Kind.Each;
        }
        if (node.Kind >= Kind.Each)
        {
            node.A = Make(random, depth - 1);
        }
        if (node.Kind >= Kind.Each && node.Kind != Kind.Other)
        {
            node.B = Make(random, depth - 1);
        }
        if (node.Kind is Kind.Catch or Kind.Filter)
        {
            node.C = Make(random, depth - 1);
        }
        node.Id = All.Count;
        node.Decide();
        All.Add(node);
        return node;
    }

    // The calls are made by methods that are shown themselves.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void Call(Node node)
    {
        switch (node.Kind)
        {
            case Kind.Return: Return(node.Id); break;
            case Kind.Throw: Throw(node.Id); break;
            case Kind.Fault: Fault(node.Id); break;
            case Kind.Each: Each(node.Id); break;
            case Kind.Finally: Finally(node.Id); break;
            case Kind.Catch: Catch(node.Id); break;
            case Kind.Rethrow: Rethrow(node.Id); break;
            case Kind.Other: Other(node.Id); break;
            default: Filter(node.Id); break;
        }
    }

    private static void Root(Node root)
    {
        try
        {
            Call(root);
        }
        catch (Exception e)
        {
            if (e.GetType().FullName != root.Outcome?.Type || e.Message != root.Outcome?.Message)
            {
                Environment.FailFast($"{root.Id} should be left by {root.Outcome}, not by {e}");
            }
        }
    }

    [MethodImpl(Apart)]
    public static void Return(int id)
    {
    }

    [MethodImpl(Apart)]
    public static void Throw(int id)
    {
        if (id >= 0)
        {
            throw nodes[id].Exception;
        }
    }

    [MethodImpl(Apart)]
    public static int Fault(int id) => ((string)Cases.Nothing!).Length + id;

    [MethodImpl(Apart)]
    public static void Each(int id)
    {
        Call(nodes[id].A);
        Call(nodes[id].B);
    }

    [MethodImpl(Apart)]
    public static void Finally(int id)
    {
        try
        {
            Call(nodes[id].A);
        }
        finally
        {
            Call(nodes[id].B);
        }
    }

    [MethodImpl(Apart)]
    public static void Catch(int id)
    {
        Node node = nodes[id];
        try
        {
            Call(node.A);
        }
        catch (OwnException) when (node.Own)
        {
            Call(node.B);
        }
        catch (Exception e) when (!node.Own && e is not OwnException)
        {
            Call(node.B);
        }
        Call(node.C);
    }

    [MethodImpl(Apart)]
    public static void Rethrow(int id)
    {
        try
        {
            Call(nodes[id].A);
        }
        catch (Exception)
        {
            Call(nodes[id].B);
            throw;
        }
    }

    [MethodImpl(Apart)]
    public static void Other(int id)
    {
        try
        {
            Call(nodes[id].A);
        }
        catch (Exception)
        {
            throw nodes[id].Exception;
        }
    }

    [MethodImpl(Apart)]
    public static void Filter(int id)
    {
        Node node = nodes[id];
        try
        {
            Call(node.A);
        }
        catch (Exception e) when (Test(node, e))
        {
            Call(node.C);
        }
    }

    // What is thrown in there is lost, and counts as false.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool Test(Node node, Exception e)
    {
        Call(node.B);
        return e is OwnException == node.Own;
    }
}
