#!/usr/bin/env python3
"""Compares Octet's import of networks from both exporters of PyTorch 2.x.

    compare_torch.py PROGRAM [NAME...]

PROGRAM is tests/e2e/import_check. As in compare_import.py, it compares the model,
its own file, and the quantized model trained for one step. Names are those of
torch_networks.py; the default is its own networks, "torchvision" selects all of
torchvision's. Each is exported with a dynamic batch and with a batch of 1, and by
dynamo also with opset 23, which has an operator Attention.

    python3 -m venv venv
    venv/bin/pip install torch==2.8.0 torchvision==0.23.0 onnxscript onnxruntime
    venv/bin/python tests/oracle/compare_torch.py build/dev/bin/import_check

Exit codes: 0 all agree, 1 one disagrees, 2 wrong usage, 77 without torch.
"""

import logging
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np

try:
    import torch
    from torch_networks import NETWORKS, TORCHVISION
except ImportError as error:
    print(f"skipped: {error}", file=sys.stderr)
    sys.exit(77)

from compare_import import INT8_TOLERANCE, compare


# Exporter, opset (None: its default) and whether the batch is dynamic.
FORMS = [("script", None, True), ("script", None, False),
         ("dynamo", None, True), ("dynamo", None, False),
         ("dynamo23", 23, True)]

# Scores are ten times those of unit vectors: for the same file, ONNX Runtime
# and `octet predict`, node by node, differ by 0.14.
NOISY = {"swin_v2_t": 0.2}


class Exported:
    """The part of a graph that compare() needs."""

    def __init__(self, name, samples):
        self.samples = [samples]
        self.nodes = ()
        self.int8_tolerance = NOISY.get(name, INT8_TOLERANCE)


def network(name):
    """Returns the module in inference mode, with statistics as after training.
    """
    torch.manual_seed(len(name))
    if name in NETWORKS:
        make, sample = NETWORKS[name]
        module = make()
    else:
        import torchvision
        more = ({"aux_logits": False, "init_weights": True}
                if name in ("googlenet", "inception_v3") else {})
        module = torchvision.models.get_model(name, weights=None, **more)
        sample = (3, TORCHVISION[name], TORCHVISION[name])
    for part in module.modules():
        if isinstance(part, (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d)):
            part.running_mean.normal_(0, 0.1)
            part.running_var.uniform_(0.8, 1.2)
    with torch.no_grad():
        for value in module.parameters():  # ViT's head is initialized with zeros
            if value.dim() > 1 and value.abs().max() == 0:
                value.normal_(0, 0.05)
    return module.eval(), sample


def export(module, x, path, dynamo, opset, open_batch):
    more = {} if opset is None else {"opset_version": opset}
    if open_batch and dynamo:
        more["dynamic_shapes"] = ({0: torch.export.Dim("n", min=2, max=64)},)
    elif open_batch:
        more["dynamic_axes"] = {"x": {0: "n"}}
    if dynamo:
        more.update(external_data=False, verbose=False)
    else:
        more["input_names"] = ["x"]
    torch.onnx.export(module, (x,), str(path), dynamo=dynamo, **more)


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    names = sys.argv[2:] or list(NETWORKS)
    if names == ["torchvision"]:
        names = list(TORCHVISION)
    failed = files = 0
    for name in names:
        module, sample = network(name)
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            graphs = {}
            for exporter, opset, open_batch in FORMS:
                x = torch.randn(2 if open_batch else 1, *sample)
                form = f"{name}_{exporter}_{'open' if open_batch else 'one'}"
                export(module, x, folder / f"{form}.onnx",
                       exporter != "script", opset, open_batch)
                np.save(folder / f"{form}.x0.npy", x.numpy())
                graphs[form] = Exported(name, x.numpy())
            subprocess.run([sys.argv[1], str(folder)], check=True,
                           stdout=subprocess.DEVNULL)
            for form, graph in graphs.items():
                problems = compare(folder, form, graph)
                files += 1
                failed += bool(problems)
                for problem in problems:
                    print(f"FAILED: {form}: {problem}", file=sys.stderr)
    print(f"{files - failed} of {files} files of {len(names)} networks agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
