// SPDX-License-Identifier: GPL-2.0-or-later
// Gets to one method by every way that .NET has, and notes down each time what the runtime says how.
//
// Reads a line "run ROUNDS FILE", makes that many rounds, and writes to FILE a line for each call of
// Place.Probed(): the frames of a StackTrace that was taken in its caller, innermost first, as
// "TYPE::METHOD" with ";" between them; one that is hidden from stack traces cannot be among them.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;

namespace Stacks;

internal static class Place
{
    private static readonly object OneAtATime = new();
    private static readonly List<string> Notes = new();
    private static int calls;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Probed() => Interlocked.Increment(ref calls);

    /// <summary>The stack that is noted and the one at the probe are this method's, of the same call.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Reach(int value)
    {
        lock (OneAtATime)
        {
            Notes.Add(Spell(new StackTrace(false)));
            Probed();
        }

        return value;
    }

    private static string Spell(StackTrace trace)
    {
        var text = new StringBuilder();
        foreach (StackFrame frame in trace.GetFrames())
        {
            MethodBase? method = frame.GetMethod();
            // Native functions, the runtime's and others: the runtime knows that they were called, but they are no methods.
            if (method != null && ((method.Attributes & MethodAttributes.PinvokeImpl) != 0 ||
                (method.MethodImplementationFlags & MethodImplAttributes.InternalCall) != 0))
            {
                continue;
            }

            if (text.Length > 0)
            {
                text.Append(';');
            }

            text.Append(method?.DeclaringType?.FullName ?? (method?.DeclaringType?.Name ?? "dynamicClass"));
            text.Append("::").Append(method?.Name ?? "?");
        }

        return text.ToString();
    }

    public static void Write(string file)
    {
        File.WriteAllLines(file, Notes);
        Notes.Clear();
    }
}

internal static class Program
{
    private static void Main()
    {
        Console.WriteLine($"ready {Environment.ProcessId}");
        while (Console.ReadLine() is { } line)
        {
            string[] words = line.Split(' ');
            if (words[0] != "run")
            {
                break;
            }

            for (int round = 0; round < int.Parse(words[1]); round++)
            {
                Ways.All(round);
            }

            Place.Write(words[2]);
            Console.WriteLine("done");
        }
    }
}
