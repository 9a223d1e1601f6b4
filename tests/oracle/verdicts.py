"""Prints one line per network of a folder, and returns the exit code."""

import argparse
import pathlib
import sys


class Disagreement(Exception):
    """A failed check of a network."""


def judge_folder(description, judge, pattern="*.json"):
    """Calls judge(name, folder) for each <name>.json that matches the pattern
    in the folder of the command line; judge returns a summary or raises. Exit
    codes: 0 all agree, 1 one disagrees, 2 wrong usage or missing files."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    names = sorted(
        file.name.removesuffix(".json") for file in folder.glob(pattern))
    if not names:
        print(f"{folder}: expected networks, got none", file=sys.stderr)
        return 2
    width = max(map(len, names))
    problems = 0
    for name in names:
        try:
            print(f"ok    {name:{width}}  {judge(name, folder)}")
        except Exception as error:  # from onnx or onnxruntime
            problems += 1
            print(f"FAIL  {name:{width}}  "
                  f"{str(error).strip().splitlines()[0]}")
    print(f"{len(names)} networks, {problems} problems")
    return 1 if problems else 0
