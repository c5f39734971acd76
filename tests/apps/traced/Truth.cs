// SPDX-License-Identifier: GPL-2.0-or-later
// What was called below each root, as the methods note it themselves.
using System;
using System.Collections.Generic;
using System.Linq;

namespace Traced;

/// <summary>The calls of one method within another, all together.</summary>
internal sealed class Node
{
    public readonly string Name;
    public readonly Node? Parent;
    private readonly List<Node> children = new();
    private int calls, unwound;

    public Node(string name, Node? parent)
    {
        Name = name;
        Parent = parent;
    }

    public Node Call(string name)
    {
        Node? child = children.Find(node => node.Name == name);
        if (child == null)
        {
            child = new Node(name, this);
            children.Add(child);
        }
        child.calls++;
        return child;
    }

    public void Unwind() => unwound++;

    public override string ToString() =>
        $"{{\"method\":\"{Name}\",\"calls\":{calls},\"unwound\":{unwound},\"children\":[{string.Join(",", children)}]}}";

    public string Only() => children.Single().ToString();
}

internal static class Truth
{
    [ThreadStatic] private static Node? here;
    [ThreadStatic] private static List<string>? trees;

    private static readonly List<string> All = new();

    /// <summary>That of the method which has been entered last.</summary>
    public static Node Here => here!;

    /// <summary>Returns that of its caller; outside of roots nothing is noted.</summary>
    public static Node Enter(string name)
    {
        Node before = here ?? new Node("", null);
        bool noted = here != null || name == "Checkout";
        here = noted ? before.Call(name) : null;
        return before;
    }

    public static void Leave(Node before)
    {
        if (before.Parent == null && before.Name == "")
        {
            if (here != null)
            {
                (trees ??= new()).Add(before.Only());
            }
            here = null;
            return;
        }
        here = before;
    }

    /// <summary>An exception has come to the method of @mine: what is further in has been left.</summary>
    public static void Unwind(Node? mine)
    {
        for (; here != mine && here != null; here = here.Parent)
        {
            here.Unwind();
        }
    }

    /// <summary>The thread ends.</summary>
    public static void Keep()
    {
        lock (All)
        {
            All.AddRange(trees ?? new());
        }
    }

    public static string[] Take()
    {
        lock (All)
        {
            string[] taken = All.ToArray();
            All.Clear();
            return taken;
        }
    }
}
