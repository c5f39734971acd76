// SPDX-License-Identifier: GPL-2.0-or-later
// Runs Node within a .NET process: mixed ADDON SCRIPT [ARGUMENT...], where libnode is found by the dynamic loader.
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Mixed;

internal static unsafe class Program
{
    private const int RtldNow = 2, RtldGlobal = 0x100;

    /// <summary>node::Start(int, char **)</summary>
    [DllImport("libnode.so.108", EntryPoint = "_ZN4node5StartEiPPc")]
    private static extern int Start(int argc, byte** argv);

    [DllImport("libc")]
    private static extern nint dlopen(string file, int flags);

    [DllImport("libc")]
    private static extern nint mmap(nint address, nuint size, int protection, int flags, int file, nint offset);

    [DllImport("libc")]
    private static extern int munmap(nint address, nuint size);

    /// <summary>The arguments stand one behind the other, as the kernel has them.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Run(string[] words)
    {
        byte[] text = System.Text.Encoding.UTF8.GetBytes(string.Join('\0', words) + '\0');
        byte* bytes = (byte*)NativeMemory.Alloc((nuint)text.Length);
        byte** argv = (byte**)NativeMemory.AllocZeroed((nuint)(words.Length + 1), (nuint)sizeof(byte*));
        text.CopyTo(new Span<byte>(bytes, text.Length));
        for (int word = 0, at = 0; word < words.Length; word++)
        {
            argv[word] = bytes + at;
            at += System.Text.Encoding.UTF8.GetByteCount(words[word]) + 1;
        }

        return Start(words.Length, argv);
    }

    /// <summary>
    /// Takes addresses, so that the next library is mapped below one whose lower half is low, and little is free
    /// beside it.
    /// </summary>
    private static void Crowd(long low)
    {
        const int NoReserve = 0x4000, Anonymous = 0x20, Private = 2, Room = 64 << 20;
        nint free = mmap(0, Room, 0, Private | Anonymous | NoReserve, -1, 0);
        _ = munmap(free, Room);
        _ = mmap(0, (nuint)((free + Room - low) & 0xfffff000), 0, Private | Anonymous | NoReserve, -1, 0);
    }

    private static int Main(string[] args)
    {
        if (Environment.GetEnvironmentVariable("MIXED_CROWD") is string low)
        {
            Crowd(Convert.ToInt64(low, 16));
        }

        // The addon finds Node's functions in what is there already.
        if (dlopen("libnode.so.108", RtldNow | RtldGlobal) == 0)
        {
            Console.Error.WriteLine("there is no libnode.so.108");
            return 1;
        }

        nint addon = NativeLibrary.Load(args[0]);
        delegate* unmanaged<nint, nint, nint, int, delegate* unmanaged<nint, nint, int, byte*, int>, int> enter =
            &Hosted.Enter;
        ((delegate* unmanaged<nint, void>)NativeLibrary.GetExport(addon, "mixed_set_entry"))((nint)enter);
        args[0] = "node";
        return Run(args);
    }
}
