// SPDX-License-Identifier: GPL-2.0-or-later
// Exceptions, collections and much of the framework, always with the same result.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Timed;

internal static class Storm
{
    private static readonly List<Thread> Threads = new();
    private static volatile bool storming;
    private static long rounds, first, different;

    public static string Begin(int threads)
    {
        storming = true;
        rounds = different = 0;
        first = Round();
        for (int i = 0; i < threads; i++)
        {
            var thread = new Thread(Blow);
            Threads.Add(thread);
            thread.Start();
        }
        return "begun";
    }

    public static long Rounds() => Interlocked.Read(ref rounds);

    /// <summary>What each round results in, and how many resulted in something else.</summary>
    public static string End()
    {
        storming = false;
        Threads.ForEach(thread => thread.Join());
        Threads.Clear();
        return $"{first:x16} {different}";
    }

    private static void Blow()
    {
        while (storming)
        {
            if (Round() != first)
            {
                Interlocked.Increment(ref different);
            }
            Interlocked.Increment(ref rounds);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Round()
    {
        long digest = 17;
        digest = Mix(digest, Texts());
        digest = Mix(digest, Collections());
        digest = Mix(digest, Failures());
        digest = Mix(digest, Tasks());
        GC.Collect((int)(Interlocked.Read(ref rounds) % 3));
        return digest;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Mix(long digest, long value) => unchecked((digest ^ value) * 1099511628211);

    private static long Digest(string text)
    {
        long digest = text.Length;
        foreach (char c in text)
        {
            digest = unchecked((digest ^ c) * 1099511628211);
        }
        return digest;
    }

    private static long Texts()
    {
        var text = new StringBuilder();
        for (int i = 0; i < 50; i++)
        {
            text.Append(i).Append(' ').AppendFormat(CultureInfo.InvariantCulture, "{0:x4}", i * 7).AppendLine();
            text.Insert(0, 'x').Replace("x1", "y");
        }
        string[] words = text.ToString().Split(' ');
        string joined = string.Join('-', words.Select(word => word.Trim().ToUpperInvariant()));
        joined += string.Concat(joined.Substring(3, 9), joined.Replace('A', 'b'), joined.IndexOf("FF", StringComparison.Ordinal));
        return Digest(joined) + Encoding.UTF8.GetBytes(joined).Length + double.Parse("1.5", CultureInfo.InvariantCulture).GetHashCode();
    }

    private static long Collections()
    {
        var names = new Dictionary<string, int>();
        var list = new List<int>();
        var shared = new ConcurrentDictionary<int, string>();
        var queue = new Queue<int>();
        var set = new HashSet<string>();
        long sum = 0;
        for (int i = 0; i < 100; i++)
        {
            names[$"name {i % 40}"] = i;
            list.Add(i * 7919 % 101);
            queue.Enqueue(i);
            set.Add((i % 30).ToString(CultureInfo.InvariantCulture));
            shared.TryAdd(i, i.ToString(CultureInfo.InvariantCulture));
            sum += shared.GetOrAdd(i / 2, _ => "none").Length;
        }
        list.Sort((left, right) => left.CompareTo(right));
        list.Reverse();
        list.RemoveAll(value => value % 3 == 0);
        while (queue.TryDequeue(out int value))
        {
            sum = Mix(sum, value);
        }
        foreach ((string name, int value) in names.OrderBy(pair => pair.Key, StringComparer.Ordinal))
        {
            sum = Mix(sum, value + name.Length);
        }
        return list.Aggregate(sum, (digest, value) => Mix(digest, value)) + set.Count;
    }

    // The framework's own methods throw, some with others of them in between.
    private static long Failures()
    {
        long sum = 0;
        var list = new List<int> { 3, 1, 2 };
        var empty = new Dictionary<string, int>();
        Action[] failing =
        {
            () => int.Parse("none", CultureInfo.InvariantCulture),
            () => GC.KeepAlive(list[7]),
            () => GC.KeepAlive(empty["none"]),
            () => list.Sort((_, _) => throw new NotSupportedException("no order")),
            () => list.ForEach(_ => list.Add(4)),
            () => GC.KeepAlive("text".Substring(9)),
            () => new StringBuilder("x").Remove(3, 4),
            () => string.Format(CultureInfo.InvariantCulture, "{7}", "one"),
            () => GC.KeepAlive(new Lazy<int>(() => throw new InvalidOperationException("lazy")).Value),
            () => Enum.Parse<DayOfWeek>("Someday"),
            () => Convert.FromBase64String("?"),
            () => Task.Run(() => throw new ArgumentException("in a task")).Wait(),
        };
        foreach (Action action in failing)
        {
            try
            {
                action();
            }
            catch (Exception e) when (e is not OutOfMemoryException)
            {
                sum = Mix(sum, Digest(e.GetType().Name));
            }
            finally
            {
                sum++;
            }
        }
        return sum;
    }

    private static long Tasks()
    {
        Task<int>[] tasks = Enumerable.Range(0, 8).Select(Step).ToArray();
        try
        {
            Task.WaitAll(tasks);
        }
        catch (AggregateException)
        {
            // Of every fourth.
        }
        return tasks.Sum(task => task.IsFaulted ? 1000 : task.Result);
    }

    private static async Task<int> Step(int number)
    {
        await Task.Yield();
        if (number % 4 == 3)
        {
            throw new InvalidOperationException("as asked");
        }
        await Task.Run(() => GC.KeepAlive(new byte[number * 100]));
        return number;
    }
}
