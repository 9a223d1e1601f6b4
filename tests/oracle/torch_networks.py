"""Networks in typical PyTorch style, for compare_torch.py: a module and a sample
shape each, with distinct sizes.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self, batch_first):
        super().__init__()
        self.batch_first = batch_first
        self.proj = nn.Linear(12, 32)
        self.position = nn.Parameter(torch.randn(1, 20, 32) * 0.1)
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(32, 4, 64, batch_first=batch_first), 2)
        self.head = nn.Linear(32, 5)

    def forward(self, x):
        h = self.proj(x) + self.position
        if not self.batch_first:
            h = h.transpose(0, 1)
        h = self.encoder(h)
        if not self.batch_first:
            h = h.transpose(0, 1)
        return self.head(h.mean(1))


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(24, 3, batch_first=True)
        self.out = nn.Linear(24, 4)

    def forward(self, x):
        return self.out(self.attention(x, x, x, need_weights=False)[0])


class DotProductAttention(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.causal = causal
        self.qkv = nn.Linear(24, 72)
        self.out = nn.Linear(24, 24)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (z.view(b, t, 3, 8).transpose(1, 2)
                   for z in self.qkv(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(b, t, c) + x)


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2)
        self.fc1 = nn.Linear(16 * 13 * 15, 32)
        self.fc2 = nn.Linear(32, 10)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        x = F.leaky_relu(self.conv2(F.relu(self.norm(self.conv1(x)))))
        x = F.relu(self.fc1(x.view(x.size(0), -1)))
        return F.log_softmax(self.fc2(self.dropout(x)), dim=1)


def twice(c, k):
    return nn.Sequential(
        nn.Conv2d(c, k, 3, padding=1, bias=False), nn.BatchNorm2d(k),
        nn.ReLU(True), nn.Conv2d(k, k, 3, padding=1, bias=False),
        nn.BatchNorm2d(k), nn.ReLU(True))


class UNet(nn.Module):
    def __init__(self, learned):
        super().__init__()
        self.down1, self.down2 = twice(3, 8), twice(8, 16)
        self.up = (nn.ConvTranspose2d(16, 8, 2, stride=2) if learned
                   else nn.Conv2d(16, 8, 1))
        self.last, self.out = twice(16, 8), nn.Conv2d(8, 2, 1)
        self.learned = learned

    def forward(self, x):
        a = self.down1(x)
        b = self.up(self.down2(F.max_pool2d(a, 2)))
        if self.learned:
            b = F.pad(b, [0, a.size(3) - b.size(3), 0, a.size(2) - b.size(2)])
        else:
            b = F.interpolate(b, size=a.shape[2:], mode="bilinear",
                              align_corners=False)
        return self.out(self.last(torch.cat([a, b], 1)))


class SqueezeExcite(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(16, 4), nn.Linear(4, 16)
        self.out = nn.Linear(16, 3)

    def forward(self, x):
        h = F.silu(self.conv(x))
        b, c, _, _ = h.shape
        w = torch.sigmoid(self.fc2(F.relu(self.fc1(h.mean((2, 3))))))
        h = h * w.view(b, c, 1, 1)
        return self.out(F.adaptive_avg_pool2d(h, 1).flatten(1))


class Signal(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(3, 16, 5, stride=2, padding=2)
        self.norm = nn.BatchNorm1d(16)
        self.conv2 = nn.Conv1d(16, 32, 3)
        self.out = nn.Linear(32, 6)

    def forward(self, x):
        x = F.gelu(self.conv2(F.relu(self.norm(self.conv1(x)))))
        return self.out(x.mean(-1))


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 24, 8, stride=8)
        def mlp():
            return nn.Sequential(nn.Linear(24, 48), nn.GELU(),
                                 nn.Linear(48, 24))
        self.tokens, self.channels = mlp(), mlp()
        self.norm1, self.norm2 = nn.LayerNorm(24), nn.LayerNorm(24)
        self.out = nn.Linear(24, 7)

    def forward(self, x):
        h = self.patches(x).flatten(2).transpose(1, 2)
        h = h + self.tokens(self.norm1(h).transpose(1, 2)).transpose(1, 2)
        h = h + self.channels(self.norm2(h))
        return self.out(h.mean(1))


class AllTokens(nn.Module):
    """Linear and BatchNorm1d over the tokens of all samples."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(12, 8), nn.Linear(8, 3)
        self.norm = nn.BatchNorm1d(8)

    def forward(self, x):
        b, t, c = x.shape
        h = F.relu(self.norm(self.fc1(x.reshape(b * t, c))))
        return self.fc2(h).reshape(b, t, 3)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.boxes, self.classes = nn.Conv2d(16, 8, 1), nn.Conv2d(16, 6, 1)

    def forward(self, x):
        h = F.relu(self.conv(x))
        boxes = self.boxes(h).permute(0, 2, 3, 1).reshape(x.size(0), -1, 4)
        classes = self.classes(h).permute(0, 2, 3, 1).reshape(x.size(0), -1, 3)
        return boxes, classes.softmax(-1)


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.utils.parametrizations.weight_norm(nn.Conv1d(3, 8, 3))
        self.rest = nn.Sequential(nn.GroupNorm(2, 8), nn.PReLU(8),
                                  nn.InstanceNorm1d(8, affine=True))
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        return self.out(self.rest(self.conv(x)).amax(-1))


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1, padding_mode="reflect")
        self.shuffle = nn.PixelShuffle(2)
        self.last = nn.Conv2d(4, 3, 3, padding=1, padding_mode="replicate")

    def forward(self, x):
        y = self.last(self.shuffle(self.conv(x)))
        return torch.clamp(
            y + F.interpolate(x, scale_factor=2, mode="nearest"), 0, 1)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 16, 3, padding=2, dilation=2)
        self.out = nn.Linear(8, 2)

    def forward(self, x):
        return self.out(torch.tanh(F.glu(self.conv(x), dim=1))[:, :, -1])


