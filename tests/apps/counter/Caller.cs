// SPDX-License-Identifier: GPL-2.0-or-later
// Makes exactly as many calls of a kind as asked, and reads that kind's truth.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Counted;

internal sealed partial class Caller
{
    private sealed record Kind(Action<int> Call, Func<long> Truth);

    private static readonly Dictionary<string, Kind> Known = new()
    {
        ["static"] = new(CallStatic, () => Truth.Static),
        ["instance"] = new(CallInstance, () => Truth.Instance),
        ["virtual"] = new(CallVirtual, () => Truth.Virtual),
        ["interface"] = new(CallInterface, () => Truth.Interface),
        ["explicit"] = new(CallExplicit, () => Truth.Explicit),
        ["struct"] = new(CallStruct, () => Truth.Struct),
        ["delegate"] = new(CallDelegate, () => Truth.Delegate),
        ["generic-ref"] = new(CallGenericRef, () => Truth.GenericRef),
        ["generic-int"] = new(CallGenericInt, () => Truth.GenericInt),
        ["generic-point"] = new(CallGenericPoint, () => Truth.GenericPoint),
        ["box-ref"] = new(CallBoxRef, () => Truth.BoxRef),
        ["box-int"] = new(CallBoxInt, () => Truth.BoxInt),
        ["ctor"] = new(CallCtor, () => Truth.Ctor),
        ["getter"] = new(CallGetter, () => Truth.Getter),
        ["throws"] = new(CallThrows, () => Truth.Throws),
        ["finally"] = new(CallFinally, () => Truth.Finally),
        ["recurse"] = new(CallRecurse, () => Truth.Recurse),
        ["over-int"] = new(CallOverInt, () => Truth.OverInt),
        ["over-string"] = new(CallOverString, () => Truth.OverString),
        ["over-two"] = new(CallOverTwo, () => Truth.OverTwo),
        ["chain"] = new(CallChain, () => Truth.Sleep),
        ["loop"] = new(CallLoop, () => Truth.Loop),
        ["final-static"] = new(CallFinalStatic, () => Truth.FinalStatic),
        ["final-other"] = new(CallFinalOther, () => Truth.FinalOther),
        ["final-text"] = new(CallFinalText, () => Truth.FinalText),
        ["final-throws"] = new(CallFinalThrows, () => Truth.FinalThrows),
        ["final-finally"] = new(CallFinalFinally, () => Truth.FinalFinally),
        ["final-recurse"] = new(CallFinalRecurse, () => Truth.FinalRecurse),
        ["final-int"] = new(CallFinalInt, () => Truth.FinalInt),
        ["final-ref"] = new(CallFinalRef, () => Truth.FinalRef),
        ["final-turn"] = new(CallFinalTurn, () => Truth.FinalTurn),
        ["final-instance"] = new(CallFinalInstance, () => Truth.FinalInstance),
        ["final-interface"] = new(CallFinalInterface, () => Truth.FinalInterface),
        ["final-struct"] = new(CallFinalStruct, () => Truth.FinalStruct),
        ["delegate-virtual"] = new(CallDelegateVirtual, () => Truth.Virtual),
        ["pointer"] = new(Moving.CallPointer, () => MovingTruth.Pointer),
        ["reflected"] = new(Moving.CallReflected, () => MovingTruth.Reflected),
        ["shelf-ref"] = new(Moving.CallShelfRef, () => MovingTruth.ShelfRef),
        ["shelf-int"] = new(Moving.CallShelfInt, () => MovingTruth.ShelfInt),
        ["shelf-point"] = new(Moving.CallShelfPoint, () => MovingTruth.ShelfPoint),
        ["lambda"] = new(Moving.CallLambda, () => MovingTruth.Lambda),
        ["closure"] = new(Moving.CallClosure, () => MovingTruth.Closure),
        ["local"] = new(Moving.CallLocal, () => MovingTruth.Local),
        ["dynamic"] = new(Moving.CallDynamic, () => MovingTruth.Dynamic),
        ["dynamic-fresh"] = new(Moving.CallFresh, () => MovingTruth.Fresh),
        ["dynamic-named"] = new(Moving.CallNamed, () => MovingTruth.Named),
        ["expression"] = new(Moving.CallExpression, () => MovingTruth.Expression),
        ["async"] = new(Moving.CallAsync, () => MovingTruth.Async),
        ["async-pool"] = new(Moving.CallAsyncPool, () => MovingTruth.AsyncPool),
        ["iterator"] = new(Moving.CallIterator, () => MovingTruth.Iterator),
        ["small"] = new(Moving.CallSmall, () => MovingTruth.Small),
        ["pinvoke-direct"] = new(PInvokeCallers.CallDirect, () => PInvokes.Calls("counted_direct")),
        ["pinvoke-delegate"] = new(PInvokeCallers.CallDelegate, () => PInvokes.Calls("counted_delegate")),
        ["pinvoke-pointer"] = new(PInvokeCallers.CallPointer, () => PInvokes.Calls("counted_pointer")),
        ["pinvoke-guarded"] = new(PInvokeCallers.CallGuarded, () => PInvokes.Calls("counted_guarded")),
        ["pinvoke-suppressed"] = new(PInvokeCallers.CallSuppressed, () => PInvokes.Calls("counted_suppressed")),
        ["pinvoke-suppressed-delegate"] =
            new(PInvokeCallers.CallSuppressedByDelegate, () => PInvokes.Calls("counted_suppressed")),
        ["pinvoke-error"] = new(PInvokeCallers.CallError, () => PInvokes.Calls("counted_error")),
        ["pinvoke-text"] = new(PInvokeCallers.CallText, () => PInvokes.Calls("counted_text")),
        ["pinvoke-one"] = new(PInvokeCallers.CallOne, () => PInvokes.Calls("counted_one")),
        ["pinvoke-other"] = new(PInvokeCallers.CallOther, () => PInvokes.Calls("counted_other")),
    };

