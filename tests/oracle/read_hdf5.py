#!/usr/bin/env python3
"""Prints h5py's view of a file: one line per object and attribute.

read_hdf5.py FILE

  PATH group
  PATH dataset TYPE SHAPE VALUES
  PATH @NAME TYPE VALUE
"""

import sys

import h5py
import numpy as np


def show(path, thing):
    if isinstance(thing, h5py.Dataset):
        values = thing[()].tolist()
        print(path, "dataset", thing.dtype.str, thing.shape, values)
    else:
        print(path, "group")
    for name in sorted(thing.attrs):
        value = thing.attrs[name]
        if isinstance(value, np.ndarray):
            print(path, f"@{name}", f"array {value.shape}", value.tolist())
        else:
            print(path, f"@{name}", type(value).__name__, repr(value))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with h5py.File(sys.argv[1], "r") as file:
        show("/", file)
        names = []
        file.visit(names.append)
        for name in sorted(names):
            show(f"/{name}", file[name])


main()
