// SPDX-License-Identifier: GPL-2.0-or-later
//
// The target of the tests of --trace: a root that calls other methods in ways that its argument
// chooses, and notes the tree of each of its calls itself. It speaks as tests/apps/counter does:
//
//   (start)                 ready PID
//   run KINDS N THREADS     on each thread, N times, a root call of each of KINDS (0-9) -> done run
//   note PATH               the trees since the last time go there, a line each         -> noted TREES
//   quit CODE               exit with CODE                                              -> (nothing)
using System;
using System.IO;
using System.Threading;

namespace Traced;

internal static class Program
{
    private static int Main()
    {
        Run("0123456789", 1, 1);
        Truth.Take();
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

    private static string Obey(string[] words)
    {
        switch (words)
        {
            case ["run", var kinds, var times, var threads]:
                Run(kinds, int.Parse(times), int.Parse(threads));
                return "done run";
            case ["note", var path]:
                string[] trees = Truth.Take();
                File.WriteAllLines(path, trees);
                return $"noted {trees.Length}";
            default:
                return "error what was that";
        }
    }

    private static void Run(string kinds, int times, int count)
    {
        var threads = new Thread[count];
        for (int i = 0; i < count; i++)
        {
            threads[i] = new Thread(() => Repeat(kinds, times), 16 << 20) { Name = "shop" };
            threads[i].Start();
        }
        foreach (Thread thread in threads)
        {
            thread.Join();
        }
    }

    // What is called outside of roots is in no tree.
    private static void Repeat(string kinds, int times)
    {
        for (int i = 0; i < times; i++)
        {
            foreach (char kind in kinds)
            {
                Steps.Query(i);
                Shop.Checkout(kind - '0');
                Steps.Dive(3);
                Steps.Guard(2);
            }
        }
        Truth.Keep();
    }
}
