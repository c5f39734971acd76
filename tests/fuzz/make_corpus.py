#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Write what the fuzzers of .NET images and runtimes begin with.

For images these are small ones with every structure in them, for runtimes (fuzz_clr.c and fuzz_v8*.c,
which have them built in) the version and some changes, and for the JIT's library (fuzz_compiler.c) likewise. For unwind
information it is one function of each kind, for debug files small ELF files.
"""

import base64
import pathlib
import re
import struct
import sys
import zlib

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "golden"))

import images  # noqa: E402 (the path comes first)

SEEDS = {
    "pe": ["tiny-il.dll", "tiny-r2r.dll", "tiny-component.dll", "tiny-composite.dll"],
    "metadata": ["tiny-metadata.bin", "tiny-metadata-wide.bin", "tiny-metadata-pointers.bin",
                 "tiny-imports.bin"],
    "r2r": ["tiny-r2r.dll", "tiny-clauses.dll", "tiny-composite.dll", "tiny-bodies.dll", "tiny-lines-nibbles.dll",
            "tiny-lines-packed.dll", "tiny-lines-sized.dll"],
    "unwind_info": ["tiny-r2r.dll"],
    "pdb": ["tiny-pdb.bin", "tiny-pdb-wide.bin", "tiny-pdb.dll"],
    "bundle": ["bundle-1", "bundle-2", "bundle-6", "bundle-6-compressed", "bundle-none"],
}
# Debug info of one body in each format: its bounds, as .NET 8 and 10 keep them.
DEBUG_INFO = {
    "nibbles": "1d 0b 07 01 12 20 13 22 b0 32 22 79 23 1c 09 12 06 02",
    "packed": "2e 00 29 09 36 03 42 d8 a3 99 09 5e eb 00 02 59",
}
# (when, change, field, value), see fuzz_clr.c
CHANGES = {
    "none": [],
    "set": [(0, 0, 100, 0xffff)],
    "point": [(0, 1, 120, 0x400), (3, 1, 300, 0x80)],
    "circle": [(0, 2, 200, 201), (9, 2, 220, 20)],
    "near": [(0, 3, 250, 8), (0, 3, 260, 0xfff8)],
    "huge": [(0, 4, 150, 16), (0, 5, 151, 31)],
    "bytes": [(0, 6, 0x6000, 0xff), (0, 14, 0x2000, 0x21)],
    "later": [(when, 7, 40 * when, 1) for when in range(1, 30)],
}
# (offset, bytes), see fuzz_compiler.c and tiny_elf.h
COMPILE, IN_MEMORY = 0x440, 0x8000
PATCHES = {
    "none": [],
    "code": [(COMPILE, "555dc3")],
    "frame": [(COMPILE, "554889e54883e4e0"), (COMPILE + 8, "4883ec40c9c3")],
    "loop": [(COMPILE, "55ffc875fc5dc3")],
    "jumps": [(COMPILE, "5575025dc35059eb"), (COMPILE + 8, "fa")],
    "size": [(0x260, "40000000")],
    "vtable": [(0x290, "8014000000000000"), (IN_MEMORY | 0x2980, "4016")],
    "references": [(0x400, "488b05f9ffffff48"), (0x408, "8d05f8ffffff")],
    "manager": [(IN_MEMORY | 0x4000, "0029"), (IN_MEMORY | 0x4110, "00290000127f0000")],
}
# The same of fuzz_v8.c, of which each version of V8 is a row, and tables that it is given as bytes.
V8_VERSIONS = ["9.3", "10.2", "11.3", "12.4", "13.6", "14.1", "14.6"]
V8_CHANGES = {
    "none": [],
    "circle": [(0, 2, 60 + 7 * i, 50 + 5 * i) for i in range(12)],
    "point": [(0, 1, 90, 0x100), (20, 9, 110, 0x40)],
    "near": [(0, 4, 100 + 9 * i, i) for i in range(8)],
    "huge": [(0, 6, 130, 16), (0, 6, 160, 31), (0, 5, 20, 0x7fff)],
    "bytes": [(0, 7, 0x800 + 64 * i, 0x81) for i in range(10)],
    "later": [(5 * i, 3, 10 * i, 11 * i) for i in range(1, 30)],
}
V8_TABLES = {
    "positions": "02 28 08 d480808010",
    "baseline": "0a 06 06 8001 04",
    "translation": "0e 00 02 02 00 08 02 00 01 01 01 26 02 04 00 00 01 04 02 00 01 26 02 0e 17 02 02 2f",
    "safepoints": "01000000 a1040000 1400 01 1400",
}
# The same of fuzz_v8_memory.c, of which each recording (tests/golden/v8-*) is a row.
V8_RECORDINGS = ["16-classes", "16-loop", "20-builtins-baseline", "20-made", "24-wide-baseline", "24-builtins",
                 "24-called-maglev", "24-made", "26-classes", "26-made"]
V8_MEMORY_CHANGES = {
    "none": [],
    "set": [(0, 80, 37 * i, 0xffff - i) for i in range(8)],
    "point": [(0, 1 + 8 * (i % 4), 29 * i, 31 * i) for i in range(12)],
    "circle": [(0, 2, 23 * i, 17 * i) for i in range(12)],
    "near": [(0, 3 + 8 * (i % 2), 41 * i, 1 - 2 * (i % 2) & 0xffff) for i in range(12)],
    "bits": [(0, 4, 13 * i, 7 * i) for i in range(20)],
    "huge": [(0, 5, 43 * i, 16 + i) for i in range(12)],
    "frames": [(0, 6 + 8 * i, 19 * i, (i % 4) << 14 | i) for i in range(16)],
    "gone": [(0, 15, 50, 0), (30, 15, 150, 0), (60, 15, 250, 0)],
    "later": [(4 * i, i % 8, 11 * i, 3 * i) for i in range(1, 40)],
}
# Source maps, ends of scripts, and two paths in one, see fuzz_source_map.c.
MAP = '{"version":3,"sourceRoot":"..","sources":["a.ts",null],"names":["n"],"mappings":"AAAAA,IAAC;;EAEA,GACF,M"}'
SOURCE_MAPS = {
    "plain": MAP,
    "guarded": f")]}}'\n{MAP}",
    "sections": f'{{"version":3,"sections":[{{"offset":{{"line":0,"column":4}},"map":{MAP}}},'
                f'{{"offset":{{"line":1,"column":0}},"map":{MAP}}}]}}',
    "script": "x();\n//# sourceMappingURL=x.js.map\n",
    "inline": "x();\n//# sourceMappingURL=data:application/json;base64,"
              f"{base64.b64encode(MAP.encode()).decode()}\n",
    "percent": "/*# sourceMappingURL=data:application/json,%7B%22version%22:3%7D */",
    "paths": "file:///a/dist/./b.js/../../src//c.ts.....",
    "relative": "../a/b/../../c../../d/./e.ts..",
}
RUNTIMES = {"8": 0, "9": 1, "10": 2, "10-contract": 0x12}


# One CIE (zR: absolute addresses), and the instructions of one function; see test_cfi.c.
CIE = "1400000000000000 01 7a5200 01 78 10 01 00 0c0708 9001 0000"
FUNCTIONS = {
    "frame": "41 0e10 8602 43 0d06",
    "realigned": "0f03767806 48 0f05771006 2308",
    "remembered": "0a 0c0a00 44 0f0130 44 0b",
    "outermost": "090603 44 0710",
    "far": "0e80808001 44 0e0c",
    "plt": "0f0b 770880003f1a3b2a332422",
}
# UNWIND_INFO, see test_unwind_info.c.
PROLOGUES = {
    "pushes": "01060300 0642 0230 0150",
    "large": "01070300 0711 00100000",
    "frame": "010a0325 0a03 0552 0150",
    "far-frame": "010c0605 0c0b 40000000 0801 0001 0150",
    "saved": "010e0500 0e68 0000 0954 0200 0442 0000",
    "chained": "21000000 00100000 00110000 00200000",
}

# Bodies, see test_exits.c: the parts' code as hex, in "TABLE" what is 38 bytes into the input.
TABLE = struct.pack("<i", 38 - (0x1000 + 14)).hex()
BODIES = {
    "return": (0, ["53 4883ec20 e800010000 4883c420 5b c3"]),
    "frame": (0, ["55 4889e5 4829fc c9 c3"]),
    "tail-jumps": (0, ["7406 50 e800010000 e900010000 ff2500010000 48ff20 488b07 ffe0"]),
    "switch": (0, ["83ff01 771b 8bc7 488d0d TABLE 8b0c81 488d15e8ffffff 4801d1 ffe1 31c0 c3 c3",
                   "1d0000001f000000"]),
    "handler": (1, ["50 58 c3", "50 c3"]),
    "midway": (0x80, ["4883ec18 7406 4883c450 5d c3 4883c450 5d e900010000"]),
}


def call_frames():
    for name, instructions in FUNCTIONS.items():
        cie, code = bytes.fromhex(CIE), bytes.fromhex(instructions)
        for kind, pointer in ((0, len(cie) + 4), (1, 0)):
            head = cie if kind == 0 else cie[:4] + b"\xff\xff\xff\xff" + cie[8:]
            yield f"{name}-{kind}", bytes([kind]) + head + struct.pack(
                "<IIQQB", 4 + 16 + 1 + len(code), pointer, 0x1000, 0x100, 0) + code


def prologues():
    for name, info in PROLOGUES.items():
        yield name, bytes.fromhex(info)


# Names of functions in which fuzz_debug_file.c's patterns are, or might be: in two parts, behind a number, escaped, and
# with what is short for more.
SPELLED = [b"Orders", b"_ZN6OrdersEv", b"_ZN3Ord4ersEv", b"_ZN6Orders5flushEv", b"_RNvCs1_6Orders5flush",
           b"_ZN3App17h0123456789abcdefE", b"_ZN4core3ops8function6FnOnce9call_once$u7b$Orders$u7d$17h0E", b"uv_fs_open",
           b"_uv_fs_open_nocancel", b"O$u72$ders", b"operator Orders", b"uv$u20$_fs_open", b"uv_fs_openU3ABC", b"uv_fs",
           b"_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", b"Orders.constprop.0", b"Ord" + b"x" * 40 + b"ders"]

# Where the first section of elf_file() is, and the address that the file is linked at.
FIRST_SECTION, LINKED_AT = 120, 0x1000


def tables(symbols):
    """Names, and the table of symbols that have them."""
    strings, table = b"\0", bytes(24)
    for name, address, size in symbols:
        table += struct.pack("<IBBHQQ", len(strings), 0x12, 0, 1, address, size)
        strings += name + b"\0"
    return strings, table


def hash_of(name):
    value = 5381
    for char in name:
        value = (value * 33 + char) & 0xffffffff
    return value


def hashed(symbols, buckets=3):
    """In the order that a linker's hash has them, and that hash. Its filter is not looked at."""
    symbols = sorted(symbols, key=lambda symbol: hash_of(symbol[0]) % buckets)
    places = [hash_of(name) % buckets for name, _, _ in symbols]
    first = [places.index(place) + 1 if place in places else 0 for place in range(buckets)]
    chain = [hash_of(name) & ~1 | (places[at + 1:at + 2] != places[at:at + 1]) for at, (name, _, _) in enumerate(symbols)]
    return symbols, struct.pack(f"<IIIIQ{buckets}I{len(chain)}I", buckets, 1, 1, 0, 0, *first, *chain)


