// SPDX-License-Identifier: GPL-2.0-or-later
// The demo's target: a shop that waits 10 ms for its bank, again and again.
using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace App;

internal static class Program
{
    private static void Main()
    {
        Console.WriteLine($"pid {Environment.ProcessId}");
        var orders = new Orders();
        for (int number = 0; ; number++)
        {
            orders.Checkout(number);
        }
    }
}

// Each method below makes two calls or more: such code keeps a frame pointer.
internal sealed class Orders
{
    private readonly Payment payment = new();
    private readonly Journal journal = new();

    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Checkout(int number)
    {
        journal.Begin(number);
        bool paid = payment.Charge(number, 100 + number % 7);
        journal.End(number, paid);
    }
}

internal sealed class Payment
{
    private readonly IBank bank = new SlowBank();
    private readonly Journal journal = new();

    [MethodImpl(MethodImplOptions.NoInlining)]
    public bool Charge(int order, int amount)
    {
        journal.Begin(order);
        bool done = bank.Transfer(order, amount);
        journal.End(order, done);
        return done;
    }
}

internal interface IBank
{
    bool Transfer(int order, int amount);
}

internal sealed class SlowBank : IBank
{
    private readonly Journal journal = new();

    [MethodImpl(MethodImplOptions.NoInlining)]
    public bool Transfer(int order, int amount)
    {
        journal.Begin(order);
        WaitForConfirmation(order);
        journal.End(order, true);
        return amount > 0;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void WaitForConfirmation(int order)
    {
        journal.Begin(order);
        Thread.Sleep(10);
        journal.End(order, true);
    }
}

internal sealed class Journal
{
    private long begun, ended;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Begin(int order) => begun += order;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public void End(int order, bool well) => ended += well ? order : 0;
}