    public static IEnumerable<string> Names => Known.Keys;

    /// <summary>Make <paramref name="calls"/> calls on this thread.</summary>
    public static void Here(string kind, int calls) => Known[kind].Call(calls);

    /// <summary>Calls of a kind that have happened so far.</summary>
    public static long Count(string kind) => Known[kind].Truth();

    /// <summary>
    /// Make <paramref name="calls"/> calls in all on <paramref name="threads"/> new threads (0: on
    /// this one), and return how many the method itself saw.
    /// </summary>
    public static long Total(string kind, int calls, int threads)
    {
        long before = Count(kind);
        if (threads == 0)
        {
            Here(kind, calls);
            return Count(kind) - before;
        }
        var running = new List<Thread>();
        for (int i = 0; i < threads; i++)
        {
            int share = calls / threads + (i < calls % threads ? 1 : 0);
            var thread = new Thread(() => Here(kind, share)) { Name = $"caller-{i}" };
            running.Add(thread);
            thread.Start();
        }
        running.ForEach(thread => thread.Join());
        return Count(kind) - before;
    }

    /// <summary>
    /// As Total(), on threads that start each other: each starts the next when it has made half
    /// of its share, and goes on beside it.
    /// </summary>
    public static long Nested(string kind, int calls, int threads)
    {
        long before = Count(kind);
        void Run(int index)
        {
            int share = calls / threads + (index < calls % threads ? 1 : 0);
            Here(kind, share / 2);
            Thread? next = index + 1 < threads ? new Thread(() => Run(index + 1)) : null;
            next?.Start();
            Here(kind, share - share / 2);
            next?.Join();
        }
        var first = new Thread(() => Run(0));
        first.Start();
        first.Join();
        return Count(kind) - before;
    }

    private static void CallStatic(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Kinds.Static(i);
        }
    }

    private static void CallInstance(int calls)
    {
        var square = new Square();
        for (int i = 0; i < calls; i++)
        {
            square.Plain(i);
        }
    }

    // Shapes come from methods that are not inlined, so that no call below is devirtualised.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Shape SomeShape() => new Square();

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static IShape SomeInterface() => new Square();

    private static void CallVirtual(int calls)
    {
        Shape shape = SomeShape();
        for (int i = 0; i < calls; i++)
        {
            shape.Draw(i);
        }
    }

    private static void CallInterface(int calls)
    {
        IShape shape = SomeInterface();
        for (int i = 0; i < calls; i++)
        {
            shape.Name(i);
        }
    }

    private static void CallExplicit(int calls)
    {
        IShape shape = SomeInterface();
        for (int i = 0; i < calls; i++)
        {
            shape.Area(i);
        }
    }

    private static void CallStruct(int calls)
    {
        IMeasured boxed = new Point { X = 1, Y = 2 };
        var plain = new Point { X = 3, Y = 4 };
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

    private static void CallDelegate(int calls)
    {
        Func<int, int> method = Kinds.ByDelegate;
        for (int i = 0; i < calls; i++)
        {
            method(i);
        }
    }

    private static void CallDelegateVirtual(int calls)
    {
        Func<int, int> method = SomeShape().Draw;
        for (int i = 0; i < calls; i++)
        {
            method(i);
        }
    }

    private static void CallGenericRef(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            if ((i & 1) == 0)
            {
                Generics.Same("text");
            }
            else
            {
                Generics.Same<object>(Known);
            }
        }
    }

    private static void CallGenericInt(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Generics.Same(i);
        }
    }

    private static void CallGenericPoint(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Generics.Same(new Point { X = i });
        }
    }

    private static void CallBoxRef(int calls)
    {
        var box = new Box<string>();
        for (int i = 0; i < calls; i++)
        {
            box.Put("text");
        }
    }

    private static void CallBoxInt(int calls)
    {
        var box = new Box<int>();
        for (int i = 0; i < calls; i++)
        {
            box.Put(i);
        }
    }

    private static void CallCtor(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            GC.KeepAlive(new Item(i));
        }
    }

    private static void CallGetter(int calls)
    {
        var item = new Item(7);
        for (int i = 0; i < calls; i++)
        {
            GC.KeepAlive(item.Value);
        }
    }

    private static void CallThrows(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            try
            {
                Kinds.Throws(i);
            }
            catch (InvalidOperationException)
            {
                // The point of the call.
            }
        }
    }

    private static void CallFinally(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Kinds.Finally(i);
        }
    }

    private static void CallRecurse(int calls)
    {
        const int deepest = 10;
        while (calls > 0)
        {
            calls -= Kinds.Recurse(Math.Min(calls, deepest));
        }
    }

    private static void CallOverInt(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Kinds.Over(i);
        }
    }

    private static void CallOverString(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Kinds.Over("text");
        }
    }

    private static void CallOverTwo(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Kinds.Over(i, 2L);
        }
    }

    private static void CallChain(int calls)
    {
        for (int i = 0; i < calls; i++)
        {
            Chain.Outer(i);
        }
    }
}
