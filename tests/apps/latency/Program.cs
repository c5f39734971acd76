// SPDX-License-Identifier: GPL-2.0-or-later
//
// The target of the tests of --hist: methods that know how long they took. It speaks as
// tests/apps/counter does, a line of standard input answered by one of standard output:
//
//   (start)                       ready PID
//   spin US N THREADS             N calls of Work.Spin in all, on THREADS threads      -> done spin
//                                 that end then (0: on the serving one)
//   nap MS N THREADS              likewise of Work.Nap                                 -> done nap
//   early|tail|ways N THREADS     likewise                                             -> done early
//   direct|mutual DEPTH N THREADS N recursions each                                    -> done direct
//   pass US                       that much time passes at each depth                  -> passing US
//   first|second US N THREADS     N calls of a caller of Work.Spin                     -> done first
//   frames PLAN N THREADS         see Frames.cs; N times on each thread                -> done frames
//   frames-tick PLAN N THREADS    and then a call of Work.Tick                         -> done frames-tick
//   begin MS THREADS              threads that are in Work.Nap once this is answered   -> begun THREADS
//   end                           and have ended                                       -> ended
//   storm on THREADS              see Storm.cs                                         -> storm begun
//   storm rounds                                                                       -> storm ROUNDS
//   storm off                                                                          -> storm RESULT DIFFERENT
//   crowd on THREADS US           see Crowd.cs; each round takes so long at least         -> crowd on
//   crowd truth                   calls of each of its methods so far                     -> crowd N N...
//   crowd off                                                                             -> crowd off
//   interrupted MS THREADS                   see Interrupted.cs -> interrupted CALLS WRONG COLLECTIONS
//   truth METHOD                  of each thread that has called it           -> truth TID:ENTERED:NS,NS...:NS,NS...
//   forget                        nothing was called                                   -> forgotten
//   quit CODE                     exit with CODE                                       -> (nothing)
using System;
using System.Collections.Generic;
using System.Threading;

namespace Timed;

internal static class Program
{
    private static readonly List<Thread> Begun = new();

