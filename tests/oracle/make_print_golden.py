"""Writes tests/golden/print/tensors.txt: NumPy's text of arrays, which
tests/runtime/print_test.cpp compares with Octet's.

  python3 tests/oracle/make_print_golden.py

A case is a line "case DTYPE SHAPE", a line of values (floats in hexadecimal) or
"counting STEP" (i * STEP), and the lines of the text after "|".
"""
import pathlib

import numpy as np

INF, NAN = float("inf"), float("nan")
CASES = [
    ("f32", (), [1.5]),
    ("f32", (), [3]),
    ("f32", (), [0]),
    ("f32", (), [1e20]),
    ("f32", (), [-2.5e-7]),
    ("f32", (), [123456.789]),
    ("f32", (), [NAN]),
    ("f32", (), [-INF]),
    ("f32", (0,), []),
    ("f32", (2, 0, 3), []),
    ("f32", (1,), [0.1]),
    ("f32", (3,), [1, 2, 3]),
    ("f32", (3,), [-1, 0, 0.5]),
    ("f32", (4,), [1.5, -2.25, 0.125, 100]),
    ("f32", (2, 2), [1, 2, 3, 4]),
    ("f32", (2, 3), [0.1, -0.2, 0.3, 10, -20.5, 30]),
    ("f32", (2, 2, 2), [1, 2, 3, 4, 5, 6, 7, 8.5]),
    ("f32", (2, 1, 2, 1), [0.5, 1, 2, 4]),
    ("f32", (3,), [1e-5, 1, 2]),
    ("f32", (3,), [1, 999, 1001]),
    ("f32", (3,), [1, 500, 1000]),
    ("f32", (3,), [999999, 999998, 999997]),
    ("f32", (2,), [1e6, 2e6]),
    ("f32", (3,), [-1.25e-30, 3.5e30, 0]),
    ("f32", (2,), [1.17549435e-38, 3.4028235e38]),
    ("f32", (2,), [1e-45, -1e-45]),
    ("f32", (3,), [0.00012345678, 0.0123, 0.1]),
    ("f32", (2,), [1 / 3, 2 / 3]),
    ("f32", (2,), [-0.0, 0.0]),
    ("f32", (3,), [NAN, 1, 2]),
    ("f32", (4,), [NAN, INF, -INF, 1.5]),
    ("f32", (2,), [NAN, INF]),
    ("f32", (2,), [-INF, INF]),
    ("f32", (3,), [NAN, 1e-10, 1e10]),
    ("f32", (30,), 0.1),
    ("f32", (3, 20), 1 / 7),
    ("f32", (1000,), 1),
    ("f32", (1001,), 1),
    ("f32", (40, 50), 0.25),
    ("f32", (7, 20, 8), 1),
    ("f32", (2, 600), 1e-3),
    ("f32", (1200, 1), 2),
    ("i8", (3,), [-128, 0, 127]),
    ("i8", (), [-5]),
    ("i8", (2, 2), [1, -20, 3, 100]),
    ("u8", (2, 3), [0, 1, 2, 10, 100, 255]),
    ("i32", (2,), [-(2**31), 2**31 - 1]),
    ("i64", (2,), [-(2**63), 2**63 - 1]),
    ("i64", (0,), []),
    ("i64", (1500,), 1),
    ("bool", (3,), [1, 0, 1]),
    ("bool", (2,), [1, 1]),
    ("bool", (), [1]),
    ("bool", (2, 2), [0, 1, 1, 0]),
]
TYPES = {"f32": np.float32, "i8": np.int8, "u8": np.uint8, "i32": np.int32,
         "i64": np.int64, "bool": np.bool_}


def array_of(dtype, shape, values):
    kind = TYPES[dtype]
    if isinstance(values, (int, float)):
        count = int(np.prod(shape))
        step = kind(values)
        return (np.arange(count).astype(kind) * step).reshape(shape)
    return np.array(values, dtype=object).astype(kind).reshape(shape)


def text_of_values(values, array):
    if isinstance(values, (int, float)):
        return "counting " + float(np.float32(values)).hex()
    if array.dtype == np.float32:
        return " ".join(float(v).hex() for v in array.ravel())
    return " ".join(str(int(v)) for v in array.ravel())


lines = [f"# NumPy {np.__version__}, written by "
         "tests/oracle/make_print_golden.py"]
for dtype, shape, values in CASES:
    array = array_of(dtype, shape, values)
    lines.append(f"case {dtype} [{','.join(map(str, shape))}]")
    lines.append(text_of_values(values, array))
    lines += ["|" + line for line in str(array).split("\n")]
folder = pathlib.Path(__file__).parent.parent / "golden/print"
folder.mkdir(exist_ok=True)
(folder / "tensors.txt").write_text("\n".join(lines) + "\n")
