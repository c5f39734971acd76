// SPDX-License-Identifier: GPL-2.0-or-later
//
// What filters and values to count by are tried on: known arguments, results of all kinds, and calls that end by an
// exception. Each call is noted as a JSON array of what it was given, and what came of it: see tests/helpers/asked.py.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Values;

public enum Status : short { Open = 0, Paid = 7, Lost = -3 }

public class Receipt
{
    public Status Status { get; set; }
    public int Number;
    public string? Text;
    public Receipt? Before;
}

public static class Asked
{
    private const MethodImplOptions Kept = MethodImplOptions.NoInlining;
    private const int SlowMilliseconds = 40;

    private static readonly string?[] Texts = { "Ada", "", null, "Grüße, 世界", new string('x', 70) + "1", new string('x', 70) + "2", "ada" };

    /// <summary>Null, a receipt or an exception; some take long.</summary>
    [MethodImpl(Kept)]
    public static Receipt? Work(int id, string? customer, Status status, bool urgent, char letter, Receipt? last)
    {
        if (id % 7 == 3)
        {
            Note("Work", Given(id, customer, status, urgent, letter, last), "\"threw\"");
            throw new InvalidOperationException("no stock");
        }
        if (id % 25 == 24)
        {
            Thread.Sleep(SlowMilliseconds);
        }
        Receipt? result = id % 5 == 1 ? null : new Receipt { Status = status, Number = id * 3, Text = customer, Before = last };
        Note("Work", Given(id, customer, status, urgent, letter, last), Json(result));
        return result;
    }

    [MethodImpl(Kept)]
    public static Status Judge(long number, byte small, sbyte negative, ushort two, ulong big)
    {
        Status result = number % 3 == 0 ? Status.Paid : number % 3 == 1 ? Status.Lost : (Status)12;
        Note("Judge", $"{{\"number\": {number}, \"small\": {small}, \"negative\": {negative}, \"two\": {two}, \"big\": {big}}}", $"{(short)result}");
        return result;
    }

    [MethodImpl(Kept)]
    public static string? Name(Receipt? of, bool yes)
    {
        string? result = yes ? of?.Text : null;
        Note("Name", $"{{\"of\": {Json(of)}, \"yes\": {Json(yes)}}}", Json(result));
        return result;
    }

    [MethodImpl(Kept)]
    public static bool Even(int number)
    {
        Note("Even", $"{{\"number\": {number}}}", Json(number % 2 == 0));
        return number % 2 == 0;
    }

    [MethodImpl(Kept)]
    public static long Deep(int depth)
    {
        long result = depth > 0 ? Deep(depth - 1) + depth : 0;
        Note("Deep", $"{{\"depth\": {depth}}}", $"{result}");
        return result;
    }

    /// <summary>All of them, with other values each round.</summary>
    internal static void Round(int seed)
    {
        Status status = (seed % 4) switch { 0 => Status.Open, 1 => Status.Paid, 2 => Status.Lost, _ => (Status)5 };
        var receipt = new Receipt { Status = status, Number = seed, Text = Texts[seed % Texts.Length] };
        try
        {
            Work(seed, Texts[seed * 3 % Texts.Length], status, seed % 3 == 0, (char)('a' + seed % 26), seed % 6 == 0 ? null : receipt);
        }
        catch (InvalidOperationException)
        {
        }
        Judge(seed * 1000000007L - 20000000000, (byte)(seed * 37), (sbyte)(seed * 11), (ushort)(seed * 4099), ulong.MaxValue - (ulong)seed);
        Name(seed % 5 == 0 ? null : receipt, seed % 2 == 0);
        Even(seed * 5);
        Deep(seed % 4);
    }

    private static string Given(int id, string? customer, Status status, bool urgent, char letter, Receipt? last) =>
        $"{{\"id\": {id}, \"customer\": {Json(customer)}, \"status\": {(short)status}, \"urgent\": {Json(urgent)}, \"letter\": \"{letter}\", \"last\": {Json(last)}}}";

    private static string Json(bool yes) => yes ? "true" : "false";

    private static string Json(string? text) => text is null ? "null" : $"\"{text}\"";

    private static string Json(Receipt? receipt) => receipt is null ? "null" :
        $"{{\"Status\": {(short)receipt.Status}, \"Number\": {receipt.Number}, \"Text\": {Json(receipt.Text)}, \"Before\": {Json(receipt.Before)}}}";

    private static void Note(string method, string given, string result) => Truth.Raw($"[\"{method}\", {given}, {result}]");
}
