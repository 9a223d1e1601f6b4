#!/usr/bin/env python3
"""Compiles exported networks with Vela, Arm's compiler for Ethos-U.

    compile_for_ethos_u.py FOLDER

FOLDER is the output of tests/e2e/tflite_export. Every operator of MLPerf Tiny's
networks must run on the NPU. Prints Vela's estimates for Ethos-U55-128.

Exit codes: 0 all compile, 1 one does not, 2 wrong usage or missing files.
"""

import csv
import pathlib
import re
import subprocess
import sys
import tempfile

NETWORKS = ["ds_cnn", "mobilenet_v1_025", "resnet8", "autoencoder"]


def compile_file(path, folder):
    """Returns the number of operators on the CPU and Vela's estimates."""
    vela = pathlib.Path(sys.executable).parent / "vela"
    run = subprocess.run([
        vela, path, "--accelerator-config", "ethos-u55-128", "--output-dir",
        folder
    ], capture_output=True, text=True, check=False)
    found = re.search(r"CPU operators = (\d+)", run.stdout)
    if run.returncode != 0 or found is None:
        raise RuntimeError(run.stderr.strip().splitlines()[-1:] or run.stdout)
    summary = next(pathlib.Path(folder).glob(f"{path.stem}*summary*.csv"))
    with open(summary, encoding="utf-8") as file:
        return int(found[1]), next(csv.DictReader(file))


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    failures = 0
    for name in NETWORKS:
        path = pathlib.Path(sys.argv[1]) / f"{name}.int8.tflite"
        if not path.exists():
            print(f"{path}: no such file", file=sys.stderr)
            return 2
        with tempfile.TemporaryDirectory() as folder:
            on_cpu, row = compile_file(path, folder)
        failures += on_cpu > 0
        print(f"{'FAIL' if on_cpu else 'ok  '}  {name:18} {on_cpu} operators on "
              f"the CPU, {float(row['cycles_total']):,.0f} cycles, "
              f"{float(row['sram_memory_used']):.1f} KiB SRAM")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
