// SPDX-License-Identifier: GPL-2.0-or-later
// As many methods as are asked for: instantiations of a few over ever other value types.
using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Plugin
{
    public struct D0 { } public struct D1 { } public struct D2 { } public struct D3 { } public struct D4 { }
    public struct D5 { } public struct D6 { } public struct D7 { } public struct D8 { } public struct D9 { }

    public struct Pair<TFirst, TSecond>
    {
        public TFirst First;
        public TSecond Second;
    }

    public sealed class Holder<T>
    {
        private T held;
        [MethodImpl(MethodImplOptions.NoInlining)] public Holder(T what) => held = what;
        [MethodImpl(MethodImplOptions.NoInlining)] public T Swap(T what) { T before = held; held = what; return before; }
        [MethodImpl(MethodImplOptions.NoInlining)] public static int Size() => Unsafe.SizeOf<T>();
    }

    public static class Mass
    {
        static readonly Type[] Digits = { typeof(D0), typeof(D1), typeof(D2), typeof(D3), typeof(D4),
                                          typeof(D5), typeof(D6), typeof(D7), typeof(D8), typeof(D9) };

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int One<T>()
        {
            var holder = new Holder<T>(default);
            holder.Swap(default);
            return Holder<T>.Size();
        }

        /// <summary>The number written with the digits' types.</summary>
        static Type Spell(int number)
        {
            Type spelt = Digits[number % 10];
            for (int rest = number / 10; rest > 0; rest /= 10)
                spelt = typeof(Pair<,>).MakeGenericType(Digits[rest % 10], spelt);
            return spelt;
        }

        /// <summary>Four methods for each number of a range.</summary>
        public static long Many(int first, int count)
        {
            var one = ((Func<int>)One<int>).Method.GetGenericMethodDefinition();
            long sizes = 0;
            for (int i = first; i < first + count; i++)
                sizes += one.MakeGenericMethod(Spell(i)).CreateDelegate<Func<int>>()();
            return sizes;
        }

        /// <summary>The next hundred methods, after a pause: not more than anybody could read.</summary>
        public static long Some(int round)
        {
            Thread.Sleep(20);
            return Many(25 * round, 25);
        }
    }
}
