// SPDX-License-Identifier: GPL-2.0-or-later
// Those that run steps, and that which collects.
using System;
using System.Collections.Concurrent;
using System.Linq;
using System.Threading;

namespace Asynced;

/// <summary>Runs the steps of those that begin with it, on threads of its own, and notes when they have returned.</summary>
internal sealed class Pump : SynchronizationContext, IDisposable
{
    private const int Count = 4;

    private readonly BlockingCollection<(SendOrPostCallback, object?)> steps = new();
    private readonly Thread[] threads;

    public Pump()
    {
        threads = Enumerable.Range(0, Count).Select(_ => new Thread(Run) { Name = "pump" }).ToArray();
        Array.ForEach(threads, thread => thread.Start());
    }

    public override void Post(SendOrPostCallback step, object? state) => steps.Add((step, state));

    private void Run()
    {
        SetSynchronizationContext(this);
        Record.Returned();
        foreach (var (step, state) in steps.GetConsumingEnumerable())
        {
            step(state);
            Record.Returned();
        }
    }

    public void Dispose()
    {
        steps.CompleteAdding();
        Array.ForEach(threads, thread => thread.Join());
        steps.Dispose();
    }
}

/// <summary>The threads that the runtime has for steps.</summary>
internal static class Pool
{
    private const int Count = 16;

    public static void Limit()
    {
        ThreadPool.SetMinThreads(Count, Count);
        ThreadPool.SetMaxThreads(Count, Count);
    }

    /// <summary>All that they were running has returned: each of them is here at a time.</summary>
    public static void Wait()
    {
        using var all = new Barrier(Count + 1);
        for (int i = 0; i < Count; i++)
        {
            ThreadPool.UnsafeQueueUserWorkItem(_ => all.SignalAndWait(), null);
        }
        all.SignalAndWait();
    }
}

/// <summary>Collects all the time.</summary>
internal sealed class Storm : IDisposable
{
    private readonly Thread? thread;
    private volatile bool over;

    public Storm(string kind)
    {
        if (kind != "none")
        {
            thread = new Thread(() => Collect(kind)) { Name = "storm" };
            thread.Start();
        }
    }

    private void Collect(string kind)
    {
        while (!over)
        {
            switch (kind)
            {
                case "gen0":
                    GC.Collect(0);
                    break;
                case "background":
                    GC.Collect(2, GCCollectionMode.Forced, false);
                    break;
                case "compacting":
                    GC.Collect(2, GCCollectionMode.Forced, true, true);
                    break;
                default:
                    GC.Collect();
                    break;
            }
            Thread.Sleep(3);
        }
    }

    /// <summary>Until one more collection has begun, if there are any.</summary>
    public void Pass()
    {
        int count = GC.CollectionCount(0);
        while (thread != null && GC.CollectionCount(0) == count)
        {
            Thread.Sleep(1);
        }
    }

    public void Dispose()
    {
        over = true;
        thread?.Join();
    }
}