def elf_file(sections, symbols=(), loaded=64, exports=()):
    """A small ELF file: one loadable segment, and sections by (name, type, content)."""
    if symbols:
        strings, table = tables(symbols)
        sections = [*sections, (b".strtab", 3, strings), (b".symtab", 2, table)]
    if exports:
        exports, found_by = hashed(exports)
        strings, table = tables(exports)
        sections = [*sections, (b".dynstr", 3, strings), (b".dynsym", 11, table), (b".gnu.hash", 0x6ffffff6, found_by)]
    names = b"\0" + b"".join(name + b"\0" for name, _, _ in sections) + b".shstrtab\0"
    sections = [*sections, (b".shstrtab", 3, names)]
    body, headers, name_at = b"", bytes(64), 1
    for number, (name, kind, content) in enumerate(sections, 1):
        body += bytes(-len(body) % 8)
        headers += struct.pack("<IIQQQQIIQQ", name_at, kind, 0, 0, FIRST_SECTION + len(body), len(content),
                               number - 1 if kind in (2, 11) else 0, 0, 8, 24 if kind in (2, 11) else 0)
        body += content
        name_at += len(name) + 1
    body += bytes(-len(body) % 8)
    head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, FIRST_SECTION + len(body), 0, 64, 56, 1, 64, len(sections) + 1,
        len(sections))
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, LINKED_AT, LINKED_AT, loaded, loaded, 0x1000)
    return head + load + body + headers


