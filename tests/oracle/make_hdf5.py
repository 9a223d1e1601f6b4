#!/usr/bin/env python3
"""Writes HDF5 files with features of h5py and Keras, and their contents.

make_hdf5.py FOLDER

  old.h5    the format of HDF5 1.0, after 512 bytes of other data
  new.h5    the newest format: other groups, links, attributes and checksums
  NAME.npy  a dataset of these files as float32 (NAME_i64.npy: as int64)

Both files have the same contents.
"""

import sys

import h5py
import numpy as np


def datasets(rng):
    """Returns name, values and storage options."""
    floats = rng.standard_normal((3, 4, 5)).astype(np.float32)
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    yield "float32", floats, {}
    yield "float64", rng.standard_normal(7) * 1e30, {}
    yield "float16", halves, {}
    yield "big/float16", halves.astype(">f2"), {}
    yield "big/float32", floats.astype(">f4"), {}
    yield "big/float64", floats.astype(">f8"), {}
    yield "scalar", np.float32(2.5), {}
    yield "empty", np.zeros((0, 4), np.float32), {}
    large = rng.integers(-5, 5, (200, 70)).astype(np.float32)
    yield "chunked", large, {"chunks": (64, 64)}
    yield "resizable", large, {"maxshape": (None, None), "chunks": (64, 64)}
    yield "gzip", large, {"chunks": (50, 70), "compression": "gzip"}
    yield "all_filters", large, {
        "chunks": (64, 64),
        "compression": "gzip",
        "compression_opts": 9,
        "shuffle": True,
        "fletcher32": True,
    }
    for kind in ("i1", "u1", "<i2", ">u2", "<i4", ">i4", "<u4", "<i8", ">i8"):
        info = np.iinfo(kind)
        values = rng.integers(info.min, info.max, 9, np.int64, endpoint=True)
        values[0], values[1] = info.min, info.max
        yield f"ints/{kind.strip('<')}", values.astype(kind), {}


def attributes(file):
    file.attrs["text"] = "caf\u00e9"
    file.attrs["long"] = "x" * 300000
    file.attrs["bytes"] = np.bytes_(b"model_config")
    file.attrs["int"] = 5
    file.attrs["int32"] = np.int32(-7)
    file.attrs["float"] = 0.1
    file.attrs["half"] = np.float16(0.5)
    file.attrs["bool"] = True
    file.attrs["bools"] = np.array([True, False])
    file.attrs["ints"] = [1, 2, 3]
    file.attrs["fixed"] = np.array([b"conv2d", b"re_lu_1", b"x"])
    file.attrs["variable"] = ["conv2d", "re_lu_1", ""]
    file.attrs["no_weights"] = np.array([])
    file.attrs["complex"] = np.complex64(1)
    file.attrs["matrix"] = np.eye(2)
    # Keras splits lists that are too long for one attribute.
    names = np.array([b"layer_%05d" % i for i in range(10000)])
    for part, some in enumerate(np.array_split(names, 3)):
        file.attrs[f"split{part}"] = some


def write(path, folder, **how):
    rng = np.random.default_rng(1)
    with h5py.File(path, "w", **how) as file:
        attributes(file)
        for name, values, stored in datasets(rng):
            file.create_dataset(name, data=values, **stored)
            flat = name.replace("/", "_").replace(">", "big_")
            if values.dtype.kind == "f":
                np.save(f"{folder}/{flat}.npy", values.astype(np.float32))
            else:
                np.save(f"{folder}/{flat}_i64.npy", values.astype(np.int64))
        # Keras 3 stores ml_dtypes.bfloat16 as two opaque bytes.
        bits = np.array([0x3FC0, 0xC000, 0x7F80], np.uint16)
        opaque = file.create_dataset("bfloat16", data=bits.view("V2"))
        opaque.attrs["dtype"] = "bfloat16"
        file.create_dataset("opaque", data=bits.view("V2"))
        file.create_dataset("lzf", data=np.ones(99), compression="lzf")
        file.create_dataset("text", data=["a", "b"])
        file.create_dataset("complex", data=np.ones(3, np.complex64))
        file.create_dataset("bools", data=np.ones(3, bool))
        file.create_dataset("unwritten", (3,), np.float32)
        file["soft"] = h5py.SoftLink("/float32")
        file["external"] = h5py.ExternalLink("/etc/passwd", "/")
        file["hard"] = file["float32"]
        layout = h5py.VirtualLayout((3,), np.float32)
        layout[:] = h5py.VirtualSource("/etc/passwd", "x", (3,))
        file.create_virtual_dataset("virtual", layout)
        for i in range(3000):
            file.create_group(f"many/{i}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = sys.argv[1]
    with np.errstate(all="ignore"):
        write(f"{folder}/old.h5", folder, userblock_size=512)
        write(f"{folder}/new.h5", folder, libver="latest", track_order=True)


main()
