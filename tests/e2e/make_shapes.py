#!/usr/bin/env python3
"""Writes PNGs of colored discs, bars and crosses, one folder per class; and next
to FOLDER the same images as FOLDER.x.npy, float32 [N,3,h,w] in [0,1], and labels
as FOLDER.y.npy. Does not need NumPy.

    make_shapes.py FOLDER COUNT SEED
"""

import array
import pathlib
import random
import struct
import sys
import zlib

from npy import write_npy

HEIGHT, WIDTH = 28, 36


def png(rows):
    def chunk(kind, data):
        whole = kind + data
        return struct.pack(">I", len(data)) + whole + struct.pack(
            ">I", zlib.crc32(whole))

    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    pixels = b"".join(b"\0" + bytes(row) for row in rows)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) +
            chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b""))


def inside(kind, y, x, size):
    if kind == "disc":
        return y * y + x * x <= size * size
    if kind == "bar":
        return abs(y) <= size // 3 and abs(x) <= size
    return abs(y) <= 1 and abs(x) <= size or abs(x) <= 1 and abs(y) <= size


def image(kind, rng):
    size = rng.randint(6, 9)
    top = rng.randint(size, HEIGHT - 1 - size)
    left = rng.randint(size, WIDTH - 1 - size)
    color = [rng.randint(150, 255) for _ in range(3)]
    rows = []
    for y in range(HEIGHT):
        row = []
        for x in range(WIDTH):
            filled = inside(kind, y - top, x - left, size)
            for c in range(3):
                row.append(color[c] if filled else rng.randint(0, 80))
        rows.append(row)
    return rows


def main():
    folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(int(sys.argv[3]))
    pixels, labels = array.array("f"), array.array("q")
    for label, kind in enumerate(("bar", "cross", "disc")):
        (folder / kind).mkdir(parents=True)
        for i in range(count):
            rows = image(kind, rng)
            (folder / kind / f"{i:03}.png").write_bytes(png(rows))
            labels.append(label)
            for c in range(3):
                for row in rows:
                    pixels.extend(value / 255 for value in row[c::3])
    write_npy(f"{folder}.x.npy", (3 * count, 3, HEIGHT, WIDTH), pixels)
    write_npy(f"{folder}.y.npy", (3 * count,), labels)


main()
