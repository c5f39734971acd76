// SPDX-License-Identifier: GPL-2.0-or-later
// One of each kind of method that has a name or a signature of its own kind, each called.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading.Tasks;

namespace Plugin
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

    public delegate ref int Chooser<T>(T from, in int fallback);

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
                public readonly TResult Both<TResult>(TOuter a, TInner b, TResult c, TResult[] d) => c;
                public void Set(TOuter a, TInner b) { First = a; Second = b; }
                public static TOther Static<TOther>(TOther a, TInner[,] b) => a;
            }
        }

        static int made;
        static Outer() { made = Environment.TickCount; }
        public Outer() { made++; }
        public Dictionary<TOuter, List<Middle.Inner<TOuter>>> Index(TOuter[] all, TOuter[,] table) => null;
        public virtual TMethod Generic<TMethod>(TOuter a, TMethod b) => b;
        public TOuter this[int at, string name]
        {
            get => default;
            set => made += at;
        }
    }

    public class Derived : Outer<string>
    {
        public override TMethod Generic<TMethod>(string a, TMethod b) => base.Generic(a, b);
    }

    public record Person(string Name, int Age);

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
        public event EventHandler<Point> Changed;
        public int Value { get; init; }
        public void Raise() => Changed?.Invoke(this, new Point(1, 2));
    }

    public static unsafe class Shapes
    {
        static readonly int[] Storage = new int[4];
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
        public static (int First, string Second) Couple((long, Colour) a, (int, (string, Point)) b) => default;
        public static int? Maybe(int? a, Point? b, Colour? c) => a;
        public static long Call(delegate*<int, string, long> a, delegate* unmanaged[Cdecl]<void*, void> b,
                                delegate*<ref Point, int[]>[] c) => a(1, "a");
        public static object Any(object a, dynamic b, IEnumerable<KeyValuePair<string, int[]>> c) => a;
        public static int Spans(ReadOnlySpan<char> a, Span<Point> b, scoped ref Span<int> c) => a.Length;
        public static int Typed(TypedReference a, RuntimeTypeHandle b) => 1;
        public static ref int Choose(int[] from, in int fallback) => ref Storage[0];
        public static long Target(int a, string b) => a;
        [UnmanagedCallersOnly] public static int Unmanaged(int a) => a + 1;
        public static int Größe(string länge) => länge.Length;

        public static int Use()
        {
            Nothing();
            int number = Over(1) + Over("a") + Over(1, 2) + Over(1, "b", 3);
            Numbers(true, 'a', 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13);
            Point point = new(1, 2);
            Pointers(&number, null, null, &point, null);
            Reference(ref number, 2, out _);
            Kept(point);
            Arrays(null, null, new int[2, 3], new Point[1, 2, 3], null);
            Couple(default, default);
            Maybe(1, point, Colour.Red);
            Call(&Target, null, null);
            Any("a", 1, null);
            Span<int> span = Storage;
            Spans("abc", default, ref span);
            Typed(__makeref(number), typeof(int).TypeHandle);
            Chooser<int[]> chooser = Choose;
            chooser(Storage, 2);
            delegate* unmanaged<int, int> unmanaged = &Unmanaged;
            int[,] table = new int[2, 2];
            table[1, 1] = unmanaged(number);
            return table[1, 1];
        }
    }

    public static class Generics
    {
        public static T Same<T>(T a) => a;
        public static Dictionary<TKey, TValue[]> Two<TKey, TValue>(TKey a, List<TValue> b, ref TKey c) => null;
        public static unsafe int Size<T>(T* a, T[,] b) where T : unmanaged => 0;
        public static T MakeOne<TMaker, T>() where TMaker : IKeeper<T> => TMaker.Make();

        public static int Extend<T>(this IEnumerable<T> all, Func<T, bool> keep)
        {
            int kept = 0;
            foreach (T one in all)
                kept += keep(one) ? 1 : 0;
            return kept;
        }

        public static unsafe int Use()
        {
            int key = 1, least = 1;
            Point point = new(1, 2);
            string text = "s";
            (int, string) pair = (1, "a");
            Same(1); Same(text); Same(point); Same(pair); Same<int?>(1); Same(new int[1]);
            Same(new List<Point>()); Same(new int[1, 1]); Same<nint>(1); Same(Colour.Red);
            Same(new Pair<int[], string>()); Same(new Pair<Point, Pair<string, Colour>>()); Same(1.5m);
            Two(key, new List<string>(), ref key); Two(text, new List<Point>(), ref text);
            Two(point, new List<Colour>(), ref point);
            Size(&key, new int[1, 1]); Size(&point, new Point[1, 1]);
            MakeOne<Keeper, int>(); MakeOne<Keeper, string>();
            new Outer<int>().Index(null, null); new Outer<string>().Index(null, null);
            new Outer<Point>()[1, "x"] = point; new Outer<Point?>()[1, "x"] = point;
            _ = new Outer<int[]>()[1, "x"]; new Outer<Pair<int[], string>>().Index(null, null);
            new Outer<int>.Middle.Inner<string>().Both(1, "a", 2L, null);
            new Outer<string>.Middle.Inner<Point>().Both("a", point, "b", null);
            new Outer<(int, Point)>.Middle.Inner<Colour>().Set((1, point), Colour.Red);
            Outer<string>.Middle.Inner<int>.Static(1, null);
            Outer<Outer<int>.Middle>.Middle.Inner<Outer<Point>.Middle.Inner<int>>.Static("a", null);
            Outer<string> virtually = new Derived();
            virtually.Generic("a", 1); virtually.Generic("a", "b"); virtually.Generic("a", point);
            new Outer<double>().Generic(1, point);
            return new List<int>().Extend(a => a > least) + new[] { "a" }.Extend(static a => a.Length > 0);
        }
    }

    public static class Bodies
    {
        static int seen;

        public static async Task<int> Wait(int times)
        {
            for (int i = 0; i < times; i++)
                await Task.CompletedTask;
            return times;
        }

        public static async ValueTask<T> WaitGeneric<T>(T what) => Generics.Same(what);
        public static async IAsyncEnumerable<int> Stream() { yield return 1; }

        public static IEnumerable<string> Count(int to)
        {
            for (int i = 0; i < to; i++)
                yield return i.ToString();
        }

        public static int Local(int with)
        {
            int Add(int more) => with + more;
            static T Echo<T>(T what) => what;
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
            }
            return seen;
        }

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
        public static int Once(int a) => a;

        [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.NoOptimization)]
        public static int Plain(int a) => a;

        public static Func<int, int> Capture(int a) => b => a + b;

        public static int Use()
        {
            int sum = Wait(2).Result + WaitGeneric(new Point(1, 2)).Result.X + WaitGeneric("a").Result.Length;
            foreach (int one in Stream().ToBlockingEnumerable())
                sum += one;
            foreach (string one in Count(2))
                sum += one.Length;
            return sum + Local(1) + Handlers("12") + Handlers("x") + Once(1) + Plain(2) + Capture(3)(4);
        }
    }

    public static class Menagerie
    {
        public static long Visit()
        {
            Point point = (1, 2);
            point += point;
            long sum = (int)point + point.ToString().Length + (point != default ? 1 : 0) + point.GetHashCode();
            using (var keeper = new Keeper { Value = 3 })
            {
                keeper.Changed += (_, changed) => sum += changed.X;
                keeper.Raise();
                IKeeper<string> texts = keeper;
                texts.Keep("a");
                texts.Kept += "b";
                IKeeper<int> numbers = keeper;
                numbers.Keep(1);
                numbers.Kept += 2;
                sum += texts.Default("a") + numbers.Default(1);
            }
            var person = new Person("Ann", 40);
            var (name, age) = person with { Age = 41 };
            sum += person.ToString().Length + name.Length + age + (person == new Person("Bob", 1) ? 1 : 0);
            sum += new[] { 3, 1, 2 }.OrderBy(a => a).Select(a => new { a, Twice = 2 * a }).Sum(a => a.Twice);
            return sum + Shapes.Use() + Generics.Use() + Bodies.Use();
        }
    }
}

// In no namespace at all.
public class Bare
{
    public class Nested { public static void Go(Nested a, Plugin.Outer<Nested> b) { } }
}
