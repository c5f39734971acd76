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

internal sealed class Orders
{
    private readonly Payment payment = new();

    public int Done { get; private set; }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Checkout(int number)
    {
        Done += payment.Charge(number, 100 + number % 7);
    }
}

internal sealed class Payment
{
    private readonly IBank bank = new SlowBank();

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Charge(int order, int amount)
    {
        return bank.Transfer(order, amount) ? 1 : 0;
    }
}

internal interface IBank
{
    bool Transfer(int order, int amount);
}

internal sealed class SlowBank : IBank
{
    private int confirmed;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public bool Transfer(int order, int amount)
    {
        WaitForConfirmation(order);
        return amount > 0 && confirmed > 0;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private void WaitForConfirmation(int order)
    {
        Thread.Sleep(10);
        confirmed = order + 1;
    }
}
