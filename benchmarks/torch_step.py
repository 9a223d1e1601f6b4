#!/usr/bin/env python3
"""Measures training steps in PyTorch on Octet's zoo topologies; prints one line
of JSON.

    torch_step.py NETWORK BATCH THREADS SECONDS MODE

NETWORK: lenet, resnet8, resnet20, mobilenet_v1_025, resnet18, resnet50, vit_tiny,
unet, or quickstart (the network of examples/quickstart.sh and step_benchmark).

MODE: fp32; qdq, fake-quantized inputs and weights with frozen scales; fx or pt2e,
QAT by the two front ends of torch.ao with moving averages. Channels last, SGD with
momentum and random images, like train_step. Needs torch, and torchao for pt2e (measured with 2.15 and 0.18).
"""

import json
import resource
import statistics
import sys
import time
import warnings

import torch
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")


def convolution(ins, outs, kernel, stride=1, groups=1, relu=True):
    layers = [nn.Conv2d(ins, outs, kernel, stride, kernel // 2, groups=groups),
              nn.BatchNorm2d(outs)]
    return nn.Sequential(*layers, nn.ReLU()) if relu else nn.Sequential(*layers)


class Residual(nn.Module):
    def __init__(self, body, shortcut):
        super().__init__()
        self.body, self.shortcut, self.relu = body, shortcut, nn.ReLU()

    def forward(self, x):
        return self.relu(self.body(x) + self.shortcut(x))


def classifier(layers, channels, classes):
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(channels, classes))


def resnet_cifar(blocks):
    layers, ins = [convolution(3, 16, 3)], 16
    for outs in (16, 32, 64):
        for block in range(blocks):
            stride = 2 if outs > 16 and block == 0 else 1
            body = nn.Sequential(convolution(ins, outs, 3, stride),
                                 convolution(outs, outs, 3, relu=False))
            same = ins == outs
            layers.append(Residual(body, nn.Identity() if same else
                                   nn.Conv2d(ins, outs, 1, stride)))
            ins = outs
    return classifier(layers, 64, 10)


def mobilenet_v1_025():
    layers, ins = [convolution(3, 8, 3, 2)], 8
    for outs, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2),
                         *[(128, 1)] * 5, (256, 2), (256, 1)):
        layers += [convolution(ins, ins, 3, stride, ins),
                   convolution(ins, outs, 1)]
        ins = outs
    return classifier(layers, 256, 2)


