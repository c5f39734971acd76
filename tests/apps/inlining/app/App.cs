// SPDX-License-Identifier: GPL-2.0-or-later
//
// Callers that are not inlined themselves, and a program that makes each of them run.
using System;
using System.Runtime.CompilerServices;
using Lib;

namespace App
{
    public static class Callers
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        static int Own(int x) => x * 3;
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int A(int x) => Own(x) + Small.Twice(x);
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int B(int x) => Small.Four(x) + Small.Never(x) + Small.Free(x);
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int C(string x) => Small.Same(x).Length + Small.Same(3);
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int D(int x)
        {
            var number = new Cell<int>(1);
            number.Put(x);
            return number.Value + Small.Nested.Half(x);
        }
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static bool E(string x) => string.IsNullOrEmpty(x);
    }

    static class Program
    {
        static void Main()
        {
            int sum = Callers.A(1) + Callers.B(2) + Callers.C("x") + Callers.D(3) + Small.Local(4);
            Console.WriteLine("ready " + Environment.ProcessId + " " + sum + Callers.E("x"));
            Console.ReadLine();
        }
    }
}