def debug_files():
    note = (b".note.gnu.build-id", 7, struct.pack("<III4s8s", 4, 8, 3, b"GNU\0", b"identity"))
    link = (b".gnu_debuglink", 1, b"thing.debug\0" + struct.pack("<I", 0x12345678))
    far = (b".gnu_debuglink", 1, b"../thing\0\0\0\0" + struct.pack("<I", 1))
    functions = [(b"one", 0x100, 0x40), (b"two", 0x140, 0x80), (b"_ZN3ThreeEv", 0x1000, 0x10)]
    yield "stripped", elf_file([note, link])
    yield "debug", elf_file([note], functions)
    yield "no-id", elf_file([link], functions)
    yield "elsewhere", elf_file([far])
    yield "nothing", elf_file([])
    yield "exports", elf_file([note], exports=functions)
    yield "names", elf_file([], [(name, LINKED_AT + 0x40 * at, 0x40) for at, name in enumerate(SPELLED)], 0x400)


def bodies():
    for name, (first, codes) in BODIES.items():
        parts = [bytes.fromhex(code.replace("TABLE", TABLE)) for code in codes]
        heads = [struct.pack("<HH", 0x100 * number, len(part))
                 for number, part in enumerate(parts[:(first & 3) + 1])]
        yield name, bytes([first]) + b"".join(heads + parts)


