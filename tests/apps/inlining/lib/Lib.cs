// SPDX-License-Identifier: GPL-2.0-or-later
//
// Methods of which it is known whether they are inlined: small ones that ask for it, and others
// that forbid it. The callers are in the other assembly and in this one.
using System.Runtime.CompilerServices;
using System.Runtime.Versioning;

namespace System.Runtime.Versioning
{
    // The compiler knows it by its name, and may inline what has it across all borders.
    internal sealed class NonVersionableAttribute : Attribute { }
}

namespace Lib
{
    public static class Small
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static int Twice(int x) => x + x;
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static int Four(int x) => Twice(Twice(x));
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static T Same<T>(T x) => x;
        [NonVersionable, MethodImpl(MethodImplOptions.AggressiveInlining)]
        public static int Free(int x) => x - 1;
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Never(int x) => x + 1;
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Local(int x) => Four(x) + Never(x);

        public static class Nested
        {
            [MethodImpl(MethodImplOptions.AggressiveInlining)]
            public static int Half(int x) => x / 2;
        }
    }

    public class Cell<T>
    {
        T value;
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public Cell(T first) { value = first; }
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public void Put(T x) { value = x; }
        public T Value { [MethodImpl(MethodImplOptions.AggressiveInlining)] get => value; }
    }
}
