// SPDX-License-Identifier: GPL-2.0-or-later
// Methods that are calls of native functions. Those count, in tests/apps/native/helper.c: a method
// of this kind has no room for a count of its own.
using System;
using System.Runtime.InteropServices;

namespace Counted;

/// <summary>The methods; what is to be said of each is in its attribute.</summary>
internal static class PInvokes
{
    private const string Library = "counted-helper";

    // Nothing to convert: who is compiled ahead of time or optimised has the call in itself.
    [DllImport(Library, EntryPoint = "counted_direct")]
    public static extern int Direct(int x);

    [DllImport(Library, EntryPoint = "counted_delegate")]
    public static extern int ByDelegate(int x);

    [DllImport(Library, EntryPoint = "counted_pointer")]
    public static extern int ByPointer(int x);

    [DllImport(Library, EntryPoint = "counted_guarded")]
    public static extern int Guarded(int x);

    [DllImport(Library, EntryPoint = "counted_suppressed"), SuppressGCTransition]
    public static extern int Suppressed(int x);

    // Something to convert, or to be kept: by a stub.
    [DllImport(Library, EntryPoint = "counted_error", SetLastError = true)]
    public static extern int Error(long x);

    [DllImport(Library, EntryPoint = "counted_text", CharSet = CharSet.Ansi)]
    public static extern int Text(string text);

    // By one stub, for they look alike.
    [DllImport(Library, EntryPoint = "counted_one", SetLastError = true)]
    public static extern int One(int x, int y);

    [DllImport(Library, EntryPoint = "counted_other", SetLastError = true)]
    public static extern int Other(int x, int y);

    // Whoever asks how often a function was called, which is done before any call, has it found.
    private static readonly nint Helper = Find();

    private static nint Find()
    {
        nint helper = NativeLibrary.Load(Environment.GetEnvironmentVariable("COUNTED_HELPER")!);
        NativeLibrary.SetDllImportResolver(typeof(PInvokes).Assembly,
                                           (name, _, _) => name == Library ? helper : 0);
        return helper;
    }

    /// <summary>How often the native function was called.</summary>
    public static unsafe long Calls(string function) => *(long*)NativeLibrary.GetExport(Helper, function + "_calls");
}

/// <summary>Their callers.</summary>
internal static class PInvokeCallers
{
    public static void CallDirect(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            PInvokes.Direct(i);
        }
    }

    public static void CallDelegate(int calls)
    {
        Func<int, int> method = PInvokes.ByDelegate;
        for (int i = 0; i < calls; i++)
        {
            method(i);
        }
    }

    public static unsafe void CallPointer(int calls)
    {
        delegate*<int, int> method = &PInvokes.ByPointer;
        for (int i = 0; i < calls; i++)
        {
            method(i);
        }
    }

    public static void CallGuarded(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            try
            {
                PInvokes.Guarded(i);
            }
            finally
            {
                GC.KeepAlive(null);
            }
        }
    }

    public static void CallSuppressed(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            PInvokes.Suppressed(i);
        }
    }

    public static void CallSuppressedByDelegate(int calls)
    {
        Func<int, int> method = PInvokes.Suppressed;
        for (int i = 0; i < calls; i++)
        {
            method(i);
        }
    }

    public static void CallError(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            PInvokes.Error(i);
        }
    }

    public static void CallText(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            PInvokes.Text("text");
        }
    }

    public static void CallOne(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            PInvokes.One(i, i);
        }
    }

    public static void CallOther(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            PInvokes.Other(i, i);
        }
    }
}
