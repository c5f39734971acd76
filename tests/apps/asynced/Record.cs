// SPDX-License-Identifier: GPL-2.0-or-later
// One call, as it notes itself. All stamps are of CLOCK_MONOTONIC, in nanoseconds.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Threading.Tasks;

namespace Asynced;

internal sealed class Record
{
    // Whose last line this thread has run, while the step may not have returned yet; only if it is told when.
    [ThreadStatic] private static List<Record>? ending;
    [ThreadStatic] private static Record? beginning;

    private static readonly string[] Names = { "Plain", "Number", "Value", "Bare" };

    public readonly int Id, Method, Kind;
    public readonly TaskCompletionSource Source = new();
    public string Outcome = "open";
    public string? Exception;
    private long before, first, last, after;
    private bool synchronous;

    public Record(int id, int method, int kind)
    {
        Id = id;
        Method = method;
        Kind = kind;
    }

    private static long Now() => Stopwatch.GetTimestamp() * (1_000_000_000 / Stopwatch.Frequency);

    /// <summary>The method that begins the call is about to be called.</summary>
    public void Begin()
    {
        beginning = this;
        before = Now();
    }

    /// <summary>It has returned, and so have all steps that this thread has run. Another thread may have gone on.</summary>
    public static void Returned()
    {
        beginning = null;
        ending ??= new();
        long now = Now();
        foreach (Record record in ending)
        {
            record.after = now;
        }
        ending.Clear();
    }

    /// <summary>The first line of its body.</summary>
    public void First() => first = Now();

    /// <summary>The last one.</summary>
    public void Last()
    {
        last = Now();
        synchronous = beginning == this;
        ending?.Add(this);
    }

    // "after" is 0 if it is not known.
    public override string ToString() =>
        $"{{\"id\":{Id},\"method\":\"{Names[Method]}\",\"kind\":{Kind},\"outcome\":\"{Outcome}\","
        + $"\"exception\":{(Exception is null ? "null" : $"\"{Exception}\"")},"
        + $"\"synchronous\":{(synchronous ? "true" : "false")},"
        + $"\"before\":{before},\"first\":{first},\"last\":{last},\"after\":{after}}}";
}