def runtimes():
    for runtime, first in RUNTIMES.items():
        for name, changes in CHANGES.items():
            yield f"{runtime}-{name}", bytes([first]) + b"".join(
                struct.pack("<BBHH", *change) for change in changes)


def v8_objects():
    for number, version in enumerate(V8_VERSIONS):
        for name, changes in V8_CHANGES.items():
            yield f"{version}-{name}", bytes([number]) + b"".join(
                struct.pack("<BBHH", *change) for change in changes)
        for name, table in V8_TABLES.items():
            yield f"{version}-table-{name}", bytes([0x80 | number]) + bytes.fromhex(table)


def v8_memory():
    for number, recording in enumerate(V8_RECORDINGS):
        for name, changes in V8_MEMORY_CHANGES.items():
            yield f"{recording}-{name}", bytes([number]) + b"".join(
                struct.pack("<BBHH", *change) for change in changes)


def v8_files():
    """Engines that say what their table says, all of it or a part, and some that say what cannot be."""
    rows = (TESTS.parent / "src/runtime/v8/layout.c").read_text()
    spelled = ["".join(re.findall(r'"(.*?)"', one))
               for one in re.findall(r'(?:"\w+"\s*)+', rows.partition("rows[V8_FIELDS] = {")[2].partition("\n};")[0])]
    versions = [tuple(map(int, version.split("."))) for version in V8_VERSIONS]
    for number, version in enumerate(versions):
        for name, constants in (("none", []), ("few", spelled[number::12]),
                                ("large", spelled[number::9]), ("wrong", spelled[number + 3::9])):
            names = [f"_ZN2v88internal7Version6{part}_E" for part in ("major", "minor", "build", "patch")]
            values = [*version, 0, number] + [{"few": 8 * (i % 16), "large": 0xffff - i, "wrong": i * 7 % 300}[name]
                                              for i in range(len(constants))]
            names += [f"v8dbg_{constant}" for constant in constants]
            # The code of builtins is what is behind: and sizes of bytecodes are all of that.
            names += ["v8_Default_embedded_blob_code_size_", "v8_Default_embedded_blob_code_",
                      "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"]
            values += [64, 0, 0]
            data = b"".join(struct.pack("<I", value) for value in values) + bytes(range(1, 97))
            symbols = [(symbol.encode(), LINKED_AT + FIRST_SECTION + 4 * i, 96 if "kBytecode" in symbol else 4)
                       for i, symbol in enumerate(names)]
            yield f"{V8_VERSIONS[number]}-{name}", elf_file([(b".rodata", 1, data)], symbols, FIRST_SECTION + len(data))
        yield f"{V8_VERSIONS[number]}-exported", exporting(version, spelled[number::6])


def exporting(version, constants):
    """One that exports all that is needed."""
    heap = "_ZN2v88internal4Heap"
    values = {f"_ZN2v88internal7Version6{part}_E": value for part, value in
              zip(("major", "minor", "build", "patch"), [*version, 0, 0])}
    values |= {"v8dbg_TaggedSize": 8} | {f"v8dbg_{constant}": 8 * at for at, constant in enumerate(constants)}
    values |= dict.fromkeys(["_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE", "_ZN2v88internal7Isolate12isolate_key_E",
                             f"{heap}36GarbageCollectionPrologueInSafepointEv", f"{heap}11MarkCompactEv",
                             f"{heap}36GarbageCollectionEpilogueInSafepointEv", "v8_Default_embedded_blob_code_"], 0)
    data = b"".join(struct.pack("<I", value) for value in values.values()) + bytes(96)
    exports = [(name.encode(), LINKED_AT + FIRST_SECTION + 4 * at, 96 if "kBytecode" in name else 4)
               for at, name in enumerate(values)]
    return elf_file([(b".rodata", 1, data)], loaded=FIRST_SECTION + len(data), exports=exports)


