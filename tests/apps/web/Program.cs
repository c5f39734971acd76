// SPDX-License-Identifier: GPL-2.0-or-later
// A server as people write them, whose methods count their calls. It says on which port it listens; then one command
// a line: "counts" by method, "work NUMBER" (requests that it makes to itself, in turn), "port", "fetch URL",
// "quit CODE".
using System;
using System.Collections.Generic;
using System.Linq;
using System.Net.Http;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace Web;

internal static class Program
{
    private static readonly string[] Paths = { "/order/7", "/order/8?paid=1", "/list", "/slow", "/text/abc", "/throw" };

    private static async Task<int> Main()
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.Services.AddSingleton<IShop, Shop>();
        WebApplication app = builder.Build();
        app.Use(Counting.Around);
        app.MapGet("/order/{id:int}", (int id, IShop shop) => shop.Order(id));
        app.MapGet("/list", (IShop shop) => string.Join(',', shop.List().Select(Shop.Price)));
        app.MapGet("/slow", Shop.Slowly);
        app.MapGet("/text/{text}", (string text) => Shop.Reversed(text) + Shop.Twice(text));
        app.MapGet("/throw", (HttpContext _) => Shop.Caught());
        app.MapGet("/file/{**path}", (string path) => Files.Length("/" + path));
        await app.StartAsync();
        Console.WriteLine($"ready {Environment.ProcessId} {new Uri(app.Urls.First()).Port}");
        while (Console.ReadLine() is { } line)
        {
            string[] words = line.Split(' ');
            switch (words[0])
            {
                case "counts":
                    Console.WriteLine("counts " + string.Join(' ', Truth.All()));
                    break;
                case "work":
                    await Work(new Uri(app.Urls.First()), int.Parse(words[1]));
                    Console.WriteLine("done");
                    break;
                case "port":
                    Console.WriteLine($"port {new Uri(app.Urls.First()).Port}");
                    break;
                case "fetch":
                    using (var client = new HttpClient())
                    {
                        Console.WriteLine("fetched " + await client.GetStringAsync(words[1]));
                    }
                    break;
                case "quit":
                    await app.StopAsync();
                    return int.Parse(words[1]);
            }
        }
        return 0;
    }

    private static async Task Work(Uri server, int number)
    {
        using var client = new HttpClient { BaseAddress = server };
        await Parallel.ForEachAsync(Enumerable.Range(0, number), new ParallelOptions { MaxDegreeOfParallelism = 8 },
                                    async (i, _) => await client.GetStringAsync(Paths[i % Paths.Length]));
    }
}
