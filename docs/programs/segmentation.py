"""A small encoder and decoder with skips that labels pixels, with mixed precision switched off."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.amp import GradScaler, autocast

use_amp = torch.cuda.is_available()


def conv_bn_relu(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class Segmenter(nn.Module):
    def __init__(self, classes, width=8, learned=True):
        super().__init__()
        self.enc1, self.enc2 = conv_bn_relu(3, width), conv_bn_relu(width, 2 * width)
        self.mid = conv_bn_relu(2 * width, 2 * width)
        if learned:
            self.up = nn.ConvTranspose2d(2 * width, width, kernel_size=2, stride=2)
        else:
            self.up = nn.Sequential(nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True),
                                    nn.Conv2d(2 * width, width, 1))
        self.dec = conv_bn_relu(2 * width, width)
        self.head = nn.Conv2d(width, classes, kernel_size=1)

    def forward(self, x):
        skip = self.enc1(x)
        y = self.up(self.mid(self.enc2(F.max_pool2d(skip, 2))))
        dh, dw = skip.size(2) - y.size(2), skip.size(3) - y.size(3)
        y = F.pad(y, [dw // 2, dw - dw // 2, dh // 2, dh - dh // 2])
        return self.head(self.dec(torch.cat([skip, y], dim=1)))


def soft_dice(probs, target, eps=1e-6):
    overlap = (probs * target).sum(dim=(-1, -2))
    total = probs.sum(dim=(-1, -2)) + target.sum(dim=(-1, -2))
    total = torch.where(total == 0, 2 * overlap, total)
    return 1 - ((2 * overlap + eps) / (total + eps)).mean()


def build():
    return {"learned": Segmenter(3), "bilinear": Segmenter(3, learned=False)}


def train(modules):
    losses = []
    grid = torch.arange(19.).view(1, 1, 1, -1) + torch.arange(14.).view(1, 1, -1, 1)
    images = torch.cat([torch.sin(grid * f / 5) for f in (1, 2, 3)], dim=1).repeat(2, 1, 1, 1)
    masks = (grid[:, 0] % 3).repeat(2, 1, 1).to(dtype=torch.long)
    for model in modules.values():
        model = model.to(memory_format=torch.channels_last)
        optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, weight_decay=1e-8, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode='max', factor=0.5, patience=1)
        scaler = GradScaler('cuda', enabled=use_amp)
        for epoch in range(4):
            model.train()
            with autocast('cpu', enabled=use_amp):
                logits = model(images)
                loss = nn.CrossEntropyLoss()(logits, masks)
                loss += soft_dice(F.softmax(logits, dim=1), F.one_hot(masks, 3).permute(0, 3, 1, 2).float())
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
            model.eval()
            with torch.inference_mode():
                right = (model(images).argmax(dim=1) == masks).float().mean()
            scheduler.step(right)
            losses.append(optimizer.param_groups[0]['lr'])
        assert not any((torch.isinf(p.grad) | torch.isnan(p.grad)).any() for p in model.parameters())
    return losses