class ResponseNorm(nn.Module):
    """Global response normalization of ConvNeXt V2, whose factors start as
    zeros."""

    def __init__(self, channels, factor):
        super().__init__()
        self.gamma = nn.Parameter(factor * torch.randn(1, 1, 1, channels))
        self.beta = nn.Parameter(factor * torch.randn(1, 1, 1, channels))

    def forward(self, x):
        g = torch.norm(x, p=2, dim=(1, 2), keepdim=True)
        return self.gamma * (x * (g / (g.mean(-1, keepdim=True) + 1e-6))) \
            + self.beta + x


class ConvNextV2(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 12, 4, 4)
        self.blocks = nn.ModuleList([nn.Sequential(
            nn.LayerNorm(12, eps=1e-6), nn.Linear(12, 48), nn.GELU(),
            ResponseNorm(48, factor), nn.Linear(48, 12))
            for factor in (0, 1)])
        self.near = nn.ModuleList([
            nn.Conv2d(12, 12, 7, padding=3, groups=12) for _ in range(2)])
        self.out = nn.Linear(12, 3)

    def forward(self, x):
        x = self.stem(x)
        for near, block in zip(self.near, self.blocks):
            y = block(near(x).permute(0, 2, 3, 1))
            x = x + y.permute(0, 3, 1, 2)
        return self.out(x.mean((-2, -1)))


class Masked(nn.Module):
    """Causal attention, written by hand."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(24, 72)
        self.out = nn.Linear(24, 24)
        self.register_buffer("mask", torch.tril(torch.ones(10, 10)))

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = (y.view(n, t, 3, c // 3).transpose(1, 2)
                   for y in self.qkv(x).split(c, dim=2))
        scores = q @ k.transpose(-2, -1) / (c // 3) ** 0.5
        scores = scores.masked_fill(self.mask[:t, :t] == 0, float("-inf"))
        y = scores.softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(n, t, c))


class Piecewise(nn.Module):
    """Piecewise functions, data-dependent masks, and GeM pooling."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 12, 3, padding=1)
        self.near = nn.Conv2d(12, 12, 5, padding=2, groups=12)
        self.out = nn.Linear(12, 4)

    def forward(self, x):
        x = self.conv(x)
        x = torch.where(x > 0, x, 0.2 * torch.sin(3 * x))
        y = self.near(x)
        keep = (y.abs() < 1.5) & ~(x >= y)
        x = torch.where(keep, x + y ** 3, x) - 0.1 * torch.sign(y)
        x = x.masked_fill(y.mean((2, 3), keepdim=True) < x, 0.25)
        return self.out(x.clamp(min=1e-3).pow(3).mean((2, 3)).pow(1 / 3))


class Queries(nn.Module):
    """DETR: learned queries attend to the positions of an image, tokens first.
    """

    def __init__(self):
        super().__init__()
        self.image = nn.Conv2d(3, 24, 8, stride=8)
        self.transformer = nn.Transformer(24, 3, 1, 2, 48)
        self.queries = nn.Embedding(5, 24)
        self.rows = nn.Parameter(torch.rand(4, 12))
        self.columns = nn.Parameter(torch.rand(6, 12))
        self.classes = nn.Linear(24, 7)
        self.boxes = nn.Linear(24, 4)

    def forward(self, x):
        h = self.image(x)
        position = torch.cat([
            self.columns.unsqueeze(0).repeat(4, 1, 1),
            self.rows.unsqueeze(1).repeat(1, 6, 1)], -1).flatten(0, 1)
        tokens = position.unsqueeze(1) + h.flatten(2).permute(2, 0, 1)
        queries = self.queries.weight.unsqueeze(1).repeat(1, x.size(0), 1)
        h = self.transformer(tokens, queries).transpose(0, 1)
        return self.classes(h), self.boxes(h).sigmoid()


