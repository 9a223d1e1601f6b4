#!/usr/bin/env python3
"""Runs the shell blocks of Markdown pages and compares their output.

    docs/check_commands.py --octet build/release/bin/octet [--long] [PAGE.md...]

Default pages: README.md and docs/. Each page has a scratch folder (--work) with
the files that the pages use (see Files), and `build/release/bin` with the
programs beside octet. The blocks of a page run in order.

- `sh`: a script; every command must succeed.
- `console`: commands behind "$ " and their output. A line "..." stands for any
  lines. Numbers are compared with tolerances (see close()), since instruction
  sets round differently; times and speeds are not compared.

Comments on the line before a block:

    <!-- test: NAME -->             name of the block, with options:
       fails=1                      the last command must fail
       numbers=any                  numbers are not compared
       long=1                       runs only with --long
       needs=testdata               skipped without the shared test data
       needs=mpi                    skipped without mpirun
    <!-- not run: REASON -->        the block is not run

Output in README.md is shortened: lines and parts of lines are missing.
Exit code 1 if a block fails, 77 without the data set Fashion-MNIST.
"""
import argparse
import gzip
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import time
import zlib

sys.dont_write_bytecode = True
import check

ROOT = check.ROOT
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
TESTDATA = pathlib.Path(os.environ.get("OCTET_TESTDATA",
                                       ROOT.parent / "shared/testdata"))