def source_maps():
    for name, text in SOURCE_MAPS.items():
        yield name, text.encode()


def compilers():
    for first in (0, 4, 8):  # each kind of relocations, and each version
        for name, patches in PATCHES.items():
            records = b"".join(struct.pack("<HB8s", offset, len(patch) // 2 - 1,
                                           bytes.fromhex(patch)) for offset, patch in patches)
            yield f"{first}-{name}", bytes([first]) + records


def number(value):
    """As a record has it, see src/record/numbers.h."""
    low = bytes([value & 0x7f | (0x80 if value > 0x7f else 0)])
    return low + number(value >> 7) if value > 0x7f else low


def of_record(tag, *numbers):
    body = b"".join(map(number, numbers))
    return bytes([tag]) + number(len(body)) + body


def records():
    """Contents of blocks behind one that has two strings, by what fuzz_record.c takes them for; and a file."""
    def string(text):
        return b"\x06" + number(len(text)) + text
    names = b"".join(map(string, (b"worker", b"App.Orders::Pay()", b"tier1", b"app.dll", b"a\x1b.cs", b"late")))
    frames = of_record(7, 2, 0, 0x1000, 4, 6, 31, 47, 7, 12, 3, 0, 0) + of_record(7, 4, 1, 0x2000, 4, 0, 0, 0, 7, 9, 1, 0, 5)
    thread = of_record(9, 7, 8, 3)
    stack = of_record(8, 0, 1, 3, 4, 9, 2 << 2 | 2)
    hits = of_record(10, 20, 1, 4, 5, 0, 1) + of_record(10, 7, 1, 4, 5, 9, 0)
    summary = of_record(21, 2, 2, 0, 1, 8, 3, 2, 8, 7, 2, 0, 0, 0, 0, 0, 0, 1)
    end = of_record(22, 99)
    count = of_record(14, 4, 7, 2, 5, 3, 5, 4, 2, 8, 0x3ff0000000000000, 7) + of_record(15)
    hist = of_record(16, 4, 0, 0, 0, 2, 8, 0, 2, 1, 1, 1, 9, 3, 6, 2, 3, 1, 4, 1, 6, 2, 1, 1, 3, 1)
    site = of_record(20, 0xc5, 7, 4, 0, 6, 5, 0, 5, 0, 0, 0, 2, 8, 3, 4, 4, 2, 0, 7, 3, 5, 9)
    kinds = of_record(11, 0, 2, 1, 4, 5, 0, 1) + of_record(12, 1, 5) + of_record(12, 0, 1) + of_record(17) + of_record(13, 0)
    process = of_record(2, 5) + bytes([3, 6, 7, 3, 3]) + b"a\0b" + of_record(4, 64, 64, 0, 6, 0, 0)
    totals = of_record(18) + count + hist + of_record(19)
    everything = names + process + frames + thread + stack + hits
    for way in range(6):
        yield f"hits-{way}", bytes([way]) + everything + of_record(17) + summary + end
    for way in (6, 7):
        yield f"folded-{way}", bytes([way]) + everything + kinds + of_record(5) + names + thread + summary + end
    for way in (8, 9, 10):
        yield f"counts-{way}", bytes([way]) + names + count + of_record(17) + totals + summary + end
    for way in (11, 12):
        yield f"hist-{way}", bytes([way]) + names + hist + totals + summary + end
    yield "slow", bytes([13]) + everything + summary + end
    for way in (14, 15, 16):
        yield f"sites-{way}", bytes([way]) + names + site + summary + end
    facts = string(b"v") + string(b"m") + of_record(1, 1, 2, 1, 0, 0, 1, *[0] * 9)
    data = b"\x89PPR\r\n\x1a\n\x01\0\0\0"
    data += struct.pack("<I", zlib.crc32(data))
    for place, content in enumerate((facts, everything + summary + end)):
        assert len(content) < 256 + 65536
        packed = (b"\x28\xb5\x2f\xfd\x60" + struct.pack("<H", len(content) - 256) if len(content) > 255 else
                  b"\x28\xb5\x2f\xfd\x20" + bytes([len(content)]))
        packed += struct.pack("<I", 1 | len(content) << 3)[:3] + content
        head = struct.pack("<5I", 0x42525050, place, len(packed), len(content), 0)
        data += head + struct.pack("<I", zlib.crc32(head + packed)) + packed
    yield "file", b"\xff" + data


