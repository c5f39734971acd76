// SPDX-License-Identifier: GPL-2.0-or-later
//
// The tests' target. It reads one command a line from standard input and answers each
// with one line on standard output when all of it has happened, so no test has to wait
// for "long enough":
//
//   (start)                  ready PID
//   calls KIND N THREADS     make N calls in all on THREADS new threads  -> done KIND COUNT
//   nest KIND N THREADS      as calls, on threads that start each other  -> done KIND COUNT
//   workers N                start N threads that wait for work          -> workers N
//   work KIND N              N calls in all by those workers             -> done KIND COUNT
//   run KIND THREADS         have threads make calls until halt          -> running KIND
//   halt                     end those threads                           -> halted THREADS
//   gap on|off               a thread looks at the clock all the time    -> gap on
//                            -> gap off LONGEST-MICROSECONDS HOW-OFTEN-OVER-1-MS
//   sleep N                  Thread.Sleep(0) N times                     -> done sleep N
//   storm on|off             collect garbage and throw on other threads  -> storm on|off ROUNDS
//   storm gentle             as on, with a millisecond between rounds    -> storm on ROUNDS
//   spawn KIND N             a child of this program makes N calls       -> spawned STATUS
//   fork|vfork|clone KIND N  such a child makes N calls, after `calls`   -> spawned STATUS
//   plugin HOW PATH WHAT N   load an assembly from its file, from bytes or to be collected,
//                            and have it run WHAT                        -> plugin RESULT
//   unload                   unload those to be collected                -> unloaded LEFT
//   churn on|off PATH        load, run and unload it again and again     -> churn on|off ROUNDS
//   grow on|off PATH         have ever more methods compiled             -> grow on|off ROUNDS
//   maps N                   have at least N mappings                    -> maps N
//   true N                   start /bin/true N times                     -> spawned STATUS
//   count KIND               calls so far                                -> count KIND COUNT
//   exitmain                 end the main thread, go on in another       -> exited TID
//   quit CODE                exit with CODE                              -> (nothing)
//
// `counter --child KIND N` makes N calls and exits; `counter --count KIND N THREADS` makes them
// before anything else, as `calls` does, says `done KIND COUNT` and exits.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Threading;

namespace Counted;

internal static class Program
{
    private static readonly BlockingCollection<Action> Work = new();
    private static int workers;
    private static volatile bool storming;
    private static readonly List<Thread> Stormers = new();
    private static long stormRounds;

    [DllImport("libc", EntryPoint = "syscall")]
    private static extern long Syscall(long number, long argument);

    private const long SysExit = 60;
    private const long SysGettid = 186;

    private static int Main(string[] arguments)
    {
        if (arguments.Length == 4 && arguments[0] == "--count")
        {
            long made = Caller.Total(arguments[1], int.Parse(arguments[2]), int.Parse(arguments[3]));
            Answer($"done {arguments[1]} {made}");
            return 0;
        }
        if (arguments.Length == 3 && arguments[0] == "--child")
        {
            Caller.Here(arguments[1], int.Parse(arguments[2]));
            return 0;
        }
        Answer($"ready {Environment.ProcessId}");
        if (Serve(out int code))
        {
            return code;
        }
        // exitmain: only this thread goes, and with no unwinding through managed frames.
        long tid = Syscall(SysGettid, 0);
        var server = new Thread(() =>
        {
            Answer($"exited {tid}");
            Serve(out int end);
            Environment.Exit(end);
        });
        server.Start();
        Syscall(SysExit, 0);
        return 1;
    }

    private static void Answer(string line)
    {
        Console.Out.WriteLine(line);
        Console.Out.Flush();
    }

    /// <summary>Serve commands until `quit` or the end of input (true) or `exitmain` (false).</summary>
    private static bool Serve(out int code)
    {
        code = 0;
        while (Console.In.ReadLine() is { } line)
        {
            string[] words = line.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            switch (words)
            {
                case ["quit", var status]:
                    code = int.Parse(status);
                    return true;
                case ["exitmain"]:
                    return false;
                default:
                    Answer(Obey(words));
                    break;
            }
        }
        return true;
    }