    private static int Main()
    {
        Warm();
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

    // Calls are bound, and methods compiled, the first time.
    private static void Warm()
    {
        Obey(["spin", "1", "2", "1"]);
        Obey(["nap", "1", "1", "1"]);
        Obey(["early", "8", "1"]);
        Obey(["tail", "1", "1"]);
        Obey(["ways", "6", "1"]);
        Obey(["direct", "2", "1", "1"]);
        Obey(["mutual", "3", "1", "1"]);
        Obey(["first", "1", "1", "1"]);
        Obey(["second", "1", "1", "1"]);
        Obey(["frames-tick", "aprftwnpc.", "1", "1"]);
        foreach (string plan in new[] { "pr!", "pf!", "pt!", "pw!", "pn!", "pc!", "pa!", "px" })
        {
            Obey(["frames-tick", plan, "1", "1"]);
        }
        Truth.Forget();
    }

    private static string Obey(string[] words)
    {
        try
        {
            return words switch
            {
                ["spin", var time, var calls, var threads] =>
                    Share(words[0], calls, threads, Repeat(int.Parse(time), static x => Work.Spin(x), Method.Spin)),
                ["nap", var time, var calls, var threads] =>
                    Share(words[0], calls, threads, Repeat(int.Parse(time), static x => Work.Nap(x), Method.Nap)),
                ["early", var calls, var threads] =>
                    Share(words[0], calls, threads, InTurn(8, static way => Work.Early(way, "some text"))),
                ["ways", var calls, var threads] =>
                    Share(words[0], calls, threads, InTurn(4, static way => Work.Ways(way))),
                ["tail", var calls, var threads] =>
                    Share(words[0], calls, threads, Repeat(1, Work.Tail)),
                ["direct", var depth, var calls, var threads] =>
                    Share(words[0], calls, threads, Repeat(int.Parse(depth), static x => Recursion.Direct(x))),
                ["mutual", var depth, var calls, var threads] =>
                    Share(words[0], calls, threads, Repeat(int.Parse(depth), static x => Recursion.Ping(x))),
                ["first", var time, var calls, var threads] =>
                    Share(words[0], calls, threads, Repeat(int.Parse(time), static x => Callers.First(x))),
                ["second", var time, var calls, var threads] =>
                    Share(words[0], calls, threads, Repeat(int.Parse(time), static x => Callers.Second(x))),
                ["frames", var plan, var times, var threads] =>
                    OnEach(words[0], threads, () => Frames.Run(plan, int.Parse(times), tick: false)),
                ["frames-tick", var plan, var times, var threads] =>
                    OnEach(words[0], threads, () => Frames.Run(plan, int.Parse(times), tick: true)),
                ["begin", var time, var threads] => Begin(int.Parse(time), int.Parse(threads)),
                ["end"] => End(),
                ["storm", "on", var threads] => $"storm {Storm.Begin(int.Parse(threads))}",
                ["storm", "rounds"] => $"storm {Storm.Rounds()}",
                ["storm", "off"] => $"storm {Storm.End()}",
                ["crowd", "on", var threads, var pause] => Crowded(int.Parse(threads), int.Parse(pause)),
                ["crowd", "off"] => Crowded(0, 0),
                ["crowd", "truth"] => $"crowd {Crowd.Truth()}",
                ["interrupted", var time, var threads] =>
                    $"interrupted {Interrupted.Run(int.Parse(time), int.Parse(threads))}",
                ["truth", var method] => $"truth {Truth.Of(Enum.Parse<Method>(method))}",
                ["pass", var time] => Pass(int.Parse(time)),
                ["forget"] => Forget(),
                _ => "error what was that",
            };
        }
        catch (Exception e)
        {
            return $"error {e.GetType().Name} {e.Message.ReplaceLineEndings(" ")}";
        }
    }

    private static string Crowded(int threads, int microseconds)
    {
        if (threads == 0)
        {
            Crowd.Halt();
            return "crowd off";
        }
        Crowd.Run(threads, microseconds);
        return "crowd on";
    }

    // What is called by that and nothing else, if it is a method that is to be timed.
    private static Action<int> Repeat(int argument, Func<int, int> call, Method? timed = null) => times =>
    {
        for (int i = 0; i < times; i++)
        {
            long before = Truth.Now();
            call(argument);
            if (timed is { } method)
            {
                Truth.Around(method, before);
            }
        }
    };

    private static Action<int> InTurn<T>(int ways, Func<int, T> call) => times =>
    {
        for (int i = 0; i < times; i++)
        {
            call(i % ways);
        }
    };

    private static string Share(string name, string calls, string threads, Action<int> work)
    {
        int all = int.Parse(calls), sharing = Math.Max(int.Parse(threads), 1), taken = -1;
        return OnEach(name, threads, () =>
        {
            int mine = Interlocked.Increment(ref taken);
            work(all / sharing + (mine < all % sharing ? 1 : 0));
        });
    }

    private static string OnEach(string name, string threads, Action work)
    {
        int number = int.Parse(threads);
        if (number == 0)
        {
            Truth.Prepare();
            work();
            return $"done {name}";
        }
        using var all = new Barrier(number);
        var started = new List<Thread>();
        for (int i = 0; i < number; i++)
        {
            var thread = new Thread(() =>
            {
                Truth.Prepare();
                all.SignalAndWait();
                work();
            });
            started.Add(thread);
            thread.Start();
        }
        started.ForEach(thread => thread.Join());
        return $"done {name}";
    }

    private static string Begin(int milliseconds, int threads)
    {
        using var started = new CountdownEvent(threads);
        for (int i = 0; i < threads; i++)
        {
            var thread = new Thread(() =>
            {
                Truth.Prepare();
                started.Signal();
                Work.Nap(milliseconds);
            });
            Begun.Add(thread);
            thread.Start();
        }
        started.Wait();
        // From there it is a few instructions into the method, which cannot tell before it is in it.
        while (!Begun.TrueForAll(thread => (thread.ThreadState & ThreadState.WaitSleepJoin) != 0))
        {
            Thread.Sleep(1);
        }
        return $"begun {threads}";
    }

    private static string End()
    {
        Begun.ForEach(thread => thread.Join());
        Begun.Clear();
        return "ended";
    }

    private static string Pass(int microseconds)
    {
        Recursion.Microseconds = microseconds;
        return $"passing {microseconds}";
    }

    private static string Forget()
    {
        Truth.Forget();
        return "forgotten";
    }
}
