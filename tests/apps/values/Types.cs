// SPDX-License-Identifier: GPL-2.0-or-later
// Types of all shapes that a method can be given: classes, enums, structs that fit into registers or do not.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Values;

public enum Small : byte { None = 0, One = 1, Most = 200 }

public enum Wide : long { Far = 0x1234567812345678, Below = -5 }

[Flags]
public enum Rights { None = 0, Read = 1, Write = 2, Run = 4 }

public struct S1 { public byte A; }
public struct S2 { public short A; }
public struct S3 { public byte A, B, C; }
public struct S4 { public int A; }
public struct S8 { public int A, B; }
public struct F4 { public float A; }
public struct FF { public float A, B; }
public struct IF { public int A; public float B; }
public struct S12 { public int A, B, C; }
public struct FFF { public float A, B, C; }
public struct FFI { public float A, B; public int C; }
public struct S16 { public long A, B; }
public struct LD { public long A; public double B; }
public struct DL { public double A; public long B; }
public struct DD { public double A, B; }
public struct ID { public int A; public double B; }
public struct S17 { public long A, B; public byte C; }
public struct S24 { public long A, B, C; }
public struct TextAndInt { public string? Text; public int Number; }
public struct TwoTexts { public string? First, Second; }

[StructLayout(LayoutKind.Explicit)]
public struct Explicit { [FieldOffset(0)] public int A; [FieldOffset(4)] public int B; }

[StructLayout(LayoutKind.Explicit)]
public struct Union { [FieldOffset(0)] public int A; [FieldOffset(0)] public uint B; [FieldOffset(8)] public long C; }

public struct Empty { }
public struct Nested { public S8 P; public DD Q; }
public struct Nested8 { public S4 X; public F4 Y; }

[InlineArray(2)]
public struct Inline { public long Element; }

public unsafe struct Fixed { public fixed int Numbers[4]; }

/// <summary>A class with a field of each kind.</summary>
public class Order
{
    public int Id { get; set; }
    public string? Customer { get; set; }
    public Order? Next;
    public bool Paid;
    public double Total;
    public S24 Parts;
    public int? Discount;
    public Rights Rights;
    public static int Count = 4242;
}

public class Special : Order
{
    public long Extra;
}

/// <summary>What nobody uses before "late" is asked for.</summary>
public struct LateStruct { public long A, B; public string? Text; }

public interface INamed
{
    string? Name { get; }
}

public class Named : INamed
{
    public int Id;
    public string? Name { get; set; }
    public Order? Order;
}

public interface IShape
{
    int Area(int a, string s);
}

public struct Point : IShape
{
    public long X;
    public int Y;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Inside(int a)
    {
        Truth.Call("Point::Inside", $"this: {this.Spell()}, a: {a}", (a + Y).ToString());
        return a + Y;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Area(int a, string s)
    {
        Truth.Call("Point::Area", $"this: {this.Spell()}, a: {a}, s: {s.Spell()}", (a * 2).ToString());
        return a * 2;
    }
}

public class Box<T>
{
    public T? Value;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Put(T a, int b)
    {
        Truth.Call("Box::Put", $"this: {Truth.Any(this)}, a: {Truth.Any(a)}, b: {b}", (b + 1).ToString());
        return b + 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Make(T a, int b)
    {
        Truth.Call("Box::Make", $"a: {Truth.Any(a)}, b: {b}", (b + 2).ToString());
        return b + 2;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Swap<U>(T a, U c, int b)
    {
        Truth.Call("Box::Swap", $"this: {Truth.Any(this)}, a: {Truth.Any(a)}, c: {Truth.Any(c)}, b: {b}", (b + 3).ToString());
        return b + 3;
    }
}

public struct Pair<T>
{
    public long Number;
    public T? Value;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Take(int a, T b)
    {
        Truth.Call("Pair::Take", $"this: {Truth.Any(this)}, a: {a}, b: {Truth.Any(b)}", (a + 4).ToString());
        return a + 4;
    }
}
