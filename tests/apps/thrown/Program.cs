// SPDX-License-Identifier: GPL-2.0-or-later
//
// The target of the tests of what calls throw. It speaks as tests/apps/counter does, a line of standard input answered
// by one of standard output:
//
//   (start)              ready PID
//   throw N THREADS      all cases N times on each thread                                -> done N
//   trees N THREADS SEED N trees of calls at random on each thread                       -> done N
//   collect MS           collections so often from now on, 0: no more                    -> collecting MS
//   note FILE            calls from now on are noted                                     -> noting
//   end                  they are in FILE, a line each: METHOD ID, TYPE or -, MESSAGE    -> noted LINES
//   quit CODE            exit with CODE                                                  -> (nothing)
using System;
using System.Collections.Generic;
using System.IO;
using System.Threading;

namespace Thrown;

internal static class Program
{
    private static string file = "";
    private static volatile int pause;

    private static int Main()
    {
        new Thread(Collect) { IsBackground = true }.Start();
        Round.All(0);
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
            case ["throw", var count, var threads]:
                Throw(int.Parse(count), int.Parse(threads));
                return $"done {count}";
            case ["trees", var count, var threads, var seed]:
                Trees.Run(int.Parse(count), int.Parse(threads), int.Parse(seed));
                return $"done {count}";
            case ["collect", var milliseconds]:
                pause = int.Parse(milliseconds);
                return $"collecting {milliseconds}";
            case ["note", var path]:
                file = path;
                Trees.All.Clear();
                Truth.Take();
                Truth.On = true;
                return "noting";
            case ["end"]:
                Trees.All.ForEach(Truth.Note);
                List<string> calls = Truth.Take();
                Truth.On = false;
                File.WriteAllLines(file, calls);
                return $"noted {calls.Count}";
            default:
                return "what?";
        }
    }

    private static void Throw(int count, int threads)
    {
        var all = new List<Thread>();
        for (int i = 0; i < threads; i++)
        {
            int first = 1 + i * count;
            all.Add(new Thread(() =>
            {
                for (int round = first; round < first + count; round++)
                {
                    Round.All(round);
                }
            }));
        }
        all.ForEach(thread => thread.Start());
        all.ForEach(thread => thread.Join());
    }
}
