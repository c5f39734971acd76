# SPDX-License-Identifier: GPL-2.0-or-later
"""Small images, written byte by byte: what the unit tests assert on and fuzzers begin with.

images.py DIR    write them into DIR (tests/golden)
"""

import pathlib
import struct
import sys
import zlib

BUNDLE_SIGNATURE = bytes.fromhex(
    "8b1202b96a612038727b930214d7a03213f5b9e6efae3318ee3b2dce24b36aae")
TEXT_RVA = 0x1200
TEXT_RAW = 0x200
CODE_BYTES = 0x10  # of each function


def compressed(value):
    """A number as in signatures and blobs (ECMA-335 II.23.2)."""
    if value < 0x80:
        return bytes([value])
    if value < 0x4000:
        return struct.pack(">H", value | 0x8000)
    return struct.pack(">I", value | 0xc0000000)


def compressed_signed(value):
    """The same with a sign, which is the lowest bit."""
    for bits, mark, code in ((7, 0, ">B"), (14, 0x8000, ">H"), (29, 0xc0000000, ">I")):
        if -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            return struct.pack(code, value << 1 & ((1 << bits) - 1) | (value < 0) | mark)
    raise ValueError(value)


def native_unsigned(value):
    """A number of the ReadyToRun native format."""
    if value < 1 << 7:
        return bytes([value << 1])
    if value < 1 << 14:
        return struct.pack("<H", value << 2 | 1)
    if value < 1 << 21:
        return struct.pack("<I", value << 3 | 3)[:3]
    if value < 1 << 28:
        return struct.pack("<I", value << 4 | 7)
    return b"\x0f" + struct.pack("<I", value)


def native_signed(value):
    """The same with a sign, always in four bytes so that its length is known beforehand."""
    return struct.pack("<I", (value << 4 | 7) & 0xffffffff)


