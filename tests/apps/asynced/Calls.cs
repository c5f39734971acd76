// SPDX-License-Identifier: GPL-2.0-or-later
// What is followed.
using System;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Asynced;

internal static class Calls
{
    public const int Methods = 4, Kinds = 7;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static async Task Plain(int id, Record record)
    {
        record.First();
        try
        {
            await First(record);
            await Second(record);
            await Last(record);
        }
        finally
        {
            record.Last();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static async Task<int> Number(int id, Record record)
    {
        record.First();
        try
        {
            await First(record);
            await Second(record);
            await Last(record);
            return id;
        }
        finally
        {
            record.Last();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static async ValueTask<int> Value(int id, Record record)
    {
        record.First();
        try
        {
            await First(record);
            await Second(record);
            await Last(record);
            return id;
        }
        finally
        {
            record.Last();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static async ValueTask Bare(int id, Record record)
    {
        record.First();
        try
        {
            await First(record);
            await Second(record);
            await Last(record);
        }
        finally
        {
            record.Last();
        }
    }

    // The kinds: 0 waits three times, 1 is over at once, 2 fails at once, 3 after a wait, 4 is canceled at once,
    // 5 after a wait, 6 waits until it is told to go on.
    private static Task First(Record record)
    {
        switch (record.Kind)
        {
            case 0:
            case 3:
            case 5:
                return Yielded();
            case 2:
                throw new InvalidOperationException("at once");
            case 4:
                throw new OperationCanceledException("at once");
            case 6:
                return record.Source.Task;
            default:
                return Task.CompletedTask;
        }
    }

    private static Task Second(Record record) => record.Kind switch
    {
        0 => Task.Delay(1),
        3 => Task.FromException(new TimeoutException("later")),
        5 => Canceled(),
        6 => Task.Delay(0),
        _ => Task.CompletedTask,
    };

    private static Task Last(Record record) => record.Kind is 0 or 6 ? Yielded() : Task.CompletedTask;

    private static async Task Yielded() => await Task.Yield();

    private static async Task Canceled()
    {
        await Task.Yield();
        throw new OperationCanceledException("later");
    }
}
