// SPDX-License-Identifier: GPL-2.0-or-later
// Methods that no file has: dynamic methods, compiled expressions, emitted types.
using System;
using System.Collections.Generic;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Text.RegularExpressions;

namespace Plugin
{
    public static class Made
    {
        // What is made stays.
        static readonly List<object> Kept = new();

        static Func<int, int> MakeDynamic(int number, bool owned)
        {
            var parameters = new[] { typeof(int) };
            DynamicMethod method = owned
                ? new($"Owned_{number}", typeof(int), parameters, typeof(Made))
                : new($"Dynamic_{number}", typeof(int), parameters);
            ILGenerator il = method.GetILGenerator();
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Ldc_I4, number);
            il.Emit(OpCodes.Add);
            il.Emit(OpCodes.Ret);
            return method.CreateDelegate<Func<int, int>>();
        }

        static Func<int, string, int> MakeExpression(int number)
        {
            ParameterExpression a = Expression.Parameter(typeof(int)), b = Expression.Parameter(typeof(string));
            return Expression.Lambda<Func<int, string, int>>(
                Expression.Add(Expression.Multiply(a, Expression.Constant(number)),
                               Expression.Property(b, nameof(string.Length))),
                $"Compiled_{number}", new[] { a, b }).Compile();
        }

        static Func<int> MakeEmitted(int number, AssemblyBuilderAccess access)
        {
            var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName($"Emitted{number}"), access);
            TypeBuilder type = assembly.DefineDynamicModule("Module").DefineType("Emitted.Type`1", TypeAttributes.Public);
            GenericTypeParameterBuilder parameter = type.DefineGenericParameters("T")[0];
            MethodBuilder method = type.DefineMethod("Number", MethodAttributes.Public | MethodAttributes.Static,
                                                     typeof(int), new[] { parameter.MakeArrayType(), typeof(string) });
            ILGenerator il = method.GetILGenerator();
            il.Emit(OpCodes.Ldc_I4, number);
            il.Emit(OpCodes.Ret);
            TypeBuilder plain = ((ModuleBuilder)type.Module).DefineType("Emitted.Plain", TypeAttributes.Public);
            method = plain.DefineMethod("Number", MethodAttributes.Public | MethodAttributes.Static,
                                        typeof(int), Type.EmptyTypes);
            il = method.GetILGenerator();
            il.Emit(OpCodes.Ldc_I4, number);
            il.Emit(OpCodes.Ret);
            Type made = type.CreateType();
            foreach (Type argument in new[] { typeof(int), typeof(string), typeof(Point) })
                made.MakeGenericType(argument).GetMethod("Number").Invoke(null, new object[] { null, null });
            return plain.CreateType().GetMethod("Number").CreateDelegate<Func<int>>();
        }

        public static long Invoked(int a, string b, Point c) => a;

        public static long Make(int number)
        {
            long sum = 0;
            for (int i = 0; i < number; i++)
            {
                foreach (Func<int, int> one in new[] { MakeDynamic(i, false), MakeDynamic(i, true) })
                {
                    Kept.Add(one);
                    sum += one(i);
                }
                Func<int, string, int> compiled = MakeExpression(i);
                Kept.Add(compiled);
                sum += compiled(i, "text");
                foreach (var access in new[] { AssemblyBuilderAccess.Run, AssemblyBuilderAccess.RunAndCollect })
                {
                    Func<int> emitted = MakeEmitted(i, access);
                    Kept.Add(emitted);
                    sum += emitted();
                }
            }
            // A regular expression that is compiled, and reflection, which makes its own stubs.
            var expression = new Regex("(a+)b|c[d-f]{2,3}", RegexOptions.Compiled);
            Kept.Add(expression);
            sum += expression.Matches("aab cde x").Count;
            MethodInfo invoked = typeof(Made).GetMethod(nameof(Invoked));
            Kept.Add(invoked);
            for (int i = 0; i < 5; i++)
                sum += (long)invoked.Invoke(null, new object[] { i, "a", new Point(1, 2) });
            return sum;
        }
    }
}
