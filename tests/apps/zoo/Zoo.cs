// SPDX-License-Identifier: GPL-2.0-or-later
//
// One of each kind of method that has a name of its own kind. It is compiled ahead of
// time and the names found in the result are compared with those the compiler gave.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

namespace Zoo
{
    public struct Point
    {
        public int X, Y;
        public Point(int x, int y) { X = x; Y = y; }
        public readonly override string ToString() => X + "," + Y;
        public static Point operator +(Point a, Point b) => new(a.X + b.X, a.Y + b.Y);
        public static bool operator ==(Point a, Point b) => a.X == b.X && a.Y == b.Y;
        public static bool operator !=(Point a, Point b) => !(a == b);
        public static implicit operator Point((int X, int Y) pair) => new(pair.X, pair.Y);
        public static explicit operator int(Point p) => p.X;
        public readonly override bool Equals(object other) => other is Point p && p == this;
        public readonly override int GetHashCode() => X ^ Y;
    }

    public enum Colour : byte { Red, Green }

    public delegate ref int Chooser<T>(T from, in int fallback) where T : allows ref struct;

    public interface IKeeper<T>
    {
        T Kept { get; set; }
        void Keep(T what);
        int Default(T what) => Kept is null ? 0 : 1;
        static abstract T Make();
    }

    public class Outer<TOuter>
    {
        public class Middle
        {
            public struct Inner<TInner>
            {
                public TOuter First;
                public TInner Second;
                [MethodImpl(MethodImplOptions.NoInlining)]
                public readonly TResult Both<TResult>(TOuter a, TInner b, TResult c, TResult[] d) => c;
                [MethodImpl(MethodImplOptions.NoInlining)]
                public void Set(TOuter a, TInner b) { First = a; Second = b; }
            }
        }

        static int made;
        static Outer() { made = Environment.TickCount; }
        [MethodImpl(MethodImplOptions.NoInlining)]
        public Outer() { made++; }
        [MethodImpl(MethodImplOptions.NoInlining)]
        public Dictionary<TOuter, List<Middle.Inner<TOuter>>> Index(TOuter[] all, TOuter[,] table) => null;
        public TOuter this[int at, string name]
        {
            [MethodImpl(MethodImplOptions.NoInlining)] get => default;
            [MethodImpl(MethodImplOptions.NoInlining)] set => made += at;
        }
    }

    public class Keeper : IKeeper<string>, IKeeper<int>, IDisposable
    {
        string text;
        int number;
        string IKeeper<string>.Kept { get => text; set => text = value; }
        int IKeeper<int>.Kept { get => number; set => number = value; }
        void IKeeper<string>.Keep(string what) => text = what;
        void IKeeper<int>.Keep(int what) => number = what;
        static string IKeeper<string>.Make() => "made";
        static int IKeeper<int>.Make() => 1;
        void IDisposable.Dispose() => GC.SuppressFinalize(this);
        ~Keeper() => text = null;
        public event EventHandler<Point> Changed;
        public int Value { get; init; }
    }

    public static unsafe class Shapes
    {
        static int[] storage = new int[4];
        public static void Nothing() { }
        public static int Over(int a) => a;
        public static int Over(string a) => a.Length;
        public static int Over(int a, long b) => (int)(a + b);
        public static int Over(params object[] all) => all.Length;
        public static void Numbers(bool a, char b, sbyte c, byte d, short e, ushort f, int g, uint h,
                                   long i, ulong j, float k, double l, nint m, nuint n, decimal o) { }
        public static int* Pointers(int* a, void* b, char** c, Point* d, Colour* e) => a;
        public static ref int Reference(ref int a, in long b, out string c) { c = null; return ref a; }
        public static ref readonly Point Kept(in Point p) => ref p;
        public static int[] Arrays(int[] a, string[][] b, int[,] c, Point[,,] d, List<int>[] e) => a;
        public static (int First, string Second) Pair((long, Colour) a, (int, (string, Point)) b) => default;
        public static int? Maybe(int? a, Point? b, Colour? c) => a;
        public static int Call(delegate*<int, string, long> a, delegate* unmanaged[Cdecl]<void*, void> b,
                               delegate*<ref Point, int[]>[] c) => 0;
        public static object Any(object a, dynamic b, IEnumerable<KeyValuePair<string, int[]>> c) => a;
        public static int Spans(ReadOnlySpan<char> a, Span<Point> b, scoped ref Span<int> c) => a.Length;
        public static void Dots(ArgIterator a, TypedReference b, RuntimeArgumentHandle c) { }
        public static ref int Choose(int[] from, in int fallback) => ref storage[0];
        public static Chooser<int[]> Chooser => Choose;
    }