def resnet18():
    layers, ins = [convolution(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for outs, first in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for stride in (first, 1):
            body = nn.Sequential(convolution(ins, outs, 3, stride),
                                 convolution(outs, outs, 3, relu=False))
            same = ins == outs and stride == 1
            layers.append(Residual(body, nn.Identity() if same else
                                   convolution(ins, outs, 1, stride, relu=False)))
            ins = outs
    return classifier(layers, 512, 1000)


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
        nn.Linear(84, 10))


def quickstart():
    layers, ins = [], 1
    for outs in (16, 32, 64):
        layers += [nn.Conv2d(ins, outs, 3, padding=1, bias=False),
                   nn.BatchNorm2d(outs), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if outs < 64 else []
        ins = outs
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(7 * 7 * 64, 10))


def resnet50():
    layers, ins = [convolution(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for width, blocks, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2),
                                 (512, 3, 2)):
        for block in range(blocks):
            stride = first if block == 0 else 1
            body = nn.Sequential(convolution(ins, width, 1, stride),
                                 convolution(width, width, 3),
                                 convolution(width, 4 * width, 1, relu=False))
            shortcut = (convolution(ins, 4 * width, 1, stride, relu=False)
                        if block == 0 else nn.Identity())
            layers.append(Residual(body, shortcut))
            ins = 4 * width
    return classifier(layers, 2048, 1000)


class Block(nn.Module):
    """Pre-norm encoder block."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim, eps=1e-6)
        self.norm2 = nn.LayerNorm(dim, eps=1e-6)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(),
                                 nn.Linear(4 * dim, dim))

    def forward(self, x):
        n, tokens, dim = x.shape
        q, k, v = (self.qkv(self.norm1(x))
                   .reshape(n, tokens, 3, self.heads, dim // self.heads)
                   .permute(2, 0, 3, 1, 4))
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(n, tokens, dim))
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, dim=192, heads=3, blocks=12, patch=16, classes=1000):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, dim))
        self.positions = nn.Parameter(torch.zeros(1, (224 // patch) ** 2 + 1,
                                                  dim))
        self.blocks = nn.Sequential(*[Block(dim, heads)
                                      for _ in range(blocks)])
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1)
        x = self.norm(self.blocks(x + self.positions))
        return self.head(x[:, 0])


class UNet(nn.Module):
    def __init__(self, levels=3, filters=16, classes=2):
        super().__init__()

        def twice(ins, outs):
            return nn.Sequential(*[
                nn.Sequential(nn.Conv2d(i, outs, 3, padding=1, bias=False),
                              nn.BatchNorm2d(outs), nn.ReLU())
                for i in (ins, outs)])

        widths = [filters << i for i in range(levels + 1)]
        self.down = nn.ModuleList(
            twice(i, o) for i, o in zip([3, *widths], widths[:-1]))
        self.bottom = twice(widths[-2], widths[-1])
        self.enlarge = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2)
                                     for w in reversed(widths[:-1]))
        self.up = nn.ModuleList(twice(2 * w, w) for w in reversed(widths[:-1]))
        self.predictions = nn.Conv2d(filters, classes, 1)

    def forward(self, x):
        skips = []
        for stage in self.down:
            skips.append(stage(x))
            x = F.max_pool2d(skips[-1], 2)
        x = self.bottom(x)
        for enlarge, stage in zip(self.enlarge, self.up):
            x = stage(torch.cat([skips.pop(), enlarge(x)], 1))
        return self.predictions(x)


# Constructor, image channels, image side, classes.
NETWORKS = {"lenet": (lenet, 1, 28, 10),
            "quickstart": (quickstart, 1, 28, 10),
            "resnet8": (lambda: resnet_cifar(1), 3, 32, 10),
            "resnet20": (lambda: resnet_cifar(3), 3, 32, 10),
            "mobilenet_v1_025": (mobilenet_v1_025, 3, 96, 2),
            "resnet18": (resnet18, 3, 224, 1000),
            "resnet50": (resnet50, 3, 224, 1000),
            "vit_tiny": (ViT, 3, 224, 1000),
            "unet": (UNet, 3, 128, 2)}


class FakeQuantized(nn.Module):
    """A layer with Q/DQ and frozen scales, per channel for weights."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer
        scale = layer.weight.detach().flatten(1).abs().amax(1) / 127
        self.register_buffer("scale", scale)
        self.register_buffer("zero", torch.zeros_like(scale, dtype=torch.int32))

    def forward(self, x):
        x = torch.fake_quantize_per_tensor_affine(x, 0.03, 0, -128, 127)
        w = torch.fake_quantize_per_channel_affine(
            self.layer.weight, self.scale, self.zero, 0, -127, 127)
        if isinstance(self.layer, nn.Linear):
            return F.linear(x, w, self.layer.bias)
        return F.conv2d(x, w, self.layer.bias, self.layer.stride,
                        self.layer.padding, groups=self.layer.groups)


def quantize_layers(module):
    for name, child in module.named_children():
        if isinstance(child, (nn.Conv2d, nn.Linear)):
            setattr(module, name, FakeQuantized(child))
        else:
            quantize_layers(child)


def prepared_by_fx(model, x):
    from torch.ao.quantization import get_default_qat_qconfig_mapping
    from torch.ao.quantization.quantize_fx import prepare_qat_fx

    return prepare_qat_fx(model.train(), get_default_qat_qconfig_mapping("x86"),
                          (x,))


def prepared_by_pt2e(model, x):
    from torchao.quantization.pt2e import (FakeQuantizeBase,
                                           move_exported_model_to_train)
    from torchao.quantization.pt2e.quantize_pt2e import prepare_qat_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    quantizer = x86.X86InductorQuantizer()
    quantizer.set_global(
        x86.get_default_x86_inductor_quantization_config(is_qat=True))
    # Strict: otherwise the quantizer finds no layers in the export.
    exported = torch.export.export(model.train(), (x,), strict=True).module()
    prepared = prepare_qat_pt2e(exported, quantizer)
    if not any(isinstance(module, FakeQuantizeBase) for module in prepared.modules()):
        sys.exit("pt2e: the prepared model has no fake-quantization")
    move_exported_model_to_train(prepared)
    return prepared


def main(network, batch, threads, seconds, mode):
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    make, channels, side, classes = NETWORKS[network]
    x = torch.rand(batch, channels, side, side).to(memory_format=torch.channels_last)
    # A label per image, or per pixel for segmentation.
    labels = torch.arange(batch) % classes
    if network == "unet":
        labels = torch.arange(batch * side * side).reshape(
            batch, side, side) % classes
    model = make().to(memory_format=torch.channels_last).train()
    if mode == "qdq":
        quantize_layers(model)
    elif mode == "fx":
        model = prepared_by_fx(model, x)
    elif mode == "pt2e":
        model = prepared_by_pt2e(model, x)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)

    def step():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(x), labels).backward()
        optimizer.step()

    for _ in range(3):
        step()
    times = []
    while len(times) < 5 or sum(times) < seconds:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"model": network, "mode": mode, "batch": batch,
                      "ms_median": round(statistics.median(times) * 1e3, 3),
                      "ms_best": round(min(times) * 1e3, 3),
                      "peak_rss_mb": round(rss, 1)}))


if __name__ == "__main__":
    if len(sys.argv) != 6 or sys.argv[1] not in NETWORKS:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]),
         sys.argv[5])
