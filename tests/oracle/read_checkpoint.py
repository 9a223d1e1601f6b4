#!/usr/bin/env python3
"""Prints h5py's view of Octet's files, in the order in which Keras finds weights.

read_checkpoint.py FILE

One line per weight, in the order of the attributes layer_names and weight_names:
LAYER PATH TYPE SHAPE and the values as hexadecimal floats.
"""

import sys

import h5py


def text(name):
    return name.decode() if isinstance(name, bytes) else str(name)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with h5py.File(sys.argv[1], "r") as file:
        group = file["model_weights"]
        for layer in map(text, group.attrs["layer_names"]):
            for path in map(text, group[layer].attrs["weight_names"]):
                weight = group[layer][path]
                numbers = weight[()].flatten().tolist()
                print(layer, path, weight.dtype.str, list(weight.shape),
                      *(number.hex() for number in numbers))


main()