class Anchors(nn.Module):
    """YOLO: positions and sizes from tables, padding by a constant."""

    def __init__(self):
        super().__init__()
        self.body = twice(3, 8)
        self.head = nn.Conv2d(8, 3 * 6, 4, stride=4)
        y, x = torch.meshgrid(torch.arange(4.), torch.arange(7.), indexing="ij")
        self.register_buffer("grid", torch.stack((x, y), 2).expand(1, 3, 4, 7, 2))
        self.register_buffer("sizes", torch.rand(1, 3, 1, 1, 2).expand(
            1, 3, 4, 7, 2).clone())
        self.register_buffer("border", torch.rand(4, 7) < 0.3)

    def forward(self, x):
        x = F.pad(x, (1, 3, 0, 0), value=0.5)
        y = self.head(self.body(x))
        n = y.size(0)
        y = y.view(n, 3, 6, 4, 7).permute(0, 1, 3, 4, 2).contiguous()
        xy, wh, rest = y.sigmoid().split((2, 2, 2), 4)
        xy = (xy * 2 + self.grid - 0.5) * 8
        wh = (wh * 2) ** 2 * self.sizes
        rest = torch.where(self.border[..., None], rest, torch.zeros_like(rest))
        return torch.cat((xy, wh, rest), 4).view(n, -1, 6)


class Registers(nn.Module):
    """Several learned tokens in front of the image's, and scores of rotated
    queries and keys, as in DINOv3 and language models."""

    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(12, 24)
        self.tokens = nn.Parameter(torch.randn(1, 4, 24) * 0.1)
        self.qkv = nn.Linear(24, 24 + 2 * 12)
        angles = torch.outer(torch.arange(14.), 1e2 ** -torch.arange(0, 1, .5))
        self.register_buffer("sin", angles.sin().repeat(1, 3)[:, :6])
        self.register_buffer("cos", angles.cos().repeat(1, 3)[:, :6])
        self.out = nn.Linear(24, 5)

    def rotated(self, x):
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat((-b, a), -1) * self.sin

    def forward(self, x):
        h = self.proj(x)
        h = torch.cat((self.tokens.expand(h.size(0), -1, -1), h), 1)
        n, t, c = h.shape
        q, k, v = self.qkv(h).split((24, 12, 12), -1)
        q = self.rotated(q.view(n, t, 4, 6).transpose(1, 2))
        k = self.rotated(k.view(n, t, 2, 6).transpose(1, 2))
        v = v.view(n, t, 2, 6).transpose(1, 2)
        k, v = (z.repeat_interleave(2, 1) for z in (k, v))
        h = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        return self.out(h.reshape(n, t, c)[:, 4:].mean(1))


class Upsampled(nn.Module):
    """Interpolation in PyTorch's modes."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, 2, 1)
        self.up = nn.Upsample(scale_factor=2, mode="bilinear",
                              align_corners=True)
        self.out = nn.Conv2d(8, 4, 1)

    def forward(self, x):
        h = F.relu(self.first(x))
        h = self.out(self.up(h) + F.interpolate(h, size=x.shape[2:],
                                                mode="bicubic"))
        return F.interpolate(h, size=(11, 20), mode="bilinear",
                             align_corners=True)


def tabular():
    return nn.Sequential(
        nn.BatchNorm1d(13), nn.Linear(13, 64), nn.ELU(), nn.LayerNorm(64),
        nn.Linear(64, 64), nn.Hardswish(), nn.Dropout(0.1), nn.Linear(64, 2))


NETWORKS = {
    "anchors": (Anchors, (3, 16, 24)),
    "all_tokens": (AllTokens, (9, 12)),
    "causal": (lambda: DotProductAttention(True), (10, 24)),
    "convnext_v2": (ConvNextV2, (3, 32, 48)),
    "detector": (Detector, (3, 32, 48)),
    "digits": (Digits, (1, 28, 32)),
    "encoder": (lambda: Encoder(True), (20, 12)),
    "encoder_tokens_first": (lambda: Encoder(False), (20, 12)),
    "gated": (Gated, (4, 30)),
    "masked": (Masked, (10, 24)),
    "mixer": (Mixer, (3, 32, 48)),
    "norms": (Norms, (3, 20)),
    "piecewise": (Piecewise, (3, 16, 24)),
    "queries": (Queries, (3, 32, 48)),
    "registers": (Registers, (10, 12)),
    "scaled_dot_product": (lambda: DotProductAttention(False), (10, 24)),
    "self_attention": (SelfAttention, (10, 24)),
    "signal": (Signal, (3, 50)),
    "squeeze_excite": (SqueezeExcite, (3, 16, 24)),
    "super_resolution": (SuperResolution, (3, 16, 24)),
    "tabular": (tabular, (13,)),
    "upsampled": (Upsampled, (3, 16, 24)),
    "unet": (lambda: UNet(True), (3, 32, 48)),
    "unet_interpolated": (lambda: UNet(False), (3, 32, 48)),
}

# torchvision networks, with random weights; image size.
TORCHVISION = {
    "convnext_tiny": 64, "densenet121": 64, "efficientnet_b0": 64,
    "googlenet": 64, "inception_v3": 299, "maxvit_t": 224, "mnasnet0_5": 64,
    "mobilenet_v2": 64, "mobilenet_v3_small": 64, "regnet_y_400mf": 64,
    "resnet18": 64, "resnext50_32x4d": 64, "shufflenet_v2_x0_5": 64,
    "squeezenet1_1": 64, "swin_t": 64, "swin_v2_t": 64,
    "vit_b_16": 224,
}
