// SPDX-License-Identifier: GPL-2.0-or-later
// Calls a native function from all kinds of source, and notes each time the lines that the runtime says.
//
// Reads a line "run ROUNDS FILE", makes that many rounds, and writes to FILE a line for each call of
// mrand48(): the frames of a StackTrace(true) that was taken in the same line, innermost first, as
// TYPE::METHOD, FILE, LINE and COLUMN with "?" between them, and ";" between frames.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace Lines;

internal static class Place
{
    private static readonly object OneAtATime = new();
    private static readonly List<string> Notes = new();

    [DllImport("libc", EntryPoint = "mrand48")]
    private static extern long Probed();

    /// <summary>The stack that is noted and the one at the probe are of the same line.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Reach(int value)
    {
        lock (OneAtATime)
        {
            Notes.Add(Spell(new StackTrace(true))); _ = Probed();
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

            text.Append(text.Length > 0 ? ";" : "").Append(method?.DeclaringType?.FullName ?? "dynamicClass")
                .Append("::").Append(method?.Name ?? "-").Append('?').Append(frame.GetFileName()).Append('?')
                .Append(frame.GetFileLineNumber()).Append('?').Append(frame.GetFileColumnNumber());
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
                Sources.All(round);
            }

            Place.Write(words[2]);
            Console.WriteLine("done");
        }
    }
}