def native_array(elements, count):
    """elements: {index: bytes}."""
    def tree(members, bit):
        if bit == 0:
            return members[0][1]
        if len(members) == 1:
            return native_unsigned((members[0][0] & 15) << 2) + members[0][1]
        left = [m for m in members if not m[0] & bit]
        right = [m for m in members if m[0] & bit]
        flags = (1 if left else 0) | (2 if right else 0)
        low = tree(left, bit // 2) if left else b""
        high = tree(right, bit // 2) if right else b""
        head = b"\0"
        for _ in range(4):  # the distance includes the length of its own encoding
            head = native_unsigned((len(head) + len(low)) << 2 | flags)
        return head + low + high

    blocks = []
    for start in range(0, count, 16):
        members = sorted((i, e) for i, e in elements.items() if start <= i < start + 16)
        blocks.append(tree(members, 8) if members else native_unsigned(15 << 2))
    index, at = b"", 2 * len(blocks)
    for block in blocks:
        index += struct.pack("<H", at)
        at += len(block)
    return native_unsigned(count << 2 | 1) + index + b"".join(blocks)


def native_hashtable(elements):
    """Two buckets, the elements dealt out between them."""
    dealt = [elements[0::2], elements[1::2]]
    entry_bytes = 1 + 4
    starts, at = [], 3 * 2
    for bucket in dealt:
        starts.append(at)
        at += entry_bytes * len(bucket)
    starts.append(at)
    entries, payload = b"", b""
    for bucket in dealt:
        for element in bucket:
            position = 6 + len(entries) + 1
            entries += b"\x55" + native_signed(at + len(payload) - position)
            payload += element
    return bytes([1 << 2 | 1]) + struct.pack("<3H", *starts) + entries + payload


class Metadata:
    """Rows are lists of (width, value); 's' and 'b' are the widths of strings and blobs."""

    def __init__(self, stream="#~", wide=False, extra=False):
        self.stream, self.wide, self.extra = stream, wide, extra
        self.strings, self.blobs, self.tables = b"\0", b"\0", {}
        self.more = []

    def string(self, text):
        self.strings += text.encode() + b"\0"
        return ("s", len(self.strings) - len(text.encode()) - 1)

    def blob(self, data):
        self.blobs += compressed(len(data)) + data
        return ("b", len(self.blobs) - len(data) - len(compressed(len(data))))

    def row(self, table, *columns):
        self.tables.setdefault(table, []).append(columns)
        return len(self.tables[table])

    def table_stream(self):
        heaps = (7 if self.wide else 0) | (0x40 if self.extra else 0)
        valid = sum(1 << t for t in self.tables)
        out = struct.pack("<IBBBBQQ", 0, 2, 0, heaps, 1, valid, 0)
        for table in sorted(self.tables):
            out += struct.pack("<I", len(self.tables[table]))
        out += b"\xee" * (4 if self.extra else 0)
        for table in sorted(self.tables):
            for row in self.tables[table]:
                for width, value in row:
                    width = {"s": 4 if self.wide else 2, "b": 4 if self.wide else 2}.get(width, width)
                    out += value.to_bytes(width, "little")
        return out

    def bytes(self):
        streams = [(self.stream, self.table_stream()), ("#Strings", self.strings),
                   ("#Blob", self.blobs), ("#GUID", bytes(16)), *self.more]
        head = struct.pack("<IHHII", 0x424a5342, 1, 1, 0, 12) + b"v4.0.30319\0\0"
        head += struct.pack("<HH", 0, len(streams))
        at = len(head) + sum(8 + (len(n) + 4) // 4 * 4 for n, _ in streams)
        body = b""
        for name, data in streams:
            data += bytes(-len(data) % 4)
            padded = name.encode() + bytes((len(name) + 4) // 4 * 4 - len(name))
            head += struct.pack("<II", at + len(body), len(data)) + padded
            body += data
        return head + body


def tiny_metadata(**options):
    """Outer { .ctor, Add; Inner`1 { Put, Map<U>; Deep { Go } } }, and what they mention.

    With pointers, the types' runs of methods go through a table that says which they are.
    bodies are the RVAs of the methods' IL, flags their ImplFlags, names what they are called.
    """
    pointers = options.pop("pointers", [])
    bodies, flags = options.pop("bodies", [0] * 5), options.pop("flags", [0] * 5)
    names = options.pop("names", {})
    m = Metadata(**options)
    for method in pointers:
        m.row(0x05, (2, method))
    m.row(0x00, (2, 0), m.string("tiny.dll"), ("b", 0), ("b", 0), ("b", 0))
    m.row(0x01, (2, 1 << 2 | 2), m.string("Object"), m.string("System"))
    m.row(0x01, (2, 1 << 2 | 2), m.string("List`1"), m.string("System.Collections.Generic"))
    m.row(0x01, (2, 2 << 2 | 3), m.string("Enumerator"), ("s", 0))
    m.row(0x02, (4, 0), m.string("<Module>"), ("s", 0), (2, 0), (2, 1), (2, 1))
    m.row(0x02, (4, 1), m.string("Outer"), m.string("Tiny"), (2, 1 << 2 | 1), (2, 1), (2, 1))
    m.row(0x02, (4, 2), m.string("Inner`1"), ("s", 0), (2, 1 << 2 | 1), (2, 1), (2, 3))
    m.row(0x02, (4, 2), m.string("Deep"), ("s", 0), (2, 1 << 2 | 1), (2, 1), (2, 5))
    methods = [
        (".ctor", b"\x20\x00\x01"),
        ("Add", b"\x00\x02\x08\x08\x0e"),
        ("Put", b"\x20\x02\x01\x13\x00\x1d\x15\x12\x09\x01\x13\x00"),
        ("Map", b"\x30\x01\x01\x01\x10\x1e\x00"),
        ("Go", b"\x00\x03\x01\x0f\x14\x08\x02\x00\x00\x12\x0d\x1b\x00\x01\x08\x0e"),
    ]
    for i, (name, signature) in enumerate(methods):
        m.row(0x06, (4, bodies[i]), (2, flags[i]), (2, 0), m.string(names.get(name, name)),
              m.blob(signature), (2, 1))
    m.row(0x0a, (2, 2 << 3 | 1), m.string("Count"), m.blob(b"\x20\x00\x08"))
    m.row(0x0a, (2, 1 << 3 | 4), m.string("Clear"), m.blob(b"\x20\x01\x01\x1c"))
    m.row(0x1b, m.blob(b"\x15\x12\x09\x01\x0e"))
    m.row(0x20, (4, 0x8004), (2, 1), (2, 0), (2, 0), (2, 0), (4, 0), ("b", 0), m.string("Tiny"),
          ("s", 0))
    m.row(0x23, (2, 10), (2, 0), (2, 0), (2, 0), (4, 0), ("b", 0), m.string("System.Runtime"),
          ("s", 0), ("b", 0))
    m.row(0x29, (2, 3), (2, 2))
    m.row(0x29, (2, 4), (2, 3))
    return m


PDB_ID = bytes(range(0xa0, 0xb0)) + b"\x78\x56\x34\x12"


def points(rows, first_document=None):
    """Sequence points: (IL, line, column), (IL,) for hidden ones, ("document", row) before one."""
    out = compressed(0) + (compressed(first_document) if first_document else b"")
    il, last = 0, None
    for row in rows:
        if row[0] == "document":
            out += compressed(0) + compressed(row[1])
            continue
        out += compressed(row[0] - il)
        il = row[0]
        if len(row) == 1:
            out += compressed(0) + compressed(0)
            continue
        # Each is one line and three columns long, or if its line is odd ten columns.
        out += compressed(0) + compressed(10) if row[1] % 2 else compressed(1) + compressed_signed(-3)
        if last:
            out += compressed_signed(row[1] - last[1]) + compressed_signed(row[2] - last[2])
        else:
            out += compressed(row[1]) + compressed(row[2])
        last = row
    return out


def tiny_pdb(methods=5, **options):
    """The Portable PDB of tiny_metadata(), or of one with more methods, which makes columns of other tables wider."""
    m = Metadata(**options)
    width = 2 if methods < 0x10000 else 4
    parts = {text: m.blob(text.encode())[1] for text in ("src", "Tiny", "Outer.cs", "C:", "Page.razor", "Odd")}
    for separator, names in (("/", ["", "src", "Tiny", "Outer.cs"]), ("\\", ["C:", "src", "Page.razor"]),
                             ("\0", ["Odd"])):
        name = b"".join(compressed(parts.get(part, 0)) for part in names)
        m.row(0x30, m.blob(separator.encode() + name), ("b", 0), ("b", 0), ("b", 0))
    blobs = [
        (1, points([(0, 10, 9), (7,), (12, 12, 5), (300, 9, 60000), (70000, 5000, 1)])),
        (0, points([(0, 1000, 1), (5,), ("document", 1), (6, 3, 70), ("document", 3), (9, 4, 1)], first_document=2)),
        (0, None),
        (1, points([(0,), (4,)])),
        (1, points([(2, 77, 3)])),
    ]
    for document, blob in blobs:
        m.row(0x31, (2, document), m.blob(blob) if blob else ("b", 0))
    m.row(0x32, (width, 1), (2, 1), (2, 1), (2, 1), (4, 0), (4, 12))
    m.row(0x33, (2, 0), (2, 0), m.string("local"))
    m.row(0x34, m.string("constant"), ("b", 0))
    m.row(0x35, (2, 0), ("b", 0))
    m.row(0x36, (width, 4), (width, 1))
    m.row(0x36, (width, 5), (width, 2))
    m.more = [("#Pdb", PDB_ID + struct.pack("<IQI", 0, 1 << 6, methods))]
    return m


def tiny_pdb_image():
    """An image with a debug directory: a PDB for Windows, a portable one, and that in the image."""
    text, pdb = Text(), tiny_pdb().bytes()
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    datas = [(2, 0, 0, b"RSDS" + bytes(20) + b"C:\\other.pdb\0"), (16, 0, 0, b""),
             (2, 0x100, 0x504d, b"RSDS" + PDB_ID[:16] + struct.pack("<I", 1) + b"C:\\made/tiny.pdb\0"),
             (17, 0x100, 0x100, b"MPDB" + struct.pack("<I", len(pdb)) + deflate.compress(pdb) + deflate.flush())]
    table = b""
    for kind, major, minor, data in datas:
        rva, size = placed(text, data) if data else (0, 0)
        table += struct.pack("<IIHHIIII", 0, struct.unpack("<I", PDB_ID[16:])[0], major, minor, kind, size, rva,
                             rva - TEXT_RVA + TEXT_RAW if rva else 0)
    return finish(text, 6, table)


def imports_metadata():
    """Calls, of which all but the last are P/Invokes, of two libraries."""
    m = Metadata()
    preserve_sig, last_error, plain = 0x80, 0x40, 0
    methods = [
        ("Plain", b"\x00\x02\x08\x08\x0f\x01", preserve_sig, plain),
        ("Error", b"\x00\x01\x08\x0a", preserve_sig, last_error),
        ("Result", b"\x00\x01\x08\x0a", 0, plain),
        ("Text", b"\x00\x02\x08\x08\x0e", preserve_sig, plain),
        ("Returns", b"\x00\x00\x1c", preserve_sig, plain),
        ("Pointer", b"\x00\x01\x01\x0f\x0f\x05", preserve_sig, plain),
        ("Managed", b"\x00\x00\x01", preserve_sig, None),
    ]
    m.row(0x00, (2, 0), m.string("imports.dll"), ("b", 0), ("b", 0), ("b", 0))
    m.row(0x02, (4, 0), m.string("<Module>"), ("s", 0), (2, 0), (2, 1), (2, 1))
    m.row(0x02, (4, 1), m.string("Calls"), m.string("Tiny"), (2, 0), (2, 1), (2, 1))
    for name, signature, impl_flags, _ in methods:
        m.row(0x06, (4, 0), (2, impl_flags), (2, 0), m.string(name), m.blob(signature), (2, 1))
    m.row(0x1a, m.string("libtiny"))
    m.row(0x1a, m.string("QCall"))
    for i, (name, _, _, flags) in enumerate(methods):
        if flags is not None:
            m.row(0x1c, (2, flags), (2, (i + 1) << 1 | 1), m.string(f"tiny_{name.lower()}"),
                  (2, 2 if name == "Pointer" else 1))
    return m


def manifest_metadata(assembly=None):
    """What an image says of the assemblies it was compiled with, and one method of theirs."""
    m = Metadata()
    m.row(0x00, (2, 0), m.string("manifest"), ("b", 0), ("b", 0), ("b", 0))
    m.row(0x01, (2, 1 << 2 | 2), m.string("Far`1"), m.string("Other"))
    m.row(0x0a, (2, 1 << 3 | 1), m.string("Away"), m.blob(b"\x20\x01\x01\x13\x00"))
    m.row(0x23, (2, 1), (2, 0), (2, 0), (2, 0), (4, 0), ("b", 0), m.string(assembly or "Other"),
          ("s", 0), ("b", 0))
    return m


def pe(text, directories=None, machine=0xfd1d):
    """One executable section. directories: {index: (rva, size)}."""
    directory = b"".join(struct.pack("<II", *(directories or {}).get(i, (0, 0)))
                         for i in range(16))
    optional = struct.pack("<H", 0x20b) + bytes(54) + struct.pack("<I", TEXT_RVA + len(text))
    optional += bytes(48) + struct.pack("<I", 16) + directory
    head = b"MZ" + bytes(58) + struct.pack("<I", 0x40) + b"PE\0\0"
    head += struct.pack("<HHIIIHH", machine, 1, 0, 0, 0, len(optional), 0x2022) + optional
    head += struct.pack("<8sIIII", b".text", len(text), TEXT_RVA, len(text), TEXT_RAW)
    head += bytes(12) + struct.pack("<I", 0x60000020)
    return head + bytes(TEXT_RAW - len(head)) + text


class Text:
    """The section's bytes; add() says at which RVA something was put."""

    def __init__(self):
        self.data = b""

    def add(self, data):
        self.data += bytes(-len(self.data) % 4)
        rva = TEXT_RVA + len(self.data)
        self.data += data
        return rva


def functions(text, count):
    """RUNTIME_FUNCTIONs, each of 0xc bytes of code, and the end mark."""
    code = text.add(bytes([0xcc]) * CODE_BYTES * count)
    rows = [struct.pack("<III", code + i * CODE_BYTES, code + i * CODE_BYTES + 0xc, 0)
            for i in range(count)]
    table = b"".join(rows)
    return text.add(table + b"\xff" * 4), len(table) + 4


def instances(inner):
    """Signatures of instantiations; inner: how Tiny.Outer+Inner`1 is named from here."""
    return [
        # OwnerType Inner`1[int32], method 3, function 3 without fixups
        b"\x40\x15" + inner + b"\x01\x08" + b"\x03" + native_unsigned(3 << 1),
        # the same with __Canon and Map<string>, function 4 with fixups
        b"\x44\x15" + inner + b"\x01\x3e" + b"\x04" + b"\x01\x0e" + native_unsigned(4 << 2 | 1),
        # UpdateContext to the manifest, OwnerType, MemberRef: Other.Far`1[string]::Away
        compressed(0xd0) + b"\x02\x15\x12\x05\x01\x0e" + b"\x01" +
        native_unsigned(6 << 1),
    ]


def inlining(*entries):
    """A table of what was inlined: each entry is its numbers, which are counted."""
    return native_hashtable([b"".join(map(native_unsigned, (len(numbers), *numbers)))
                             for numbers in entries])


def il_imports(text):
    """The imports that check IL, of one method: the manifest's MemberRef 1, Other.Far`1::Away."""
    # Check_IL_Body in the manifest, two bytes of IL, one type: int32, then the method.
    signature = text.add(b"\xb5\x02" + b"\x02\x00\x2a" + b"\x01\x08" + b"\x10\x01")
    signatures = text.add(struct.pack("<I", signature))
    cells = text.add(bytes(8))
    return struct.pack("<IIHBBII", cells, 8, 0, 7, 8, signatures, 0)


def header(sections, flags, core_only=False, major=16):
    head = b"" if core_only else struct.pack("<4sHH", b"RTR\0", major, 0)
    head += struct.pack("<II", flags, len(sections))
    return head + b"".join(struct.pack("<III", t, *sections[t]) for t in sorted(sections))


def placed(text, data):
    return text.add(data), len(data)


# (native offset, IL offset, is it that of a call) of Add: the prologue is -2, the end -3, and its cold part the third.
LINES = [(0, -2, False), (4, 0, False), (8, 3, True), (0x1c, 7, False), (0x20, -3, False)]
NIBBLES, PACKED, SIZED = 9, 16, 26  # versions of ReadyToRun since which debug info has these forms


def nibbles(*values):
    """Numbers of three bits in each nibble, the upper ones first, and a whole byte at the end."""
    parts = []
    for value in values:
        digits = [int(digit) for digit in f"{value:o}"]
        parts += [digit | 8 for digit in digits[:-1]] + digits[-1:]
    parts += [0] * (len(parts) % 2)
    return bytes(low | high << 4 for low, high in zip(parts[::2], parts[1::2]))


def bounds(major):
    """Which native code is of which IL, by LINES."""
    rows = list(zip(LINES, [(0,), *LINES]))
    if major < PACKED:
        return nibbles(len(LINES), *(number for (native, il, is_call), (last, *_) in rows
                                     for number in (native - last, il + 3, 0x10 if is_call else 2)))
    source, native_bits, il_bits = (3 if major >= SIZED else 2), 5, 4
    bits = "".join(f"{il + 3:0{il_bits}b}{native - last:0{native_bits}b}{1 if is_call else 2:0{source}b}"
                   for (native, il, is_call), (last, *_) in reversed(rows))
    return nibbles(len(LINES), native_bits - 1, il_bits - 1) + int(bits, 2).to_bytes((len(bits) + 7) // 8, "little")


def debug_info(major):
    """Of functions 0 and 1, of which the latter says how far before it the former's lies, which is its own too."""
    info = nibbles(*([0] if major >= SIZED else []), len(bounds(major)), *([0] * (5 if major >= SIZED else 1)))
    info += bounds(major)
    for back in range(128):
        array = native_array({0: native_unsigned(0) + info, 1: native_unsigned(back)}, 8)
        if back == len(array) - 1 - array.index(info):
            return array
    raise ValueError("it is longer than a byte can say")


METHODS = {0: native_unsigned(0 << 1), 1: native_unsigned(1 << 2 | 1), 4: native_unsigned(5 << 1)}


def clauses(text, code):
    """Exception info: Add has a finally and catches in its funclet; Away has the last function as its filter."""
    catch, finally_clause = ((kind, 0, 8, begin, begin + 4, 0) for kind, begin in ((0, CODE_BYTES), (2, 8)))
    by_filter = (1, 4, 8, 2 * CODE_BYTES, 2 * CODE_BYTES + 0xc, CODE_BYTES)
    of_add, of_away = (struct.pack("<6I", *catch) + struct.pack("<6I", *finally_clause), struct.pack("<6I", *by_filter))
    first = text.add(of_add + of_away)
    second = first + len(of_add)
    return placed(text, struct.pack("<6I", code + CODE_BYTES, first, code + 6 * CODE_BYTES, second,
                                    0xffffffff, second + len(of_away)))


def tiny_r2r(metadata=None, lines=None, has_clauses=False):
    """Functions: .ctor, Add, Add's funclet, Put[int32], Map, Go, Away, Add's cold part. With `lines`, a version of
    ReadyToRun, there is debug info. With clauses there is no cold part: that function is Away's filter."""
    text = Text()
    meta = placed(text, (metadata or tiny_metadata()).bytes())
    code = text.add(b"")
    sections = {
        102: functions(text, 8),
        103: placed(text, native_array(METHODS, 5)),
        109: placed(text, native_hashtable(instances(b"\x12\x0c"))),
        112: placed(text, manifest_metadata().bytes()),
        120: placed(text, struct.pack("<II", 7, 1)),
        101: placed(text, il_imports(text)),
        119: placed(text, inlining(
            [2 << 2, 1, 4],  # Add by .ctor and Go
            [0 << 2 | 1, 2],  # import 0, Away, by Add
            [3 << 2 | 2, 1, 0, 4])),  # Put by import 0 and Map
    }
    if lines:
        sections[105] = placed(text, debug_info(lines))
    if has_clauses:
        del sections[120]
        sections[104] = clauses(text, code)
    native = placed(text, header(sections, 3, major=lines or 16))
    cli = struct.pack("<IHHIIII", 72, 2, 5, *meta, 5, 0) + bytes(40) + struct.pack("<II", *native)
    return finish(text, 14, cli)


def finish(text, directory, data):
    """The PE, with @data in the section as one of its directories."""
    place = placed(text, data)
    return pe(text.data, {directory: place})


def fat_il(code):
    """A method's IL with a head (ECMA-335 II.25.4.3)."""
    return struct.pack("<HHII", 0x3003, 8, len(code), 0) + code


def tiny_bodies():
    """IL that is tiny, below, close to and above what the JIT optimises, and some that is none."""
    text = Text()
    nop, branch, load_local = b"\x00", b"\x2b\x00", b"\x06"
    bodies = [text.add(il) for il in
              (b"\x16" + bytes(5), fat_il(nop * 1999), fat_il(branch * 1000),
               fat_il(load_local * 8001), bytes(4))]
    return tiny_il(text, bodies=bodies, names={".ctor": ".cctor"})


def tiny_flags():
    """NoOptimization and AggressiveOptimization."""
    return tiny_il(Text(), flags=[0, 0x40, 0x200, 0, 0])


def tiny_il(text=None, **options):
    text = text or Text()
    meta = placed(text, tiny_metadata(**options).bytes())
    return finish(text, 14, struct.pack("<IHHIIII", 72, 2, 5, *meta, 1, 0) + bytes(48))


def tiny_component():
    text = Text()
    meta = placed(text, tiny_metadata().bytes())
    native = placed(text, header({116: placed(text, b"tiny.r2r.dll\0")}, 0x2b))
    cli = struct.pack("<IHHIIII", 72, 2, 5, *meta, 5, 0) + bytes(40) + struct.pack("<II", *native)
    return finish(text, 14, cli)


def tiny_composite():
    text = Text()
    core = placed(text, header({
        103: placed(text, native_array(METHODS, 5)),
        114: placed(text, inlining(
            [2 << 1, 1 << 1, 4 << 1],  # Add by .ctor and Go
            [3 << 1 | 1, 2, 5 << 1 | 1, 2])),  # Put of module 2 by its Go
    }, 0x2b, core_only=True))
    # Inner`1 is in module 2: the manifest's first AssemblyRef
    inner = b"\x3f\x02\x12\x0c"
    sections = {
        102: functions(text, 8),
        109: placed(text, native_hashtable(instances(inner)[:2])),
        112: placed(text, manifest_metadata("Tiny").bytes()),
        115: placed(text, struct.pack("<IIII", 0, 0, *core)),
        119: placed(text, inlining(
            [4 << 2, 2, 1 << 1, 1 << 1 | 1, 9])),  # Map by .ctor, and by Add of no module at hand
        120: placed(text, struct.pack("<II", 7, 1)),
    }
    native = text.add(header(sections, 0x4b))
    name = text.add(b"RTR_HEADER\0")
    tables = text.add(struct.pack("<IIHH", native, name, 0, 0))
    exports = bytes(20) + struct.pack("<IIIII", 1, 1, tables, tables + 4, tables + 8)
    return finish(text, 0, exports)


def bundle(major, entries, compress=False, header_offset=None):
    """An ELF file with one writable segment that holds the signature; entries: [(path, bytes)]."""
    segment = 0x40 + 56
    data_at = segment + 16 + 8 + 32
    body, places = b"", []
    for path, data in entries:
        body += bytes(-(data_at + len(body)) % 64)
        places.append((path, data_at + len(body), data))
        body += data
    manifest_at = data_at + len(body)

    def string(text):
        return bytes([len(text)]) + text.encode()

    manifest = struct.pack("<III", major, 0, len(entries)) + string("0123456789ab")
    if major >= 2:
        manifest += struct.pack("<QQQQQ", 0, 0, 0, 0, 0)
    for path, offset, data in places:
        manifest += struct.pack("<QQ", offset, len(data) * (3 if compress else 1))
        if major >= 6:
            manifest += struct.pack("<Q", len(data) if compress else 0)
        manifest += b"\x01" + string(path)
    elf = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0x40, 0,
                                                          0, 64, 56, 1, 0, 0, 0)
    elf += struct.pack("<IIQQQQQQ", 1, 6, segment, 0, 0, 56, 56, 8)
    if header_offset is None:
        header_offset = manifest_at
    return elf + bytes(16) + struct.pack("<Q", header_offset) + BUNDLE_SIGNATURE + body + manifest


FILES = [("app.dll", b"MZ of the app" * 5), ("lib/System.Linq.dll", b"MZ of Linq")]

IMAGES = {
    "tiny-r2r.dll": tiny_r2r,
    "tiny-lines-nibbles.dll": lambda: tiny_r2r(lines=NIBBLES),
    "tiny-lines-packed.dll": lambda: tiny_r2r(lines=PACKED),
    "tiny-lines-sized.dll": lambda: tiny_r2r(lines=SIZED),
    "tiny-clauses.dll": lambda: tiny_r2r(has_clauses=True),
    "tiny-il.dll": tiny_il,
    "tiny-bodies.dll": tiny_bodies,
    "tiny-flags.dll": tiny_flags,
    "tiny-component.dll": tiny_component,
    "tiny-composite.dll": tiny_composite,
    "tiny-metadata.bin": lambda: tiny_metadata().bytes(),
    "tiny-metadata-wide.bin": lambda: tiny_metadata(stream="#-", wide=True, extra=True).bytes(),
    "tiny-metadata-pointers.bin":
        lambda: tiny_metadata(stream="#-", pointers=[5, 4, 1, 2, 3]).bytes(),
    "tiny-pdb.bin": lambda: tiny_pdb().bytes(),
    "tiny-pdb-wide.bin": lambda: tiny_pdb(methods=70000, wide=True).bytes(),
    "tiny-pdb.dll": tiny_pdb_image,
    "tiny-imports.bin": lambda: imports_metadata().bytes(),
    "bundle-1": lambda: bundle(1, FILES),
    "bundle-2": lambda: bundle(2, FILES),
    "bundle-6": lambda: bundle(6, FILES),
    "bundle-6-compressed": lambda: bundle(6, FILES, compress=True),
    "bundle-none": lambda: bundle(6, FILES, header_offset=0),
}


def main():
    target = pathlib.Path(sys.argv[1])
    for name, make in IMAGES.items():
        (target / name).write_bytes(make())


if __name__ == "__main__":
    main()
