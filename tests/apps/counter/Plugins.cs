// SPDX-License-Identifier: GPL-2.0-or-later
// Assemblies that are loaded while the program runs, in each way in which that can be done.
using System;
using System.Collections.Generic;
using System.IO;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using System.Threading;

namespace Counted;

internal static class Plugins
{
    private static readonly Dictionary<string, Func<string, int, long>> Loaded = new();
    private static readonly List<AssemblyLoadContext> Collectible = new();
    private static Thread? background;
    private static volatile bool stopping;
    private static long rounds;

    /// <summary>Have the assembly, which is loaded at the first time, run something.</summary>
    public static long Run(string how, string path, string what, int number)
    {
        string key = how + path;
        if (!Loaded.TryGetValue(key, out Func<string, int, long>? run))
        {
            run = how switch
            {
                "file" => EntryOf(AssemblyLoadContext.Default.LoadFromAssemblyPath(path)),
                "bytes" => EntryOf(Assembly.Load(File.ReadAllBytes(path))),
                "collectible" => EntryOf(LoadCollectible(File.ReadAllBytes(path))),
                _ => throw new ArgumentException(how),
            };
            Loaded.Add(key, run);
        }
        return run(what, number);
    }

    private static Func<string, int, long> EntryOf(Assembly assembly) =>
        assembly.GetType("Plugin.Entry", throwOnError: true)!.GetMethod("Run")!
            .CreateDelegate<Func<string, int, long>>();

    private static Assembly LoadCollectible(byte[] bytes)
    {
        var context = new AssemblyLoadContext(null, isCollectible: true);
        Collectible.Add(context);
        return context.LoadFromStream(new MemoryStream(bytes));
    }

    /// <summary>Unload what can be, and return how much of it is still there after a while.</summary>
    public static int Unload()
    {
        List<WeakReference> left = Forget();
        for (int i = 0; i < 100 && left.Count > 0; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            left.RemoveAll(context => !context.IsAlive);
        }
        return left.Count;
    }

    // In a method of its own: nothing on the stack keeps the contexts.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static List<WeakReference> Forget()
    {
        var left = new List<WeakReference>();
        foreach (string key in new List<string>(Loaded.Keys))
        {
            if (key.StartsWith("collectible", StringComparison.Ordinal))
            {
                Loaded.Remove(key);
            }
        }
        foreach (AssemblyLoadContext context in Collectible)
        {
            left.Add(new WeakReference(context));
            context.Unload();
        }
        Collectible.Clear();
        return left;
    }

    /// <summary>Do something again and again until End(); returns once it has been done.</summary>
    public static long Begin(string path, Action<string, int> round)
    {
        stopping = false;
        rounds = 0;
        background = new Thread(() =>
        {
            for (int i = 0; !stopping; i++)
            {
                round(path, i);
                Interlocked.Increment(ref rounds);
            }
        })
        { IsBackground = true };
        background.Start();
        SpinWait.SpinUntil(() => Interlocked.Read(ref rounds) > 0);
        return Interlocked.Read(ref rounds);
    }

    public static long End()
    {
        stopping = true;
        background!.Join();
        return rounds;
    }

    /// <summary>Load, use and unload; the collector follows behind.</summary>
    public static void Churn(string path, int round)
    {
        var context = new AssemblyLoadContext(null, isCollectible: true);
        EntryOf(context.LoadFromStream(new MemoryStream(File.ReadAllBytes(path))))("menagerie", 1);
        context.Unload();
        if (round % 3 == 0)
        {
            GC.Collect();
        }
    }

    /// <summary>Methods that were not there before.</summary>
    public static void Grow(string path, int round) => Run("file", path, "more", round);
}
