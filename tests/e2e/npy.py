"""Writes NumPy files without NumPy."""

import sys


def write_npy(path, shape, values):
    """Writes an array.array of type "f" or "q" in C order."""
    assert sys.byteorder == "little"
    kind = {"f": "<f4", "q": "<i8"}[values.typecode]
    sizes = "".join(f"{size}," for size in shape)
    header = (f"{{'descr': '{kind}', 'fortran_order': False, "
              f"'shape': ({sizes}), }}")
    header = header.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little"))
        file.write(header.encode("latin1") + values.tobytes())