    private static string Obey(string[] words)
    {
        try
        {
            return words switch
            {
                ["calls", var kind, var calls, var threads] =>
                    $"done {kind} {Caller.Total(kind, int.Parse(calls), int.Parse(threads))}",
                ["nest", var kind, var calls, var threads] =>
                    $"done {kind} {Caller.Nested(kind, int.Parse(calls), int.Parse(threads))}",
                ["workers", var count] => StartWorkers(int.Parse(count)),
                ["work", var kind, var calls] => ShareOut(kind, int.Parse(calls)),
                ["run", var kind, var threads] => Run(kind, int.Parse(threads)),
                ["halt"] => $"halted {Background.Halt()}",
                ["gap", "on"] => GapOn(),
                ["gap", "off"] => GapOff(),
                ["sleep", var count] => Sleep(int.Parse(count)),
                ["storm", "on"] => StormOn(0),
                ["storm", "gentle"] => StormOn(1),
                ["storm", "off"] => StormOff(),
                ["spawn", var kind, var calls] => Spawn(ThisProgram("--child", kind, calls), 1),
                [("fork" or "vfork" or "clone") and var how, var kind, var calls] =>
                    $"spawned {Native.CallInChild(how, kind, int.Parse(calls))}",
                ["plugin", var how, var path, var what, var number] =>
                    $"plugin {Plugins.Run(how, path, what, int.Parse(number))}",
                ["unload"] => $"unloaded {Plugins.Unload()}",
                ["churn", "on", var path] => $"churn on {Plugins.Begin(path, Plugins.Churn)}",
                ["churn", "off", _] => $"churn off {Plugins.End()}",
                ["grow", "on", var path] => $"grow on {Plugins.Begin(path, Plugins.Grow)}",
                ["grow", "off", _] => $"grow off {Plugins.End()}",
                ["maps", var count] => $"maps {Native.MakeMappings(int.Parse(count))}",
                ["true", var count] => Spawn(new ProcessStartInfo("/bin/true"), int.Parse(count)),
                ["count", var kind] => $"count {kind} {Caller.Count(kind)}",
                _ => "error what was that",
            };
        }
        catch (Exception e)
        {
            return $"error {e.GetType().Name} {e.Message.ReplaceLineEndings(" ")}";
        }
    }

    private static string StartWorkers(int count)
    {
        using var started = new CountdownEvent(count);
        for (int i = 0; i < count; i++)
        {
            var thread = new Thread(() =>
            {
                started.Signal();
                foreach (Action action in Work.GetConsumingEnumerable())
                {
                    action();
                }
            })
            { IsBackground = true, Name = $"worker-{i}" };
            thread.Start();
        }
        started.Wait();
        workers += count;
        return $"workers {workers}";
    }

    private static string ShareOut(string kind, int calls)
    {
        long before = Caller.Count(kind);
        using var finished = new CountdownEvent(workers);
        for (int i = 0; i < workers; i++)
        {
            int share = calls / workers + (i < calls % workers ? 1 : 0);
            Work.Add(() =>
            {
                Caller.Here(kind, share);
                finished.Signal();
            });
        }
        finished.Wait();
        return $"done {kind} {Caller.Count(kind) - before}";
    }

    private static string Sleep(int count)
    {
        for (int i = 0; i < count; i++)
        {
            Thread.Sleep(0);
        }
        return $"done sleep {count}";
    }

    private static string Run(string kind, int threads)
    {
        Background.Run(kind, threads);
        return $"running {kind}";
    }

    private static string GapOn()
    {
        Background.Watch();
        return "gap on";
    }

    private static string GapOff()
    {
        (long microseconds, long pauses) = Background.Seen();
        return $"gap off {microseconds} {pauses}";
    }

    private static string StormOn(int pause)
    {
        storming = true;
        stormRounds = 0;
        for (int i = 0; i < 2; i++)
        {
            var thread = new Thread(() => Storm(pause)) { IsBackground = true };
            Stormers.Add(thread);
            thread.Start();
        }
        SpinWait.SpinUntil(() => Interlocked.Read(ref stormRounds) > 2);
        return $"storm on {Interlocked.Read(ref stormRounds)}";
    }

    private static void Storm(int pause)
    {
        while (storming)
        {
            var garbage = new List<byte[]>();
            for (int i = 0; i < 200; i++)
            {
                garbage.Add(new byte[2000]);
            }
            try
            {
                throw new InvalidOperationException("storm");
            }
            catch (InvalidOperationException)
            {
                GC.Collect();
            }
            GC.KeepAlive(garbage);
            Interlocked.Increment(ref stormRounds);
            if (pause > 0)
            {
                Thread.Sleep(pause);
            }
        }
    }

    private static string StormOff()
    {
        storming = false;
        Stormers.ForEach(thread => thread.Join());
        Stormers.Clear();
        return $"storm off {stormRounds}";
    }

    private static ProcessStartInfo ThisProgram(params string[] arguments)
    {
        var start = new ProcessStartInfo(Environment.ProcessPath!);
        foreach (string argument in arguments)
        {
            start.ArgumentList.Add(argument);
        }
        return start;
    }

    private static string Spawn(ProcessStartInfo start, int times)
    {
        int status = 0;
        for (int i = 0; i < times; i++)
        {
            using Process child = Process.Start(start)!;
            child.WaitForExit();
            status |= child.ExitCode;
        }
        return $"spawned {status}";
    }
}
