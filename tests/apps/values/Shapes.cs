// SPDX-License-Identifier: GPL-2.0-or-later
// The methods, and one round of calls of all of them.
using System;
using System.Runtime.CompilerServices;
using System.Runtime.Intrinsics;
using System.Threading;
using System.Threading.Tasks;
using static Values.Truth;

namespace Values;

public class Shapes : IShape
{
    private const MethodImplOptions Kept = MethodImplOptions.NoInlining;

    public int Number = 7;

    [MethodImpl(Kept)] public static int Ints(int a, int b) { Note("Ints", $"a: {a}, b: {b}", $"{a + b}"); return a + b; }
    [MethodImpl(Kept)] public static int Smalls(bool a, sbyte b, short c, char d, byte e, ushort f) { Note("Smalls", $"a: {Truth.Any(a)}, b: {b}, c: {c}, d: {Truth.Any(d)}, e: {e}, f: {f}", $"{b + c}"); return b + c; }
    [MethodImpl(Kept)] public static long Longs(long a, uint b, nint c, ulong d) { Note("Longs", $"a: {a}, b: {b}, c: {c}, d: {d}", $"{a + b}"); return a + b; }
    [MethodImpl(Kept)] public static string? Strings(string? s, string? t) { Note("Strings", $"s: {s.Spell()}, t: {t.Spell()}", s.Spell()); return s; }
    [MethodImpl(Kept)] public static double Mixed(int a, double b, long c, float d, string e) { Note("Mixed", $"a: {a}, b: {X(0)}, c: {c}, d: {X(1)}, e: {e.Spell()}", X(0)); return a + b + c + d; }
    [MethodImpl(Kept)] public static int NineInts(int a, int b, int c, int d, int e, int f, int g, byte h, int i) { Note("NineInts", $"a: {a}, b: {b}, c: {c}, d: {d}, e: {e}, f: {f}, g: {g}, h: {h}, i: {i}", $"{g + i}"); return g + i; }
    [MethodImpl(Kept)] public static int TenDoubles(double a, double b, double c, double d, double e, double f, double g, double h, double i, float j, int k) { Note("TenDoubles", $"a: {X(0)}, b: {X(1)}, c: {X(2)}, d: {X(3)}, e: {X(4)}, f: {X(5)}, g: {X(6)}, h: {X(7)}, i: {Truth.Any(i)}, j: {Truth.Any(j)}, k: {k}", $"{k}"); return k; }
    [MethodImpl(Kept)] public static Small Enums(DayOfWeek a, Small b, Wide c, Rights d) { Note("Enums", $"a: {a}, b: {b}, c: {c}, d: {d}", $"{b}"); return b; }
    [MethodImpl(Kept)] public static int Refs(ref int a, out long b, in double c, ref string s, out string t) { b = a * 5L; t = s + "!"; Note("Refs", $"a: {a}, b: {b}, c: {Truth.Any(c)}, s: {s.Spell()}, t: {t.Spell()}", $"{a}"); return a; }
    [MethodImpl(Kept)] public static int Params(int n, params int[] xs) { Note("Params", $"n: {n}, xs: {Truth.Any(xs)}", $"{xs.Length}"); return xs.Length; }
    [MethodImpl(Kept)] public static int Arrays(string?[] a, byte[] b, Order?[] c, long[]? d) { Note("Arrays", $"a: {Truth.Any(a)}, b: {Truth.Any(b)}, c: {Truth.Any(c)}, d: {Truth.Any(d)}", $"{a.Length}"); return a.Length; }
    [MethodImpl(Kept)] public static int Span(Span<int> s, int x) { Note("Span", $"s: {Truth.Elements($"System.Span<int>[{s.Length}]", s.ToArray())}, x: {x}", $"{s.Length}"); return s.Length; }
    [MethodImpl(Kept)] public static int Chars(int x, ReadOnlySpan<char> s) { Note("Chars", $"x: {x}, s: {s.ToString().Spell()}", $"{s.Length}"); return s.Length; }
    [MethodImpl(Kept)] public static int Structs4(S1 a, S2 b, S3 c, S4 d) { Note("Structs4", $"a: {a.Spell()}, b: {b.Spell()}, c: {c.Spell()}, d: {d.Spell()}", $"{d.A}"); return d.A; }
    [MethodImpl(Kept)] public static int Structs8(S8 a, FF b, IF c, F4 d, Nested8 e) { Note("Structs8", $"a: {a.Spell()}, b: Values.FF{{A: {X(0)}, B: {X(0)}}}, c: {c.Spell()}, d: Values.F4{{A: {X(1)}}}, e: {e.Spell()}", $"{a.A}"); return a.A; }
    [MethodImpl(Kept)] public static int Structs12(S12 a, FFF b, FFI c) { Note("Structs12", $"a: {a.Spell()}, b: Values.FFF{{A: {X(0)}, B: {X(0)}, C: {X(1)}}}, c: Values.FFI{{A: {X(2)}, B: {X(2)}, C: {c.C}}}", $"{a.A}"); return a.A; }
    [MethodImpl(Kept)] public static long Structs16(S16 a, LD b, DL c, DD d, ID e) { Note("Structs16", $"a: {a.Spell()}, b: Values.LD{{A: {b.A}, B: {X(0)}}}, c: Values.DL{{A: {X(1)}, B: {c.B}}}, d: Values.DD{{A: {X(2)}, B: {X(3)}}}, e: Values.ID{{A: {e.A}, B: {X(4)}}}", $"{a.A}"); return a.A; }
    [MethodImpl(Kept)] public static int Structs24(int x, S24 a, S17 b, int y) { Note("Structs24", $"x: {x}, a: {a.Spell()}, b: {b.Spell()}, y: {y}", $"{y}"); return y; }
    [MethodImpl(Kept)] public static int WithTexts(TextAndInt a, TwoTexts b) { Note("WithTexts", $"a: {a.Spell()}, b: {b.Spell()}", $"{a.Number}"); return a.Number; }
    [MethodImpl(Kept)] public static int Explicits(int x, Explicit a, Union b, int y) { Note("Explicits", $"x: {x}, a: {a.Spell()}, b: {b.Spell()}, y: {y}", $"{a.A}"); return a.A; }
    [MethodImpl(Kept)] public static int Empties(int x, Empty a, int y) { Note("Empties", $"x: {x}, a: Values.Empty{{}}, y: {y}", $"{x + y}"); return x + y; }
    [MethodImpl(Kept)] public static int Nests(int x, Nested a, int y) { Note("Nests", $"x: {x}, a: {a.Spell()}, y: {y}", $"{x + y}"); return x + y; }
    [MethodImpl(Kept)] public static int Spilled(int a, int b, int c, int d, int e, S16 s, int f, int g) { Note("Spilled", $"a: {a}, b: {b}, c: {c}, d: {d}, e: {e}, s: {s.Spell()}, f: {f}, g: {g}", $"{f}"); return f; }
    [MethodImpl(Kept)] public static int SpilledDoubles(double a, double b, double c, double d, double e, double f, double g, DD s, double h, int i) { Note("SpilledDoubles", $"a: {X(0)}, b: {X(1)}, c: {X(2)}, d: {X(3)}, e: {X(4)}, f: {X(5)}, g: {X(6)}, s: {s.Spell()}, h: {X(7)}, i: {i}", $"{i}"); return i; }
    [MethodImpl(Kept)] public static int? Nullables(int? a, int? b, long? c) { Note("Nullables", $"a: {Truth.Any(a)}, b: {Truth.Any(b)}, c: {Truth.Any(c)}", Truth.Any(a)); return a; }
    [MethodImpl(Kept)] public static decimal Decimals(int x, decimal d, int y) { Note("Decimals", $"x: {x}, d: {Truth.Any(d)}, y: {y}", Truth.Any(d)); return d; }
    [MethodImpl(Kept)] public static DateTime Dates(DateTime d, TimeSpan t, DateTimeOffset o, int y) { Note("Dates", $"d: {Truth.Any(d)}, t: {Truth.Any(t)}, o: {Truth.Any(o)}, y: {y}", Truth.Any(d)); return d; }
    [MethodImpl(Kept)] public static Guid Guids(int x, Guid g, int y) { Note("Guids", $"x: {x}, g: {Truth.Any(g)}, y: {y}", Truth.Any(g)); return g; }
    [MethodImpl(Kept)] public static (int, string) Tuples((int, string) a, (int, int, int) b, (long, long, long) c, int y) { Note("Tuples", $"a: {Truth.Any(a)}, b: {Truth.Any(b)}, c: {Truth.Any(c)}, y: {y}", Truth.Any(a)); return a; }
    [MethodImpl(Kept)] public static Int128 Vectors(int x, Vector128<long> v, Int128 i, UInt128 u, int y) { Note("Vectors", $"x: {x}, v: System.Runtime.Intrinsics.Vector128<long>{{{VectorFields(v)}}}, i: {i}, u: {u}, y: {y}", $"{i}"); return i; }
    [MethodImpl(Kept)] public static unsafe int Pointers(int* p, void* q, delegate*<int, int> f, nuint h) { Note("Pointers", $"p: 0x{(nint)p:x}, q: 0x{(nint)q:x}, f: 0x{(nint)f:x}, h: {h}", $"{*p}"); return *p; }
    [MethodImpl(Kept)] public static Order? Objects(Order? a, Order b, object c, object d, object? e) { Note("Objects", $"a: {Truth.Any(a)}, b: {Truth.Any(b)}, c: {Truth.Any(c)}, d: {Truth.Any(d)}, e: {Truth.Any(e)}", Truth.Any(a)); return a; }
    [MethodImpl(Kept)] public static INamed Interfaces(INamed a, IShape? b) { Note("Interfaces", $"a: {Truth.Any(a)}, b: {Truth.Any(b)}", Truth.Any(a)); return a; }
    [MethodImpl(Kept)] public int Plain(int a, string b) { Note("Plain", $"this: {Truth.Any(this)}, a: {a}, b: {b.Spell()}", $"{a}"); return a; }
    [MethodImpl(Kept)] public S24 Buffer(int a, string b) { var s = new S24 { A = a, B = 0x2222, C = -3 }; Note("Buffer", $"this: {Truth.Any(this)}, a: {a}, b: {b.Spell()}", s.Spell()); return s; }
    [MethodImpl(Kept)] public virtual int Virtual(int a, string b) { Note("Virtual", $"this: {Truth.Any(this)}, a: {a}, b: {b.Spell()}", $"{a}"); return a; }
    [MethodImpl(Kept)] public int Area(int a, string s) { Note("Area", $"this: {Truth.Any(this)}, a: {a}, s: {s.Spell()}", $"{a}"); return a; }
    [MethodImpl(Kept)] public static int Generic<T>(T a, int b) { Note("Generic", $"a: {Truth.Any(a)}, b: {b}", $"{b}"); return b; }
    [MethodImpl(Kept)] public int GenericInstance<T>(T a, int b) { Note("GenericInstance", $"this: {Truth.Any(this)}, a: {Truth.Any(a)}, b: {b}", $"{b}"); return b; }
    [MethodImpl(Kept)] public static (T, T, T) GenericBuffer<T>(T a, int b) { Note("GenericBuffer", $"a: {Truth.Any(a)}, b: {b}", Truth.Any((a, a, a))); return (a, a, a); }
    [MethodImpl(Kept)] public static bool Bool(int a) { Note("Bool", $"a: {a}", a > 3 ? "true" : "false"); return a > 3; }
    [MethodImpl(Kept)] public static sbyte SByte(int a) { Note("SByte", $"a: {a}", $"{(sbyte)a}"); return (sbyte)a; }
    [MethodImpl(Kept)] public static short Short(int a) { Note("Short", $"a: {a}", $"{(short)a}"); return (short)a; }
    [MethodImpl(Kept)] public static ushort UShort(int a) { Note("UShort", $"a: {a}", $"{(ushort)a}"); return (ushort)a; }
    [MethodImpl(Kept)] public static S3 Three(int a) { var s = new S3 { A = (byte)a, B = 0x22, C = 0x33 }; Note("Three", $"a: {a}", s.Spell()); return s; }
    [MethodImpl(Kept)] public static S12 Twelve(int a) { var s = new S12 { A = a, B = 0x22, C = 0x33 }; Note("Twelve", $"a: {a}", s.Spell()); return s; }
    [MethodImpl(Kept)] public static LD LongDouble(int a) { Note("LongDouble", $"a: {a}", $"Values.LD{{A: {a}, B: {X(0)}}}"); return new LD { A = a, B = 1.5 }; }
    [MethodImpl(Kept)] public static DL DoubleLong(int a) { Note("DoubleLong", $"a: {a}", $"Values.DL{{A: {X(0)}, B: {a}}}"); return new DL { A = 1.5, B = a }; }
    [MethodImpl(Kept)] public static IF IntFloat(int a) { var s = new IF { A = a, B = 2.5f }; Note("IntFloat", $"a: {a}", s.Spell()); return s; }
    [MethodImpl(Kept)] public static TextAndInt Text(int a) { var s = new TextAndInt { Text = $"number {a}", Number = a }; Note("Text", $"a: {a}", s.Spell()); return s; }
    [MethodImpl(Kept)] public static ReadOnlySpan<char> Tail(string s) { Note("Tail", $"s: {s.Spell()}", s[1..].Spell()); return s.AsSpan(1); }
    [MethodImpl(Kept)] public static int[] Made(int a) { int[] made = { a, a + 1, a + 2 }; Note("Made", $"a: {a}", Truth.Any(made)); return made; }
    [MethodImpl(Kept)] public static void Nothing(DateTimeOffset o) => Note("Nothing", $"o: {Truth.Any(o)}");
}

