// SPDX-License-Identifier: GPL-2.0-or-later
// Code that comes up beside what is probed: instantiations without end, dynamic methods, collectible assemblies.
using System;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Many;

internal struct Wrap<T>
{
    public T Value { get; set; }
}

internal static class Beside
{
    private static volatile bool on;
    private static Thread? thread;
    private static long rounds;
    private static Type next = typeof(Wrap<int>);

    /// <summary>Methods that nobody has compiled before: an instantiation each.</summary>
    public static void Fill(int number)
    {
        MethodInfo work = typeof(Beside).GetMethod(nameof(Work), BindingFlags.Static | BindingFlags.NonPublic)!;
        for (int i = 0; i < number; i++)
        {
            next = i % 40 == 39 ? typeof(Wrap<>).MakeGenericType(Fresh()) : typeof(Wrap<>).MakeGenericType(next);
            ((Func<int, int>)work.MakeGenericMethod(next).CreateDelegate(typeof(Func<int, int>)))(i);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Work<T>(int x)
    {
        int sum = Unsafe.SizeOf<T>();
        for (int i = 0; i < 4; i++)
        {
            sum += (sum ^ x) * i;
        }
        return sum;
    }

    // An enumeration of its own, in an assembly that stays: so that instantiations do not nest too deep.
    private static Type Fresh()
    {
        string name = $"Fresh{Interlocked.Increment(ref rounds)}";
        AssemblyBuilder assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName(name), AssemblyBuilderAccess.Run);
        return assembly.DefineDynamicModule(name).DefineEnum(name, TypeAttributes.Public, typeof(int)).CreateTypeInfo()!;
    }

    public static long Turn(bool to)
    {
        on = to;
        if (to)
        {
            thread = new Thread(Go) { IsBackground = true };
            thread.Start();
        }
        else
        {
            thread!.Join();
        }
        return rounds;
    }

    private static void Go()
    {
        for (int i = 0; on; i++)
        {
            Fill(2);
            if (Made(i) != i + 2 || Expressed(i) != i * 3 || Collected(i) != i + 5)
            {
                Environment.FailFast("code that has just been made is not what it should be");
            }
            if (i % 8 == 0)
            {
                GC.Collect();
            }
            Truth.Caught(static x => throw new Thrown(), i);
            Thread.Sleep(1);
        }
    }

    private static void Add(ILGenerator code, int number)
    {
        code.Emit(OpCodes.Ldarg_0);
        code.Emit(OpCodes.Ldc_I4, number);
        code.Emit(OpCodes.Add);
        code.Emit(OpCodes.Ret);
    }

    private static int Made(int x)
    {
        var method = new DynamicMethod("Made", typeof(int), new[] { typeof(int) });
        Add(method.GetILGenerator(), 2);
        return ((Func<int, int>)method.CreateDelegate(typeof(Func<int, int>)))(x);
    }

    private static int Expressed(int x)
    {
        ParameterExpression of = Expression.Parameter(typeof(int));
        return Expression.Lambda<Func<int, int>>(Expression.Multiply(of, Expression.Constant(3)), of).Compile()(x);
    }

    private static int Collected(int x)
    {
        AssemblyBuilder assembly = AssemblyBuilder.DefineDynamicAssembly(
            new AssemblyName("Collected"), AssemblyBuilderAccess.RunAndCollect);
        TypeBuilder type = assembly.DefineDynamicModule("Collected").DefineType("Collected", TypeAttributes.Public);
        Add(type.DefineMethod("Five", MethodAttributes.Public | MethodAttributes.Static, typeof(int),
                              new[] { typeof(int) }).GetILGenerator(), 5);
        return (int)type.CreateTypeInfo()!.AsType().GetMethod("Five")!.Invoke(null, new object[] { x })!;
    }
}
