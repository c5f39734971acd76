// SPDX-License-Identifier: GPL-2.0-or-later
//
// The target of the tests of --watch: methods of all shapes that note what they were given. It speaks as
// tests/apps/counter does, a line of standard input answered by one of standard output:
//
//   (start)              ready PID
//   call N THREADS       all methods N times on each thread, with other values each time         -> done N
//   asked N THREADS      what filters are tried on (Asked.cs), likewise                             -> done N
//   hostile N SEED       N calls with objects that are none (Hostile.cs)                           -> done N
//   late N               N calls of a method whose types are not loaded before the first            -> done N
//   kinds N THREADS      likewise tasks, delegates and objects of other types than declared         -> done N
//   made N               N calls of an async method, an iterator and a lambda                      -> done N
//   collect MS           collections so often from now on, 0: no more                             -> collecting MS
//   note FILE            calls from now on are noted                                              -> noting
//   end                  they are in FILE, a line each                                            -> noted LINES
//   quit CODE            exit with CODE                                                           -> (nothing)
using System;
using System.IO;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Values;

internal static class Program
{
    private static string file = "";
    private static volatile int pause;

    private static int Main()
    {
        Rounds.All(0);
        Kinds.All(0);
        Made.All(1);
        Asked.Round(0);
        new Thread(Collect) { IsBackground = true }.Start();
        Answer($"ready {Environment.ProcessId}");
        while (Console.In.ReadLine() is { } line)
        {
            string[] words = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            if (words is ["quit", var code])
            {
                return int.Parse(code);
            }
            Answer(Obey(words));
        }
        return 0;
    }

    private static void Answer(string line)
    {
        Console.Out.WriteLine(line);
        Console.Out.Flush();
    }

    private static void Collect()
    {
        while (true)
        {
            Thread.Sleep(pause > 0 ? pause : 50);
            if (pause > 0)
            {
                GC.Collect();
            }
        }
    }

    private static string Obey(string[] words)
    {
        switch (words)
        {
            case ["call", var count, var threads]:
                Call(int.Parse(count), int.Parse(threads), Rounds.All);
                return $"done {count}";
            case ["kinds", var count, var threads]:
                Call(int.Parse(count), int.Parse(threads), Kinds.All);
                return $"done {count}";
            case ["made", var count]:
                Made.All(int.Parse(count));
                return $"done {count}";
            case ["asked", var count, var threads]:
                Call(int.Parse(count), int.Parse(threads), Asked.Round);
                return $"done {count}";
            case ["hostile", var count, var seed]:
                Hostile.Run(int.Parse(count), int.Parse(seed));
                return $"done {count}";
            case ["late", var count]:
                CallLate(int.Parse(count));
                return $"done {count}";
            case ["collect", var milliseconds]:
                pause = int.Parse(milliseconds);
                return $"collecting {milliseconds}";
            case ["note", var path]:
                file = path;
                Truth.Take();
                Truth.On = true;
                return "noting";
            case ["end"]:
                Truth.On = false;
                List<string> calls = Truth.Take();
                File.WriteAllLines(file, calls);
                return $"noted {calls.Count}";
            default:
                return "what?";
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void CallLate(int count)
    {
        for (int i = 0; i < count; i++)
        {
            Later.Late(new LateStruct { A = i, B = -i, Text = $"late {i}" }, i);
        }
    }

    private static void Call(int count, int threads, Action<int> make)
    {
        var callers = new List<Thread>();
        for (int i = 0; i < threads; i++)
        {
            int seed = i * 1000003;
            callers.Add(new Thread(() =>
            {
                for (int round = 0; round < count; round++)
                {
                    make(seed + round);
                }
            }));
        }
        callers.ForEach(thread => thread.Start());
        callers.ForEach(thread => thread.Join());
    }
}
