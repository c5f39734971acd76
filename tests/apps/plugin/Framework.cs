// SPDX-License-Identifier: GPL-2.0-or-later
// Wide parts of the framework, for as many different methods as a few lines can reach.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Numerics;
using System.Runtime.Loader;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using System.Threading.Tasks;
using System.Xml.Linq;

namespace Plugin
{
    public static class Framework
    {
        /// <summary>Load so many of the assemblies of the frameworks that are installed; returns how many there were.</summary>
        public static long Load(int number)
        {
            string own = Path.GetDirectoryName(typeof(object).Assembly.Location);
            string version = Path.GetFileName(own), shared = Path.GetDirectoryName(Path.GetDirectoryName(own));
            long loaded = 0;
            foreach (string file in Directory.EnumerateFiles(shared, "*.dll", SearchOption.AllDirectories))
            {
                if (loaded == number || Path.GetFileName(Path.GetDirectoryName(file)) != version)
                {
                    continue;
                }

                try
                {
                    AssemblyLoadContext.Default.LoadFromAssemblyPath(file);
                    loaded++;
                }
                catch (Exception e) when (e is BadImageFormatException or IOException)
                {
                    // A native library, or the one that holds everything else, which is not loaded like others.
                }
            }

            return loaded;
        }

        public static long Use()
        {
            var people = Enumerable.Range(0, 20).Select(i => new Person($"name {i}", i)).ToList();
            string json = JsonSerializer.Serialize(people);
            long sum = JsonSerializer.Deserialize<List<Person>>(json).Sum(person => person.Age);
            var xml = new XElement("people", people.Select(person => new XElement("p", new XAttribute("a", person.Age))));
            sum += XDocument.Parse(xml.ToString()).Descendants("p").Count();
            sum += people.GroupBy(person => person.Age % 3).Join(people, g => g.Key, p => p.Age, (g, p) => g.Count()).Sum();
            sum += people.ToLookup(person => person.Name).Count + people.ToImmutableDictionary(p => p.Name, p => p.Age).Count;
            sum += new Regex(@"(?<word>\w+)\s(\d+)").Matches(json).Count;
            sum += (int)(BigInteger.Pow(7, 300) % 1000) + (int)Complex.Sqrt(new Complex(1, 2)).Real;
            sum += new SortedDictionary<string, decimal> { ["a"] = 1.5m, ["b"] = 2.5m }.Count;
            var dictionary = new ConcurrentDictionary<Point, (int, string)>();
            Parallel.For(0, 50, i => dictionary[new Point(i, i)] = (i, "x"));
            sum += dictionary.Count + new StringBuilder().AppendFormat(CultureInfo.InvariantCulture, "{0:N2}{1:o}", 1.5, DateTime.UnixEpoch).Length;
            sum += people.AsParallel().Where(person => person.Age > 3).Count();
            return sum + new PriorityQueue<string, double>(new[] { ("a", 1.0), ("b", 2.0) }).Count;
        }
    }
}
