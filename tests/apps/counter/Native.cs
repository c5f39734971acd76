// SPDX-License-Identifier: GPL-2.0-or-later
// By way of tests/apps/native/helper.c: children that run managed code, and many mappings.
using System;
using System.Runtime.InteropServices;

namespace Counted;

internal static unsafe class Native
{
    private enum How
    {
        Here,
        Fork,
        Vfork,
        Clone,
    }

    private static string kindOfChild = "";
    private static int callsOfChild;

    [UnmanagedCallersOnly]
    private static int InChild(void* argument)
    {
        Caller.Here(kindOfChild, callsOfChild);
        return 0;
    }

    private static nint Helper(string name)
    {
        string path = Environment.GetEnvironmentVariable("COUNTED_HELPER")!;
        return NativeLibrary.GetExport(NativeLibrary.Load(path), name);
    }

    /// <summary>
    /// Make calls in a child of this process: fork, vfork, or clone with shared memory. Calls of
    /// that kind must have been made before: preparing a method in a child would spoil it here,
    /// for the runtime keeps its code in memory that even a fork's child shares.
    /// </summary>
    public static int CallInChild(string how, string kind, int calls)
    {
        var run = (delegate* unmanaged<How, delegate* unmanaged<void*, int>, void*, int>)Helper("run_in_child");
        kindOfChild = kind;
        // Once without a child, so that nothing is left for the runtime to prepare in the child.
        callsOfChild = 0;
        int status = run(How.Here, &InChild, null);
        callsOfChild = calls;
        return status + run(Enum.Parse<How>(how, ignoreCase: true), &InChild, null);
    }

    public static int MakeMappings(int count) => ((delegate* unmanaged<int, int>)Helper("make_mappings"))(count);
}