public static class Later
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Late(LateStruct a, int b)
    {
        Truth.Call("Later::Late", $"a: {a.Spell()}, b: {b}", $"{b}");
        return b;
    }
}

internal static class Rounds
{
    private static readonly string[] Texts =
    {
        "", "a", "Ada", "line\nbreak \"quoted\" \\ \t", "grüße, 世界 🎉", "\u0001\u009b31m\u202e", "x🎉\ud800y",
        new string('w', 40), new string('v', 31) + "🎉🎉", "thirty-two characters, just so!!",
    };

    private static int Identity(int x) => x;

    public static unsafe void All(int seed)
    {
        var random = new Random(seed);
        int a = random.Next(int.MinValue, int.MaxValue), b = random.Next(-1000, 1000), c = random.Next();
        long l = random.NextInt64();
        string s = Texts[random.Next(Texts.Length)] , t = $"round {seed}";
        string? maybe = random.Next(4) == 0 ? null : Texts[random.Next(Texts.Length)];
        double d = random.Next(-4000, 4000) / 8.0;
        float f = random.Next(-4000, 4000) / 4.0f;
        var order = new Order { Id = a, Customer = maybe, Paid = b > 0, Total = d, Parts = new S24 { A = l, B = 2, C = b }, Discount = b > 0 ? b : null, Rights = (Rights)(c % 8) };
        order.Next = random.Next(2) == 0 ? new Special { Id = 1 } : null;
        var special = new Special { Id = b, Customer = s, Extra = l, Next = order };
        var shapes = new Shapes { Number = b };

        Shapes.Ints(a, b);
        Shapes.Smalls(b > 0, (sbyte)b, (short)a, (char)random.Next(32, 0xd7ff), (byte)b, (ushort)a);
        Shapes.Longs(l, (uint)a, (nint)l, (ulong)l * 3);
        Shapes.Strings(s, maybe);
        Shapes.Mixed(a, d, l, f, t);
        Shapes.NineInts(a, b, c, 4, 5, 6, a, (byte)b, c);
        Shapes.TenDoubles(1, 2, 3, 4, 5, 6, 7, 8, d, f, b);
        Shapes.Enums((DayOfWeek)(c % 8), (Small)(c % 3 == 0 ? 200 : c % 3), c % 2 == 0 ? Wide.Far : Wide.Below, (Rights)(c % 9));
        int given = b;
        string text = s;
        Shapes.Refs(ref given, out _, in d, ref text, out _);
        Shapes.Params(a, new int[random.Next(12)].Fill(b));
        Shapes.Arrays(new[] { s, maybe, t, "" }[..random.Next(5)], new byte[] { 1, (byte)b, 255 }, new[] { order, null, special }, b > 0 ? new[] { l } : null);
        Shapes.Span(new[] { a, b, c, 1, 2, 3, 4, 5, 6, 7 }.AsSpan(0, random.Next(11)), b);
        Shapes.Chars(a, t.AsSpan(2));
        Shapes.Structs4(new S1 { A = (byte)a }, new S2 { A = (short)a }, new S3 { A = (byte)a, B = (byte)b, C = 3 }, new S4 { A = a });
        Shapes.Structs8(new S8 { A = a, B = b }, new FF { A = 1, B = 2 }, new IF { A = a, B = f }, new F4 { A = f }, new Nested8 { X = new S4 { A = a }, Y = new F4 { A = f } });
        Shapes.Structs12(new S12 { A = a, B = b, C = c }, new FFF { A = 1, B = 2, C = 3 }, new FFI { A = 1, B = 2, C = c });
        Shapes.Structs16(new S16 { A = l, B = a }, new LD { A = l, B = d }, new DL { A = d, B = l }, new DD { A = d, B = d }, new ID { A = a, B = d });
        Shapes.Structs24(a, new S24 { A = l, B = a, C = b }, new S17 { A = l, B = a, C = (byte)b }, b);
        Shapes.WithTexts(new TextAndInt { Text = s, Number = b }, new TwoTexts { First = maybe, Second = t });
        Shapes.Explicits(a, new Explicit { A = a, B = b }, new Union { B = (uint)a, C = l }, b);
        Shapes.Empties(a, default, b);
        Shapes.Nests(a, new Nested { P = new S8 { A = a, B = b }, Q = new DD { A = d, B = -d } }, b);
        Shapes.Spilled(a, b, c, 1, 2, new S16 { A = l, B = -l }, a, b);
        Shapes.SpilledDoubles(1, 2, 3, 4, 5, 6, 7, new DD { A = d, B = -d }, d, b);
        Shapes.Nullables(b > 0 ? a : null, b > 0 ? null : c, c % 2 == 0 ? l : null);
        Shapes.Decimals(a, new decimal(a, b, c, b > 0, (byte)(c % 29)), b);
        Shapes.Dates(new DateTime(c * 100000000L, (DateTimeKind)(c % 3)), new TimeSpan(l % 1000000000000000), new DateTimeOffset(c * 100000000L + 864000000000L, TimeSpan.FromMinutes(b / 2)), b);
        Shapes.Guids(a, new Guid(a, (short)b, (short)c, 1, 2, 3, 4, 5, 6, 7, (byte)b), b);
        Shapes.Tuples((a, t), (a, b, c), (l, a, b), b);
        Shapes.Vectors(a, Vector128.Create(l, a), (Int128)l * a, (UInt128)c * (ulong)c, b);
        Shapes.Pointers(&b, (void*)l, &Identity, (nuint)l);
        Shapes.Objects(b > 0 ? order : special, special, t, a, random.Next(3) switch { 0 => null, 1 => (object)l, _ => shapes });
        Shapes.Interfaces(new Named { Id = a, Name = maybe, Order = order }, b > 0 ? shapes : new Point { X = l, Y = b });
        shapes.Plain(a, t);
        shapes.Buffer(a, t);
        shapes.Virtual(a, t);
        ((IShape)shapes).Area(a, t);
        Shapes.Generic(t, b);
        Shapes.Generic(l, b);
        Shapes.Generic(new S24 { A = a, B = b, C = c }, b);
        shapes.GenericInstance(t, b);
        shapes.GenericInstance(l, b);
        Shapes.GenericBuffer(t, b);
        Shapes.GenericBuffer(a, b);
        Shapes.Bool(b);
        Shapes.SByte(b);
        Shapes.Short(a);
        Shapes.UShort(a);
        Shapes.Three(a);
        Shapes.Twelve(a);
        Shapes.LongDouble(a);
        Shapes.DoubleLong(a);
        Shapes.IntFloat(a);
        Shapes.Text(a);
        _ = Shapes.Tail(t).Length;
        Shapes.Made(b);
        Shapes.Nothing(DateTimeOffset.UnixEpoch);
        var point = new Point { X = l, Y = b };
        point.Inside(a / 2);
        ((IShape)point).Area(b, t);
        new Box<string> { Value = maybe }.Put(t, b);
        new Box<int> { Value = a }.Put(a, b);
        Box<string>.Make(t, b);
        Box<int>.Make(a, b);
        new Box<string> { Value = maybe }.Swap(t, a, b);
        new Box<int> { Value = a }.Swap(a, t, b);
        new Pair<string> { Number = l, Value = maybe }.Take(a, t);
        new Pair<int> { Number = l, Value = b }.Take(a, b);
    }

    private static int[] Fill(this int[] array, int first)
    {
        for (int i = 0; i < array.Length; i++)
        {
            array[i] = first + i;
        }
        return array;
    }
}
