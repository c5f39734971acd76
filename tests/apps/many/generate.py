# SPDX-License-Identifier: GPL-2.0-or-later
"""generate.py    print the two hundred methods of this app, in eight kinds, and the table by which they are called"""

NUMBER = 200
COUNT = "Interlocked.Increment(ref Truth.Calls[{at}]);"

KINDS = [
    # Nothing but a call.
    """    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long M{name}(int x)
    {{
        {count}
        return x + {number};
    }}
""",
    # Called by way of an interface.
    """    [MethodImpl(MethodImplOptions.NoInlining)]
    public virtual long M{name}(int x)
    {{
        {count}
        return x ^ {number};
    }}
""",
    # A loop that may be replaced while it runs.
    """    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long M{name}(int x)
    {{
        {count}
        long sum = {number};
        for (int i = 0, turns = x % 64 == 0 ? 60000 : 8; i < turns; i++)
        {{
            sum += i ^ sum;
        }}
        return sum;
    }}
""",
    """    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long M{name}(int x)
    {{
        {count}
        return (x & 3) == 0 ? {number} : 1 + M{name}(x - 1);
    }}
""",
    # Left by an exception now and then.
    """    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long M{name}(int x)
    {{
        {count}
        if (x % 16 == 5)
        {{
            throw new Thrown();
        }}
        return x - {number};
    }}
""",
    """    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long M{name}<T>(T x) where T : notnull
    {{
        {count}
        return typeof(T) == typeof(string) ? {number} : x.GetHashCode();
    }}
""",
    # Catches what it throws itself.
    """    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long M{name}(int x)
    {{
        try
        {{
            {count}
            return x % 16 == 7 ? throw new Thrown() : x;
        }}
        catch (Thrown)
        {{
            return {number};
        }}
        finally
        {{
            Truth.Touch({at});
        }}
    }}
""",
    # Several ways out.
    """    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long M{name}(int x)
    {{
        {count}
        if ((x & 1) == 0)
        {{
            return Truth.Touch({at});
        }}
        return (x & 2) == 0 ? Truth.Touch(x & 7) + {number} : x * {number}L;
    }}
""",
]


def call(number):
    name = f"M{number:03}"
    kind = number % len(KINDS)
    if kind == 1:
        return f"x => ((Generated)This).{name}(x)"
    if kind == 4:
        return f"x => Truth.Caught({name}, x)"
    if kind == 5:
        return f'x => x % 3 == 0 ? {name}(x) : x % 3 == 1 ? {name}("x") : {name}((long)x)'
    return name


print("// SPDX-License-Identifier: GPL-2.0-or-later")
print("// Made by generate.py.")
print("using System;\nusing System.Runtime.CompilerServices;\nusing System.Threading;\n\nnamespace Many;\n")
print("internal class Generated\n{")
print("    private static readonly object This = new Generated();\n")
for number in range(NUMBER):
    at = f"{number} * Truth.Apart"
    print(KINDS[number % len(KINDS)].format(name=f"{number:03}", number=number, at=at, count=COUNT.format(at=at)))
print("    public static readonly Func<int, long>[] Table =\n    {")
for number in range(NUMBER):
    print(f"        {call(number)},")
print("    };\n}")
