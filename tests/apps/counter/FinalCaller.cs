// SPDX-License-Identifier: GPL-2.0-or-later
// Calls of the methods in Finals.cs.
using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Counted;

internal sealed partial class Caller
{
    // One call makes the loop's many turns, enough to be replaced while it runs.
    private static void CallLoop(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Loops.Long(i == 0 ? 300000 : 1);
        }
    }

    private static void CallFinalStatic(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Finals.Static(i);
        }
    }

    private static void CallFinalOther(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Finals.Other(i);
        }
    }

    private static void CallFinalText(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Finals.Text("text");
        }
    }

    private static void CallFinalThrows(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            try
            {
                Finals.Throws(i);
            }
            catch (InvalidOperationException)
            {
                // The point of the call.
            }
        }
    }

    private static void CallFinalFinally(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Finals.Finally(i);
        }
    }

    private static void CallFinalRecurse(int calls)
    {
        const int deepest = 10;
        while (calls > 0)
        {
            calls -= Finals.Recurse(Math.Min(calls, deepest));
        }
    }

    private static void CallFinalInt(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Finals.Same(i);
        }
    }

    private static void CallFinalRef(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            if ((i & 1) == 0)
            {
                Finals.Same("text");
            }
            else
            {
                Finals.Same<object>(Known);
            }
        }
    }

    private static void CallFinalTurn(int calls)
    {
        long turns = 0;
        for (int i = 0; i < calls; i++)
        {
            Finals.Turn(ref turns, 7);
            Interlocked.Increment(ref Truth.FinalTurn);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static IShape SomeFinal() => new Final();

    private static void CallFinalInstance(int calls)
    {
        var shape = (Final)SomeFinal();
        for (int i = 0; i < calls; i++)
        {
            shape.Area(i);
        }
    }

    private static void CallFinalInterface(int calls)
    {
        IShape shape = SomeFinal();
        for (int i = 0; i < calls; i++)
        {
            shape.Name(i);
        }
    }

    private static void CallFinalStruct(int calls)
    {
        IMeasured boxed = new FinalPoint { X = 1 };
        var plain = new FinalPoint { X = 3 };
        for (int i = 0; i < calls; i++)
        {
            if ((i & 1) == 0)
            {
                boxed.Length();
            }
            else
            {
                plain.Length();
            }
        }
    }
}
