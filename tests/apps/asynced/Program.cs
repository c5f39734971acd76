// SPDX-License-Identifier: GPL-2.0-or-later
//
// The target of the tests of --async: asynchronous calls of several kinds, each with a number of its
// own, and notes what became of each itself. It speaks as tests/apps/counter does:
//
//   (start)                       ready PID
//   run FIRST N WORKERS STORM     N calls of each method and kind by each worker, numbered from FIRST on;
//                                 STORM: none (no collection comes), gen0, full, background, compacting
//                                                                     -> done CALLS COLLECTIONS
//   note PATH                     what became of the calls since the last time goes there, a line each
//                                                                     -> noted CALLS
//   fill NUMBER                   compile other code, each time another     -> filled NUMBER
//   quit CODE                     exit with CODE                      -> (nothing)
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Asynced;

internal static class Program
{
    private const long NoCollection = 128 << 20;

    private static readonly List<Record> All = new();

    private static int Main()
    {
        Pool.Limit();
        Run(0, 1, 1, "compacting");
        All.Clear();
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
            case ["run", var first, var times, var workers, var storm]:
                int before = All.Count, collections = GC.CollectionCount(0);
                if (storm == "none" && !GC.TryStartNoGCRegion(NoCollection))
                {
                    return "error no room";
                }
                // Whatever that took.
                collections = storm == "none" ? GC.CollectionCount(0) : collections;
                Run(int.Parse(first), int.Parse(times), int.Parse(workers), storm);
                collections = GC.CollectionCount(0) - collections;
                if (storm == "none")
                {
                    GC.EndNoGCRegion();
                }
                return $"done {All.Count - before} {collections}";
            case ["note", var path]:
                File.WriteAllLines(path, All.Select(record => record.ToString()));
                int count = All.Count;
                All.Clear();
                return $"noted {count}";
            case ["fill", var number]:
                Other.Fill(int.Parse(number));
                return $"filled {number}";
            default:
                return "error what was that";
        }
    }

    private static void Run(int first, int times, int count, string kind)
    {
        var records = new List<Record>[count];
        using (var storm = new Storm(kind))
        using (var pump = new Pump())
        {
            var threads = new Thread[count];
            for (int i = 0; i < count; i++)
            {
                int worker = i;
                threads[i] = new Thread(() =>
                {
                    SynchronizationContext.SetSynchronizationContext(worker % 2 == 0 ? pump : null);
                    records[worker] = Work(first + worker * times * Calls.Methods * Calls.Kinds, times, storm);
                }) { Name = "worker" };
                threads[i].Start();
            }
            foreach (Thread thread in threads)
            {
                thread.Join();
            }
        }
        Pool.Wait();
        All.AddRange(records.SelectMany(list => list));
    }

    // Some are under way at a time.
    private static List<Record> Work(int number, int times, Storm storm)
    {
        var records = new List<Record>();
        Record.Returned();
        for (int i = 0; i < times; i++)
        {
            var begun = new List<(Record, Task)>();
            for (int kind = 0; kind < Calls.Methods * Calls.Kinds; kind++)
            {
                var record = new Record(number++, kind % Calls.Methods, kind / Calls.Methods);
                records.Add(record);
                begun.Add((record, Watch(record)));
                Record.Returned();
            }
            storm.Pass();
            foreach (var (record, task) in begun)
            {
                record.Source.SetResult();
                Record.Returned();
                task.Wait();
            }
        }
        return records;
    }

    private static async Task Watch(Record record)
    {
        record.Begin();
        try
        {
            switch (record.Method)
            {
                case 0:
                    await Calls.Plain(record.Id, record);
                    break;
                case 1:
                    await Calls.Number(record.Id, record);
                    break;
                case 2:
                    await Calls.Value(record.Id, record);
                    break;
                default:
                    await Calls.Bare(record.Id, record);
                    break;
            }
            record.Outcome = "completed";
        }
        catch (OperationCanceledException)
        {
            record.Outcome = "canceled";
        }
        catch (Exception exception)
        {
            record.Outcome = "faulted";
            record.Exception = exception.GetType().FullName;
        }
    }
}
