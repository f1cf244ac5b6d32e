"""Lines of code on larger arrays, and layers of many shapes, forward and backward, timed in PyTorch and here.

    python -m benchmarks.large
    python -m benchmarks.large --only Conv
"""

from .compare import Run, main
from .lines import run_of

LINES = """
x.t().contiguous() * 2
x.t() + y
images.permute(0, 2, 3, 1).contiguous()
images.permute(0, 2, 3, 1) * channels.permute(1, 2, 0)
heads.transpose(1, 2).reshape(64, 64, 32)
F.layer_norm(images.permute(0, 2, 3, 1), (32,))
images.flip(-1)
torch.roll(images, (3, 3), (2, 3))
torch.cat([images, images], dim=1)
F.pad(images, (1, 1, 1, 1))
F.pad(images, (1, 1, 1, 1), mode='reflect')
F.interpolate(images, scale_factor=2, mode='nearest')
F.interpolate(images, scale_factor=2, mode='bilinear')
F.unfold(images, 3, padding=1)
x.abs()
p.rsqrt()
p.log1p()
x / p
x ** 3
torch.sin(x)
F.gelu(x)
torch.where(x > 0, x, y)
x.softmax(dim=-1)
x.sum(dim=0)
x.var(dim=1)
x.std()
x.cumsum(1)
(x * 0.01 + 1).cumprod(1)
x.max(dim=1)[0]
x.topk(10)[0]
x.gather(1, columns)
torch.zeros(512, 512).index_add(0, rows, x)
F.cross_entropy(x, labels)
F.cross_entropy(images, classes)
F.l1_loss(x, y)
torch.cdist(x, y)
heads @ heads.transpose(-2, -1)
F.scaled_dot_product_attention(heads, heads, heads)
nn.Conv2d(32, 64, 3, padding=1)(images)
nn.Conv2d(32, 64, 3, stride=2, padding=1)(images)
nn.Conv2d(32, 64, 5, padding=2)(images)
nn.Conv2d(32, 128, 1)(images)
nn.Conv2d(32, 32, 7, padding=3, groups=32)(images)
nn.Conv2d(32, 32, 3, padding=2, dilation=2)(images)
nn.Conv2d(3, 64, 7, stride=2, padding=3)(photos)
nn.ConvTranspose2d(32, 16, 4, 2, 1)(images)
nn.ConvTranspose2d(100, 128, 4)(noise)
nn.Conv1d(32, 64, 3, padding=4, dilation=4)(signal)
nn.Conv3d(8, 16, 3, padding=1)(volume)
nn.BatchNorm2d(32)(images)
nn.GroupNorm(8, 32)(images)
nn.InstanceNorm2d(32, affine=True)(images)
nn.MaxPool2d(2)(images)
nn.AvgPool2d(2)(images)
nn.Linear(512, 512)(x)
nn.LSTM(64, 128, batch_first=True)(sequence)[0]
nn.GRU(64, 128, batch_first=True)(sequence)[0]
nn.MultiheadAttention(64, 4, batch_first=True)(sequence, sequence, sequence)[0]
nn.TransformerEncoderLayer(64, 4, 256, 0.0, batch_first=True)(sequence)
""".strip().splitlines()

FLOATS = {"x": (512, 512), "y": (512, 512), "p": (512, 512), "images": (16, 32, 32, 32), "channels": (32, 32, 32),
          "places": (16, 32, 32, 2), "heads": (16, 64, 4, 32), "photos": (8, 3, 64, 64), "noise": (64, 100, 1, 1),
          "signal": (16, 32, 256), "volume": (4, 8, 16, 16, 16), "sequence": (32, 50, 64)}
INTEGERS = {"labels": (512, (512,)), "rows": (512, (512,)), "columns": (512, (512, 20)), "classes": (32, (16, 32, 32))}


def make(library: str, number: int) -> Run:
    return run_of(library, LINES[number], FLOATS, INTEGERS)


if __name__ == "__main__":
    main("large", ("ours", "torch"), lambda: LINES, make, f"{'us':>10}",
         lambda number, seconds: f"{seconds['ours'] * 1e6:10.1f}", rounds=3, budget=0.08)
