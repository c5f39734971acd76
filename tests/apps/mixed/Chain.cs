// SPDX-License-Identifier: GPL-2.0-or-later
// The managed half of a chain of calls between JavaScript and .NET: see mixed.js.
using System;
using System.Diagnostics;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

namespace Mixed;

/// <summary>Called by JavaScript, calls JavaScript, and at the end of the chain sleeps.</summary>
public static class Chain
{
    /// <summary>JavaScript goes on with one level less; `note` gets the methods that are on the stack. With less than
    /// none that is all.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Enter(int levels, Func<int, int> into, Func<string, int> note)
    {
        return new Level(levels).Pass(into, note) + 1;
    }

    /// <summary>The methods on this thread's stack from the caller on, innermost first, as "TYPE::METHOD" with ";"
    /// between them, and "|" behind those that were called by native code.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static string Spell()
    {
        var text = new StringBuilder();
        string separator = "";
        foreach (StackFrame frame in new StackTrace(1, false).GetFrames())
        {
            MethodBase? method = frame.GetMethod();
            // Native functions, the runtime's and others: the runtime knows that they were called, but they are no methods.
            if (method != null && ((method.Attributes & MethodAttributes.PinvokeImpl) != 0 ||
                (method.MethodImplementationFlags & MethodImplAttributes.InternalCall) != 0))
            {
                continue;
            }

            text.Append(separator);
            text.Append(method?.DeclaringType?.FullName ?? "dynamicClass").Append("::").Append(method?.Name ?? "?");
            separator = method != null && method.IsDefined(typeof(UnmanagedCallersOnlyAttribute), false) ? "|" : ";";
        }

        return text.ToString();
    }

    /// <summary>Its callee is never inlined, however warm it gets.</summary>
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
    internal static int Sleep(Func<string, int> note)
    {
        int frames = note(Spell());
        Thread.Sleep(1);
        return frames;
    }
}

internal readonly struct Level
{
    private readonly int left;

    public Level(int left) => this.left = left;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Pass(Func<int, int> into, Func<string, int> note)
    {
        return left > 0 ? Through(into, note) : left == 0 ? Chain.Sleep(note) : note(Chain.Spell());
    }

    // Where its caller is optimised it is inlined, and on no stack.
    private int Through(Func<int, int> into, Func<string, int> note)
    {
        note(Chain.Spell());
        return into(left - 1) + left;
    }
}

/// <summary>What the addon calls, with handles of JavaScript functions.</summary>
public static unsafe class Hosted
{
    [UnmanagedCallersOnly]
    public static int Enter(nint env, nint into, nint note, int levels,
                            delegate* unmanaged<nint, nint, int, byte*, int> call)
    {
        return Chain.Enter(levels, left => call(env, into, left, null), text =>
        {
            fixed (byte* bytes = Encoding.UTF8.GetBytes(text + "\0"))
            {
                return call(env, note, 0, bytes);
            }
        });
    }
}
