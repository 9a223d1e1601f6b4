#!/usr/bin/env python3
"""Counts the conformance tests of the newest ONNX that Octet passes.

    count_conformance.py IO_TEST [--at-least N] [--list]

IO_TEST is the test program of the module io. The cases are those of the package
`onnx` for single operators (onnx.backend.test), of all opsets. Octet may reject a
case as unsupported; --list prints which, and the reason.

Exit codes: 0 all other cases agree, 1 one disagrees, or fewer than N pass, 2
wrong usage.
"""

import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings
from xml.etree import ElementTree

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


# Resize: expected output of ONNX Runtime; on an axis that shrinks to a fraction
# of a cell, the last output cell aligns with the last input cell. DFT: exact
# zeros instead of rounding errors of 2e-7.
DEVIATIONS = {
    "test_dft_inverse",
    "test_dft_inverse_opset19",
    "test_resize_downsample_scales_cubic_align_corners",
    "test_resize_downsample_scales_linear_align_corners",
}


def write_case(case, folder):
    """Writes the files of the ONNX project: model.onnx, test_data_set_0/*.pb.
    """
    data = folder / case.name / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(case.model, folder / case.name / "model.onnx")
    for kind, values in zip(("input", "output"), case.data_sets[0]):
        for i, value in enumerate(values):
            if isinstance(value, (np.ndarray, np.generic)):
                value = numpy_helper.from_array(np.asarray(value))
            if not hasattr(value, "SerializeToString"):
                # A sequence or nothing: models with such inputs are not run.
                value = onnx.TensorProto()
            (data / f"{kind}_{i}.pb").write_bytes(value.SerializeToString())


def results(io_test, folder):
    report = folder.parent / "report.xml"
    subprocess.run(
        [io_test, "--gtest_filter=Conformance/*", "--gtest_brief=1",
         f"--gtest_output=xml:{report}"],
        env={**os.environ, "OCTET_ONNX_NODE_TESTS": str(folder)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    for test in ElementTree.parse(report).iter("testcase"):
        name = test.get("name").split("/")[-1]
        failure, skipped = test.find("failure"), test.find("skipped")
        if failure is not None:
            yield name, "failed", failure.get("message")
        elif skipped is not None:
            yield name, "refused", skipped.get("message")
        else:
            yield name, "passed", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("io_test", type=pathlib.Path)
    parser.add_argument("--at-least", type=int, default=0)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "cases"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # from NumPy
            cases = collect_testcases(None)
        for case in cases:
            write_case(case, folder)
        for test, result, text in results(options.io_test.resolve(), folder):
            if result == "failed" and test in DEVIATIONS:
                result = "deviating"
            counts[result] += 1
            if result == "failed" or (options.list and result == "refused"):
                lines = [line for line in text.splitlines() if line.strip()]
                print(f"{result}  {test}  {' '.join(lines[1:4])[:300]}")
    print(f"onnx {onnx.__version__}: {counts['passed']} passed, "
          f"{counts['refused']} refused, {counts['deviating']} deviate on "
          f"purpose, {counts['failed']} failed")
    fewer = counts["passed"] < options.at_least
    return 1 if counts["failed"] or fewer else 0


if __name__ == "__main__":
    sys.exit(main())
