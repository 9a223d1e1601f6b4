#!/usr/bin/env python3
"""Writes the keywords of kws01 as x.npy and y.npy, and the first ones as few.npy.

    make_keywords.py KWS01 FOLDER COUNT
"""

import array
import pathlib
import sys

from npy import write_npy

SAMPLE = 49 * 10


def main():
    source, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    count = int(sys.argv[3])
    codes = array.array("b", (source /
                              "features_int8_1000x49x10.bin").read_bytes())
    labels = array.array("q", list((source / "labels_u8_1000.bin").read_bytes()))
    # Source: testdata/README.md.
    values = array.array("f", ((code - 83) * 0.5847029 for code in codes))
    n = len(labels)
    write_npy(folder / "x.npy", (n, 49, 10, 1), values)
    write_npy(folder / "y.npy", (n,), labels)
    write_npy(folder / "few.npy", (count, 49, 10, 1), values[:count * SAMPLE])
    write_npy(folder / "few_labels.npy", (count,), labels[:count])


main()
