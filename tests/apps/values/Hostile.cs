// SPDX-License-Identifier: GPL-2.0-or-later
//
// Objects that are none: what is passed lies in memory of our own, which is partly gone, and says of itself what is not
// so, while another thread rewrites it. Nobody here looks into them; the collector leaves alone what is not in its heap.
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Values;

internal static unsafe class Hostile
{
    public const int Kinds = 16;

    private const int Page = 4096;
    private const int TableBytes = 256;
    private const int Longest = int.MaxValue;

    private static volatile bool stop;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Take(int id, string? text, object? any, int[]? numbers, Receipt? of, string[]? texts) => id;

    /// <summary>The calls with the ids 0 to count - 1, of each kind in turn.</summary>
    public static void Run(int count, int seed)
    {
        byte* pages = Map(3);
        byte* gone = Map(1), last = Map(2);
        Unmap(pages + 2 * Page, Page);
        Unmap(gone, Page);
        Unmap(last + Page, Page);
        var words = new Random(seed);
        words.NextBytes(new Span<byte>(pages + Page, Page));
        stop = false;
        var rewrites = new Thread(() => Rewrite(pages + Page, seed));
        rewrites.Start();
        for (int id = 0; id < count; id++)
        {
            One(id, pages, gone, last + Page, words);
        }
        stop = true;
        rewrites.Join();
        Unmap(pages, 2 * Page);
        Unmap(last, Page);
    }

    private static void One(int id, byte* calm, byte* gone, byte* end, Random words)
    {
        byte* random = calm + Page + 8 * words.Next(Page / 8 - 8);
        nint stringTable = Table(""), arrayTable = Table(Array.Empty<int>()), receiptTable = Table(new Receipt());
        var cyclic = new Receipt { Number = id, Text = "cyclic" };
        cyclic.Before = cyclic;
        switch (id % Kinds)
        {
            case 0: // A string of 2 GB, of which some is there.
                new Span<char>(calm + 12, 200).Fill('a');
                Take(id, At<string>(Header(calm, stringTable, Longest)), null, null, null, null);
                break;
            case 1: // Of which nothing is there, and one whose length is not.
                Take(id, At<string>(Header(end - 12, stringTable, Longest)), null, null, null, null);
                break;
            case 2:
                *(nint*)(end - 8) = stringTable;
                Take(id, At<string>(end - 8), At<object>(end - 8), null, null, null);
                break;
            case 3:
                new Span<char>(calm + 12, 200).Fill('\ud800');
                Take(id, At<string>(Header(calm, stringTable, -1)), null, null, null, null);
                break;
            case 4: // MethodTables that are none.
                Take(id, null, At<object>(Header(calm, 0, 1)), null, null, null);
                break;
            case 5:
                Take(id, null, At<object>(Header(calm, 0x10, 1)), null, At<Receipt>(Header(calm + 64, -16, 1)), null);
                break;
            case 6:
                Take(id, null, At<object>(Header(calm, (nint)gone, 1)), At<int[]>(gone), At<Receipt>(gone), At<string[]>(gone));
                break;
            case 7:
                Take(id, null, At<object>(Header(calm, (nint)random, 1)), null, At<Receipt>(random), null);
                break;
            case 8: // A copy of one, which derives from itself.
                Buffer.MemoryCopy((void*)receiptTable, calm + 512, TableBytes, TableBytes);
                *(nint*)(calm + 512 + 16) = (nint)(calm + 512);
                Take(id, null, At<object>(Header(calm, (nint)(calm + 512), 1)), null, At<Receipt>(calm), null);
                break;
            case 9: // And one that is right but for a word.
                Buffer.MemoryCopy((void*)receiptTable, calm + 1024, TableBytes, TableBytes);
                *(nint*)(calm + 1024 + 8 * words.Next(8)) = (nint)words.NextInt64();
                Take(id, null, At<object>(Header(calm, (nint)(calm + 1024), 1)), null, null, null);
                break;
            case 10: // Arrays that are longer than all there is.
                Take(id, null, null, At<int[]>(Header(calm, arrayTable, Longest)), null, null);
                break;
            case 11:
                Take(id, null, At<object>(Header(end - 24, arrayTable, -1)), At<int[]>(end - 24), null, null);
                break;
            case 12: // Of elements that are the array itself, and are gone.
                Header(calm, Table(Array.Empty<string>()), Longest);
                for (int i = 0; i < 16; i++)
                {
                    *(nint*)(calm + 16 + 8 * i) = i % 2 == 0 ? (nint)calm : (nint)gone;
                }
                Take(id, null, At<object>(calm), null, null, At<string[]>(calm));
                break;
            case 13: // An object that has itself, as a whole and in memory that changes.
                Take(id, "cyclic", cyclic, null, cyclic, null);
                break;
            case 14:
                Header(calm, receiptTable, 0);
                for (int i = 1; i < 8; i++)
                {
                    *(nint*)(calm + 8 * i) = (nint)(i % 2 == 0 ? random : calm);
                }
                Take(id, At<string>(random), At<object>(calm), At<int[]>(random), At<Receipt>(calm), At<string[]>(random));
                break;
            default:
                Take(id, At<string>(random), At<object>(random), At<int[]>(random), At<Receipt>(random), At<string[]>(random));
                break;
        }
        GC.KeepAlive(cyclic);
    }

    /// <summary>Any bytes, but at times a MethodTable that there is.</summary>
    private static void Rewrite(byte* page, int seed)
    {
        var words = new Random(seed + 1);
        nint[] tables = { Table(""), Table(Array.Empty<int>()), Table(new Receipt()), Table(Array.Empty<string>()) };
        while (!stop)
        {
            int at = words.Next(Page / 8);
            ((nint*)page)[at] = words.Next(3) switch
            {
                0 => tables[words.Next(tables.Length)],
                1 => (nint)page + 8 * words.Next(Page / 8),
                _ => (nint)words.NextInt64(),
            };
        }
    }

    private static byte* Header(byte* at, nint table, int length)
    {
        *(nint*)at = table;
        *(int*)(at + 8) = length;
        return at;
    }

    private static T At<T>(byte* at)
        where T : class
    {
        nint address = (nint)at;
        return Unsafe.As<nint, T>(ref address);
    }

    private static nint Table(object of) => of.GetType().TypeHandle.Value;

    private static byte* Map(int pages)
    {
        nint at = mmap(0, pages * Page, 3, 0x22, -1, 0);
        return at == -1 ? throw new OutOfMemoryException() : (byte*)at;
    }

    private static void Unmap(byte* at, int bytes)
    {
        if (munmap((nint)at, bytes) != 0)
        {
            throw new InvalidOperationException();
        }
    }

    [DllImport("libc")]
    private static extern nint mmap(nint address, nint bytes, int protection, int flags, int file, nint offset);

    [DllImport("libc")]
    private static extern int munmap(nint address, nint bytes);
}