def values():
    """What programs capture (bpf/watch.h), for all slots there may be; see fuzz_values.c."""
    def item(slot, status, data, whole=None):
        padded = data + bytes(-len(data) % 8)
        return struct.pack("<HBBHHQ", slot, status, 0, len(data), 0, len(data) if whole is None else whole) + padded
    text = "Ada \ud83c\udf89\x1b".encode("utf-16-le", "surrogatepass")
    for name, words in {"types": [type << 3 for type in range(12)], "dates": [638448479991234567, 0x50000],
                        "same": [8], "far": [1 << 63]}.items():
        data = b"".join(struct.pack("<Q", word) for word in words)
        entry = b"".join(item(slot, 0, (data[slot % len(words) * 8:] + data)[:64], 4096) for slot in range(64))
        for way in range(4):
            yield f"{name}-{way}", bytes([way, 2 + 9 * way, 200]) + entry + item(0, 0, data) + item(1, 0, text, 99)
    yield "texts", bytes([3, 1, 128]) + b"".join(item(slot, 0, text, 1 << 33) for slot in range(64))
    yield "problems", bytes([2, 2, 60]) + b"".join(item(slot, slot % 4, b"") for slot in range(64))
    # Items that are made of what is there: a byte that says what becomes of it before each.
    for way in (4, 5, 6, 7):
        for method in (2, 28, 30, 31, 33):
            yield f"made-{method}-{way}", bytes([way, method, 0]) + (b"\x84\x1f\x02" + data) * 32
    for status in range(4):
        reading = struct.pack("<QII", 8, len(text) // 2, status) + text + bytes(480 - len(text))
        yield f"thrown-{status}", bytes([4 | status % 2, 254, 1]) + reading
        yield f"key-{status}", bytes([status, 255, 1]) + struct.pack("<IHBB", 1, len(text), status % 2, 1) + text


# A pattern and a method's type, type arguments, name, method arguments and parameters, see fuzz_pattern.c.
PATTERNS = {
    "slow": ["/(a+)+$/", "a" * 30 + "!", "", "", "", ""],
    "broken": ["/(a/", "", "", "", "", ""],
    "native": ["libc.so.6!open*", "openat64", "", "", "", ""],
    "operator": ["operator new(unsigned long)", "_Znwm", "", "", "", ""],
    "anywhere": ["*Tim?r*", "System.Timer", "", "Tick", "", "int32"],
    "near": ["Threading.Thread::Slep", "System.Threading.Thread", "", "Sleep", "", "int32"],
    "image": ["App*!Orders::Pay(..)", "Orders", "", "Pay", "", ""],
    "wildcards": ["App.Box`1[*]::Put<*, int>( ref *, ? )", "App.Box`1", "App.Order", "Put", "System.String,System.Int32",
                  "App.Order&,!0"],
    "variables": ["App.Box`1::Put(int[], Order)", "App.Box`1", "System.Int32", "Put", "App.Order", "!0[],!!0"],
    "few": ["A::B(int)", "A", "", "B", "", "int32,int32"],
    "open": ["A::B(int", "A", "", "B", "", "int32"],
    "empty": ["A::B( , )", "A", "", "B", "", ""],
    "none": ["", "", "", "", "", ""],
    "nothing": ["::", "A", "", "B", "", ""],
}


def patterns():
    for name, lines in PATTERNS.items():
        yield name, "\n".join(lines).encode()


def main():
    for target, seeds in (("pattern", patterns()), ("clr", runtimes()), ("compiler", compilers()), ("cfi", call_frames()),
                          ("unwind_info", prologues()), ("debug_file", debug_files()),
                          ("exits", bodies()), ("v8", v8_objects()), ("v8_memory", v8_memory()), ("v8_symbols", v8_files()),
                          ("source_map", source_maps()), ("record", records()), ("values", values()),
                          ("pdb", ((name, bytes.fromhex(info)) for name, info in DEBUG_INFO.items()))):
        corpus = TESTS / "fuzz/corpus" / target
        corpus.mkdir(parents=True, exist_ok=True)
        for name, data in seeds:
            (corpus / name).write_bytes(data)
    for target, names in SEEDS.items():
        corpus = TESTS / "fuzz/corpus" / target
        corpus.mkdir(parents=True, exist_ok=True)
        for name in names:
            (corpus / name).write_bytes(images.IMAGES[name]())


if __name__ == "__main__":
    main()
