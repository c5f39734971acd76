// SPDX-License-Identifier: GPL-2.0-or-later
// What each call was given and gives back, as the method itself saw it, in the words that are expected of place-probe.
// It spells values by what C# says they are; nothing in here knows registers or layouts.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Reflection;
using System.Runtime.Intrinsics;
using System.Text;

namespace Values;

internal static class Truth
{
    private static readonly List<string> Calls = new();

    public static bool On { get; set; }

    /// <summary>A call in words of its own.</summary>
    public static void Raw(string call)
    {
        if (On)
        {
            lock (Calls)
            {
                Calls.Add(call);
            }
        }
    }

    public static void Call(string method, string arguments, string? result)
    {
        if (On)
        {
            lock (Calls)
            {
                Calls.Add(result is null ? $"{method}({arguments})" : $"{method}({arguments}) = {result}");
            }
        }
    }

    /// <summary>What is in that register cannot be read.</summary>
    public static string X(int register) => $"<in xmm{register}>";

    public static void Note(string method, string arguments, string? result = null) =>
        Call("Shapes::" + method, arguments, result);

    /// <summary>As it is made up: two halves that are vectors themselves.</summary>
    public static string VectorFields(Vector128<long> vector)
    {
        string[] halves = { "lower", "upper" };
        return string.Join(", ", halves.Select((half, i) =>
            $"_{half}: System.Runtime.Intrinsics.Vector64<long>{{_00: {(ulong)vector.GetElement(i)}}}"));
    }

    public static List<string> Take()
    {
        lock (Calls)
        {
            var taken = new List<string>(Calls);
            Calls.Clear();
            return taken;
        }
    }

    public static string Spell(this string? text)
    {
        if (text is null)
        {
            return "null";
        }
        var spelled = new StringBuilder("\"");
        int units = Math.Min(text.Length, 32);
        if (units < text.Length && char.IsHighSurrogate(text[units - 1]))
        {
            units--;
        }
        for (int i = 0; i < units; i++)
        {
            char c = text[i];
            bool pair = char.IsHighSurrogate(c) && i + 1 < units && char.IsLowSurrogate(text[i + 1]);
            if (pair)
            {
                spelled.Append(c).Append(text[++i]);
            }
            else
            {
                spelled.Append(c switch
                {
                    '"' => "\\\"",
                    '\\' => "\\\\",
                    '\n' => "\\n",
                    '\t' => "\\t",
                    '\r' => "\\r",
                    _ when c < ' ' || (c >= 0x7f && c < 0xa0) || char.IsSurrogate(c) || c == '\u202e' => $"\\u{(int)c:x4}",
                    _ => c.ToString(),
                });
            }
        }
        return spelled.Append('"').Append(units < text.Length ? "…" : "").ToString();
    }

    /// <summary>C#'s name of a type.</summary>
    public static string Name(Type type)
    {
        Type? inner = Nullable.GetUnderlyingType(type);
        if (inner is not null)
        {
            return Name(inner) + "?";
        }
        if (type.IsArray)
        {
            return Name(type.GetElementType()!) + "[]";
        }
        string? word = Type.GetTypeCode(type) switch
        {
            _ when type.IsEnum => null,
            TypeCode.Boolean => "bool",
            TypeCode.Char => "char",
            TypeCode.SByte => "sbyte",
            TypeCode.Byte => "byte",
            TypeCode.Int16 => "short",
            TypeCode.UInt16 => "ushort",
            TypeCode.Int32 => "int",
            TypeCode.UInt32 => "uint",
            TypeCode.Int64 => "long",
            TypeCode.UInt64 => "ulong",
            TypeCode.Single => "float",
            TypeCode.Double => "double",
            TypeCode.Decimal => "decimal",
            TypeCode.String => "string",
            _ => type == typeof(object) ? "object" : null,
        };
        if (word is not null)
        {
            return word;
        }
        string name = type.FullName!.Split('[')[0];
        if (!type.IsGenericType)
        {
            return name;
        }
        return $"{name.Split('`')[0]}<{string.Join(", ", type.GetGenericArguments().Select(Name))}>";
    }

    /// <summary>A value in memory, with its fields so many levels deep.</summary>
    public static string Any(object? value, int depth = 1)
    {
        switch (value)
        {
            case null: return "null";
            case string text: return text.Spell();
            case bool flag: return flag ? "true" : "false";
            case char c: return c.ToString().Spell().Replace('"', '\'');
            case float or double: return ((IFormattable)value).ToString("R", CultureInfo.InvariantCulture);
            case nint address: return address.ToString(CultureInfo.InvariantCulture);
            case Enum: return value.ToString()!;
            case DateTime time:
                return time.ToString("yyyy-MM-ddTHH:mm:ss.fffffff", CultureInfo.InvariantCulture).Replace(".0000000", "") +
                    (time.Kind == DateTimeKind.Utc ? "Z" : time.Kind == DateTimeKind.Local ? " local" : "");
            case DateTimeOffset time:
                return time.ToString("yyyy-MM-ddTHH:mm:ss.fffffffzzz", CultureInfo.InvariantCulture).Replace(".0000000", "");
            case Array array:
                return Elements($"{Name(array.GetType().GetElementType()!)}[{array.Length}]", array);
        }
        if (value is IFormattable formattable)
        {
            return formattable.ToString(null, CultureInfo.InvariantCulture);
        }
        return Fields(value, depth);
    }

    public static string Elements(string name, Array array)
    {
        IEnumerable<string> shown = array.Cast<object?>().Take(8).Select(element => Any(element, 0));
        return $"{name}{{{string.Join(", ", shown)}{(array.Length > 8 ? ", …" : "")}}}";
    }

    /// <summary>A struct, in any case with its fields.</summary>
    public static string Spell<T>(this T value)
        where T : struct => Any(value);

    // As the runtime lays them out, which is up to it: so by name.
    private static string Fields(object value, int depth)
    {
        Type type = value.GetType();
        if (!type.IsValueType && depth == 0)
        {
            return Name(type) + "{...}";
        }
        var fields = new List<string>();
        bool tuple = type.IsGenericType && type.FullName!.StartsWith("System.ValueTuple`", StringComparison.Ordinal);
        for (Type? level = type; level is not null && level != typeof(object) && level != typeof(ValueType); level = level.BaseType)
        {
            const BindingFlags own = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;
            foreach (FieldInfo field in level.GetFields(own).OrderBy(field => field.MetadataToken))
            {
                string name = field.Name.StartsWith('<') ? field.Name.Split('<', '>')[1] : field.Name;
                string spelled = Any(field.GetValue(value), type.IsValueType ? depth : depth - 1);
                fields.Add(tuple ? spelled : $"{name}: {spelled}");
            }
        }
        return tuple ? $"({string.Join(", ", fields)})" : $"{Name(type)}{{{string.Join(", ", fields)}}}";
    }
}
