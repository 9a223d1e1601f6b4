#!/usr/bin/env python3
"""Loads golden inputs like polygraphy's --data-loader-script.

    load_golden.py FOLDER

Exit codes: 0 the loader returns the inputs of the folder, 1 it does not.
"""

import importlib.util
import pathlib
import sys

import numpy as np

folder = pathlib.Path(sys.argv[1])
spec = importlib.util.spec_from_file_location("load_inputs",
                                              folder / "load_inputs.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
[inputs] = list(module.load_data())
expected = [np.load(path) for path in sorted(folder.glob("input_*.npy"))]
same = len(inputs) == len(expected) and all(
    np.array_equal(x, e) for x, e in zip(inputs.values(), expected))
print(", ".join(inputs))
sys.exit(0 if same else 1)
