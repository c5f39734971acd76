// SPDX-License-Identifier: GPL-2.0-or-later
// Methods of an assembly that is loaded later, which count their own calls as the host's do.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Plugin
{
    public static class Tally
    {
        static long plain, generic;

        [MethodImpl(MethodImplOptions.NoInlining)]
        static int One(int x)
        {
            Interlocked.Increment(ref plain);
            return x + 1;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static T Any<T>(T x)
        {
            Interlocked.Increment(ref generic);
            return x;
        }

        static void Repeat(int number)
        {
            for (int i = 0; i < number; i++)
                One(i);
        }

        /// <summary>Call One, on so many threads (0: this one); what One itself has seen of it.</summary>
        public static long Plain(int number, int threads)
        {
            long before = plain;
            var running = new List<Thread>();
            for (int i = 0; i < threads; i++)
            {
                int share = number / threads + (i < number % threads ? 1 : 0);
                running.Add(new Thread(() => Repeat(share)));
                running[i].Start();
            }
            if (threads == 0)
                Repeat(number);
            running.ForEach(thread => thread.Join());
            return plain - before;
        }

        /// <summary>Call Any over a reference type and, every second time, over a value type.</summary>
        public static long Generic(int number)
        {
            long before = generic;
            for (int i = 0; i < number; i++)
            {
                if ((i & 1) == 0)
                    Any("text");
                else
                    Any(new Point(i, i));
            }
            return generic - before;
        }
    }
}