# Pages whose scripts build and install.
INSTALLS = ("installation.md",)
NUMBER = re.compile(r"(?<![\w.])[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
# Units of times, speeds and the machine: never compared.
VOLATILE = re.compile(r"^(?:img/s|images/s|samples/s|GOP/s|GFLOP/s|MB/s|ms|us|s"
                      r"|threads|cores)\b")


class Files:
    """Writes the files that blocks use: samples of Fashion-MNIST as x.npy, y.npy
    and photos/, a trained LeNet as lenet.h5, model.h5, ..., and int8.onnx."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True)
        images, labels = self.fashion()
        self.npy("x.npy", "<f4", (500, 28, 28, 1), struct.pack(
            f"<{500 * 784}f", *(b / 255 for b in images[:500 * 784])))
        for name in ("y.npy", "l.npy"):
            self.npy(name, "<i8", (500,), struct.pack("<500q", *labels[:500]))
        values = [b / 255 for b in images[:500 * 784]]
        self.npy("nchw.npy", "<f4", (500, 1, 28, 28),
                 struct.pack(f"<{500 * 784}f", *values))
        values[37 * 784] = 1e6
        self.npy("odd.npy", "<f4", (500, 28, 28, 1),
                 struct.pack(f"<{500 * 784}f", *values))
        (folder / "spec.json").write_text(
            '{"spec": [{"name": "conv1", "quantize_weight": false}]}\n')
        for at in range(300):
            self.png(at, labels[at], images[784 * at:784 * (at + 1)])

    @staticmethod
    def fashion():
        def read(name, head):
            with gzip.open(FASHION / name) as file:
                return file.read()[head:]
        return (read("t10k-images-idx3-ubyte.gz", 16),
                read("t10k-labels-idx1-ubyte.gz", 8))

    def npy(self, name, kind, shape, data):
        head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
        head = head.ljust((-11 - len(head)) % 64 + len(head)) + "\n"
        (self.folder / name).write_bytes(
            b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) +
            head.encode() + data)

    def png(self, at, label, pixels):
        def chunk(kind, data):
            return (struct.pack(">I", len(data)) + kind + data +
                    struct.pack(">I", zlib.crc32(kind + data)))
        rows = b"".join(b"\0" + pixels[28 * y:28 * (y + 1)] for y in range(28))
        path = self.folder / "photos" / f"class{label}" / f"{at:03}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", 28, 28, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))

    def keywords(self, runner):
        """Writes MLPerf Tiny's keyword network and 1,000 inputs."""
        model = TESTDATA / "models/kws_ref_model_converted.h5"
        if not model.exists():
            return
        work = self.folder / "keywords"
        work.mkdir()
        code, output = runner.command(
            f"PYTHONDONTWRITEBYTECODE=1 {sys.executable} "
            f"{ROOT}/tests/e2e/make_keywords.py {TESTDATA}/kws01 . 400", work)
        if code:
            sys.exit(output)
        shutil.copy(model, self.folder / "keywords.h5")
        for name, to in (("few", "train_x"), ("few_labels", "train_y"),
                         ("x", "test_x"), ("y", "test_y")):
            (work / f"{name}.npy").rename(self.folder / f"{to}.npy")
        work.rmdir()

    def train(self, runner):
        """Trains the network of the pages; copies have the names they use."""
        runner.command(f"octet train zoo:lenet --data {FASHION} --epochs 4 "
                       "-o lenet.h5", self.folder)
        for line in (f"octet quantize lenet.h5 --data {FASHION} -o int8.onnx",
                     "octet convert lenet.h5 model.onnx"):
            runner.command(line, self.folder)
        for name in ("model.h5", "model.keras"):
            shutil.copy(self.folder / "lenet.h5", self.folder / name)
        shutil.copy(self.folder / "model.onnx", self.folder / "resnet18.onnx")


class Runner:

    def __init__(self, octet, work):
        self.work, self.cache = work, {}
        self.environment = dict(os.environ, LC_ALL="C.UTF-8")
        self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1",
                                OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.environment["PATH"] = f"{octet.parent}:{os.environ['PATH']}"
        self.bin = octet.parent

    def command(self, text, folder):
        """Returns (exit code, output); a training runs once."""
        key = text if text.startswith("octet train") else None
        if key in self.cache:
            code, output, file = self.cache[key]
            if file:
                shutil.copy(file, folder / file.name)
            return code, output
        result = subprocess.run(
            ["bash", "-c", text], cwd=folder, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900,
            errors="replace")
        if key:
            file = re.search(r"-o (\S+)", text)
            file = folder / file[1] if file else None
            self.cache[key] = (result.returncode, result.stdout,
                               file if file and file.exists() else None)
        return result.returncode, result.stdout


def parse(block):
    """Yields (command, output lines) of a block `console`."""
    command, output = None, []
    for line in block.lines:
        if line.startswith("$ "):
            if command is not None:
                yield command, output
            command, output = line[2:], []
        elif command is not None and command.endswith("\\") and not output:
            command += "\n" + line
        else:
            output.append(line)
    if command is not None:
        yield command, output


def close(expected, actual, unit):
    """Whether two numbers agree, up to the rounding of instruction sets."""
    if VOLATILE.match(unit):
        return True
    a, b = (float(x.replace(",", "")) for x in (expected, actual))
    if unit.startswith(("%", "dB")):
        return abs(a - b) <= 3
    if re.fullmatch(r"[+-]?[\d,]+", expected):
        return abs(a - b) <= 0.02 * abs(a)
    return abs(a - b) <= max(0.25 * abs(a), 0.05)


def words(line):
    line = line.split("\r")[-1].replace("\x1b[K", "")  # progress bars
    return re.sub(r"-{3,}", "---", line).split()


def equal(expected, actual, any_number):
    """Whether two words agree; `expected` may have its unit in the word."""
    word, unit = expected
    other = actual
    if NUMBER.sub("#", word) != NUMBER.sub("#", other):
        return False
    if any_number:
        return True
    for a, b in zip(NUMBER.finditer(word), NUMBER.findall(other)):
        if not close(a[0], b, word[a.end():].lstrip(",;)") or unit):
            return False
    return True


def with_units(line):
    parts = words(line)
    return list(zip(parts, parts[1:] + [""]))


def same_line(expected, actual, any_number):
    a, b = with_units(expected), words(actual)
    return len(a) == len(b) and all(
        equal(x, y, any_number) for x, y in zip(a, b))


def shortened_line(expected, actual):
    """Whether the words of a line occur in another line, in order."""
    rest = iter(words(actual))
    return all(any(equal(x, y.rstrip("."), False) for y in rest)
               for x in with_units(expected))


def compare(expected, actual, shortened, any_number):
    """Returns the first line that is missing, or None."""
    at = 0
    if shortened:
        for line in expected:
            while at < len(actual) and not shortened_line(line, actual[at]):
                at += 1
            if at == len(actual):
                return line
            at += 1
        return None
    # Chunks between lines "...": each follows the previous one.
    chunks, anchored = [[]], True
    for line in expected:
        if line.strip() == "...":
            chunks.append([])
        elif line.strip():
            chunks[-1].append(line)
    lines = [line for line in actual if line.strip()]
    for number, chunk in enumerate(chunks):
        last = number == len(chunks) - 1
        starts = [at] if anchored else range(at, len(lines) + 1)
        if last and not anchored and chunk:
            starts = [max(at, len(lines) - len(chunk))]
        best = 0
        for start in starts:
            matched = 0
            while (matched < len(chunk) and start + matched < len(lines) and
                   same_line(chunk[matched], lines[start + matched],
                             any_number)):
                matched += 1
            best = max(best, matched)
            if matched == len(chunk):
                at = start + matched
                break
        else:
            return chunk[best]
        anchored = False
    if len(chunks) == 1 and at != len(lines):
        return f"(end of output), got: {lines[at]}"
    return None


def run_block(block, folder, runner, shortened):
    """Yields a message per failure."""
    fails = block.options.get("fails") == "1"
    if block.language == "sh":
        code, output = runner.command("set -euo pipefail\n" + block.text(),
                                      folder)
        if (code != 0) != fails:
            yield f"exit code {code}\n" + output[-2000:]
        return
    pairs = list(parse(block))
    for number, (command, expected) in enumerate(pairs):
        code, output = runner.command(command, folder)
        must_fail = fails and number == len(pairs) - 1
        if (code != 0) != must_fail:
            yield f"$ {command}\nexit code {code}\n" + output[-2000:]
            return
        missing = compare(expected, output.splitlines(), shortened,
                          block.options.get("numbers") == "any")
        if missing is not None:
            yield (f"$ {command}\nno line: {missing}\n--- output\n"
                   + output[-4000:])


def run_page(path, folder, runner, files, long):
    """Runs the blocks of a page; returns (number of blocks, failures)."""
    place = path.relative_to(ROOT)
    languages = ("console",) if place.name in INSTALLS else ("console", "sh")
    blocks = [block for block in check.Page(path).blocks
              if block.language in languages and not block.not_run
              and (long or block.options.get("long") != "1")]
    if not blocks:
        return 0, 0
    shutil.copytree(files.folder, folder)
    (folder / "build/release").mkdir(parents=True)
    (folder / "build/release/bin").symlink_to(runner.bin)
    for block in check.Page(path).blocks:
        if block.language == "toml":
            (folder / "job.toml").write_text(block.text())
    count = failures = 0
    for block in blocks:
        needs = block.options.get("needs")
        if (needs == "testdata" and not TESTDATA.exists() or
                needs == "mpi" and not shutil.which("mpirun")):
            continue
        count += 1
        for problem in run_block(block, folder, runner,
                                 place.name == "README.md" and
                                 path.parent == ROOT):
            failures += 1
            print(f"{place}:{block.line}: {problem}\n", flush=True)
    return count, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--octet", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path,
                        default=ROOT / "build/documentation_commands")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    if not FASHION.exists():
        print(f"skipped: no {FASHION}")
        return 77
    pages = options.pages or [ROOT / "README.md"] + [
        path for path in sorted((ROOT / "docs").rglob("*.md"))
        if ROOT / "docs/reference" not in path.parents]
    shutil.rmtree(options.work, ignore_errors=True)
    work = options.work.resolve()
    runner = Runner(options.octet.resolve(), work)
    files = Files(work / "files")
    files.train(runner)
    files.keywords(runner)
    failures = 0
    for path in map(pathlib.Path.resolve, pages):
        begin = time.monotonic()
        name = path.relative_to(ROOT).as_posix().replace("/", "_")
        count, failed = run_page(path, work / name, runner, files,
                                 options.long)
        failures += failed
        if count:
            print(f"{path.relative_to(ROOT)}: {count} blocks, {failed} "
                  f"failures, {time.monotonic() - begin:.1f} s", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