    public static class Generics
    {
        [MethodImpl(MethodImplOptions.NoInlining)] public static T Same<T>(T a) => a;
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static Dictionary<TKey, TValue[]> Two<TKey, TValue>(TKey a, List<TValue> b, ref TKey c) => null;
        [MethodImpl(MethodImplOptions.NoInlining)] public static unsafe int Size<T>(T* a, T[,] b) where T : unmanaged => 0;
        [MethodImpl(MethodImplOptions.NoInlining)] public static int Extend<T>(this IEnumerable<T> all, Func<T, bool> keep)
        {
            int kept = 0;
            foreach (T one in all)
                kept += keep(one) ? 1 : 0;
            return kept;
        }

        public static unsafe int Use()
        {
            int key = 1, least = 1; Point point = new(1, 2); string text = "s"; (int, string) pair = (1, "a");
            Same(1); Same(text); Same(point); Same(pair); Same<int?>(1); Same(new int[1]); Same(new List<Point>());
            Two(key, new List<string>(), ref key); Two(text, new List<Point>(), ref text);
            Two(point, new List<Colour>(), ref point);
            Size(&key, new int[1, 1]); Size(&point, new Point[1, 1]);
            new Outer<int>().Index(null, null); new Outer<string>().Index(null, null);
            new Outer<Point>()[1, "x"] = point; new Outer<Point?>()[1, "x"] = point;
            new Outer<int>.Middle.Inner<string>().Both(1, "a", 2L, null);
            new Outer<string>.Middle.Inner<Point>().Both("a", point, "b", null);
            new Outer<(int, Point)>.Middle.Inner<Colour>().Set((1, point), Colour.Red);
            return new List<int>().Extend(a => a > least) + new[] { "a" }.Extend(static a => a.Length > 0);
        }
    }

    public static class Bodies
    {
        static int seen;

        public static async Task<int> Wait(int times)
        {
            for (int i = 0; i < times; i++)
                await Task.Yield();
            return times;
        }

        public static async ValueTask WaitGeneric<T>(T what) { await Task.Delay(1); Generics.Same(what); }
        public static ValueTask UseWaitGeneric() => WaitGeneric(new Point(1, 2));
        public static async IAsyncEnumerable<int> Stream() { await Task.Yield(); yield return 1; }

        public static IEnumerable<string> Count(int to)
        {
            for (int i = 0; i < to; i++)
                yield return i.ToString();
        }

        public static int Local(int with)
        {
            [MethodImpl(MethodImplOptions.NoInlining)] int Add(int more) => with + more;
            [MethodImpl(MethodImplOptions.NoInlining)] static T Echo<T>(T what) => what;
            return Add(3) + Echo(4) + Echo("s").Length;
        }

        public static int Handlers(string text)
        {
            try
            {
                seen += int.Parse(text);
            }
            catch (FormatException error) when (error.Message.Length > 3)
            {
                seen--;
            }
            catch (OverflowException)
            {
                seen -= 2;
            }
            finally
            {
                seen++;
                Console.WriteLine(seen);
            }
            return seen;
        }

        public static int Dispose(Keeper keeper)
        {
            using (IDisposable first = keeper)
            {
                lock (first)
                {
                    try { Handlers(first.ToString()); }
                    catch { throw; }
                }
            }
            return 1;
        }

        public static Func<int, int> Capture(int a) => b => a + b;
    }
}

// In no namespace at all.
public class Bare
{
    public class Nested { public static void Go(Nested a, Zoo.Outer<Nested> b) { } }
}
