// SPDX-License-Identifier: GPL-2.0-or-later
// Two hundred methods (generate.py) that count their calls, and some that take a known time, called from many
// threads on command; and code of every other sort that comes up meanwhile. One command a line:
//   go ROUNDS THREADS     call all of the methods on each thread, so often at least
//   spin CALLS THREADS    call the timed ones; each says how long it took
//   fill NUMBER           have so many other methods compiled
//   beside on|off         have generics, dynamic methods and collectible code come up, and exceptions thrown
//   counts, times         what was counted so far: calls by method; calls, and nanoseconds at least and at most
//   weigh MB              have so much memory in use, so that its end takes time
//   quit CODE
using System;
using System.Linq;
using System.Runtime.InteropServices;
using System.Threading;

namespace Many;

internal static class Program
{
    private static int Main()
    {
        Console.WriteLine($"ready {Environment.ProcessId}");
        while (Console.ReadLine() is { } line)
        {
            string[] words = line.Split(' ');
            switch (words[0])
            {
                case "go":
                    OnThreads(int.Parse(words[2]), () => Go(int.Parse(words[1])));
                    Console.WriteLine("done");
                    break;
                case "spin":
                    OnThreads(int.Parse(words[2]), () => Timed.Spin(int.Parse(words[1])));
                    Console.WriteLine("done");
                    break;
                case "fill":
                    Beside.Fill(int.Parse(words[1]));
                    Console.WriteLine("filled");
                    break;
                case "beside":
                    Console.WriteLine($"beside {Beside.Turn(words[1] == "on")}");
                    break;
                case "counts":
                    Console.WriteLine("counts " + string.Join(' ', Truth.Counts()));
                    break;
                case "times":
                    Console.WriteLine("times " + string.Join(' ', Timed.Totals()));
                    break;
                case "weigh":
                    Weigh(long.Parse(words[1]) << 20);
                    Console.WriteLine("weighs");
                    break;
                case "quit":
                    return int.Parse(words[1]);
            }
        }
        return 0;
    }

    /// <summary>Each page of it is touched, and none is part of the heap.</summary>
    private static unsafe void Weigh(long bytes)
    {
        byte* memory = (byte*)NativeMemory.Alloc((nuint)bytes);
        for (long at = 0; at < bytes; at += Environment.SystemPageSize)
        {
            memory[at] = 1;
        }
    }

    private static void OnThreads(int number, ThreadStart work)
    {
        Thread[] threads = Enumerable.Range(0, number).Select(_ => new Thread(work)).ToArray();
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
    }

    // No two methods next to each other are called equally often.
    private static void Go(int rounds)
    {
        Func<int, long>[] table = Generated.Table;
        for (int round = 0; round < rounds; round++)
        {
            for (int i = 0; i < table.Length; i++)
            {
                for (int again = 0; again <= i % 7; again++)
                {
                    table[i](round * 7 + again);
                }
            }
        }
    }
}
