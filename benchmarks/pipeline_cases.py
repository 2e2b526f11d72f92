"""What surrounds the steps of training: samples prepared by tensor operators, batches put together, results looked at."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

SAMPLES, BATCH = 32, 16


def cases(torch) -> dict[str, Callable[[], object]]:
    """Name -> one pass: an epoch of a small loader in this process, or one evaluation."""
    torch.manual_seed(0)
    random.seed(0)
    return {**_of_samples(torch), **_of_results(torch)}


def _loop(torch, sample: Callable, collate: Callable | None = None) -> Callable[[], object]:
    """An epoch of a loader whose samples the function makes of their number."""

    class Samples(torch.utils.data.Dataset):
        def __len__(self):
            return SAMPLES

        def __getitem__(self, i):
            return sample(i)

    loader = torch.utils.data.DataLoader(Samples(), BATCH, shuffle=True, collate_fn=collate)

    def epoch() -> None:
        for _ in loader:
            pass

    return epoch


def _of_samples(torch) -> dict[str, Callable[[], object]]:
    F = torch.nn.functional
    pixels = np.random.default_rng(0).integers(0, 256, (SAMPLES, 32, 32, 3), dtype=np.uint8)
    mean, std = torch.tensor([0.49, 0.48, 0.44]).view(3, 1, 1), torch.tensor([0.2, 0.2, 0.2]).view(3, 1, 1)

    def image(i):
        x = (torch.from_numpy(pixels[i]).permute(2, 0, 1).float().div(255) - mean) / std
        if torch.rand(1).item() < 0.5:
            x = x.flip(-1)
        top, left = torch.randint(0, 9, (2,)).tolist()
        return F.pad(x, (4, 4, 4, 4))[:, top : top + 32, left : left + 32], i % 10

    def turned(i):
        x = torch.from_numpy(pixels[i]).permute(2, 0, 1).contiguous().float() / 255.0
        x = (x * (1 + (torch.rand(1) - 0.5) * 0.4)).clamp(0, 1)
        angle = (torch.rand(1) - 0.5) * 0.5
        cos, sin, zero = angle.cos(), angle.sin(), torch.zeros(1)
        theta = torch.stack([torch.cat([cos, -sin, zero]), torch.cat([sin, cos, zero])])[None]
        grid = F.affine_grid(theta, (1, 3, 32, 32), align_corners=False)
        return F.grid_sample(x[None], grid, align_corners=False)[0], i % 10

    pictures, masks = torch.rand(SAMPLES, 1, 64, 64), torch.randint(0, 2, (SAMPLES, 64, 64))

    def segmented(i):
        x, mask = pictures[i], masks[i]
        if random.random() < 0.5:
            x, mask = torch.flip(x, [2]), torch.flip(mask, [1])
        turns = random.randint(0, 3)
        x, mask = torch.rot90(x, turns, [1, 2]), torch.rot90(mask, turns, [0, 1])
        return {"image": torch.clamp(x + torch.randn_like(x) * 0.05, 0, 1), "mask": mask}

    waves, window = [torch.randn(random.randint(3000, 8000)) for _ in range(SAMPLES)], torch.hann_window(256)

    def spectrum(i):
        wave = waves[i][:4000] if len(waves[i]) > 4000 else F.pad(waves[i], (0, 4000 - len(waves[i])))
        power = torch.stft(wave, 256, 128, window=window, return_complex=True).abs().pow(2)
        return torch.log(power + 1e-6).unsqueeze(0), i % 10

    words = torch.randint(5, 5000, (SAMPLES * 64,))

    def masked(i):
        x = words[i * 64 : i * 64 + 64].clone()
        labels, chosen = x.clone(), torch.bernoulli(torch.full(x.shape, 0.15)).bool()
        labels[~chosen] = -100
        hidden = torch.bernoulli(torch.full(x.shape, 0.8)).bool() & chosen
        x[hidden] = 4
        return x, labels

    sentences = [torch.randint(0, 1000, (random.randint(5, 60),)) for _ in range(SAMPLES)]

    def padded(batch):
        inputs, labels = zip(*batch, strict=True)
        lengths = torch.tensor([len(x) for x in inputs])
        return torch.nn.utils.rnn.pad_sequence(inputs, batch_first=True), torch.stack(labels), lengths

    series = torch.randn(400, 7)

    def standardised(i):
        x, y = series[i : i + 96], series[i + 96 : i + 120]
        mean, std = x.mean(0, keepdim=True), x.std(0, keepdim=True) + 1e-5
        return (x - mean) / std, (y - mean) / std

    return {
        "images, cropped": _loop(torch, image),
        "images, turned": _loop(torch, turned),
        "images and masks": _loop(torch, segmented),
        "spectra": _loop(torch, spectrum),
        "masked words": _loop(torch, masked),
        "padded sentences": _loop(torch, lambda i: (sentences[i], torch.tensor(i % 5)), padded),
        "series": _loop(torch, standardised),
    }


def _of_results(torch) -> dict[str, Callable[[], object]]:
    scores, labels = torch.randn(64, 10), torch.randint(0, 10, (64,))
    counts = torch.zeros(10, 10, dtype=torch.int64)
    answers = scores.argmax(1)
    network = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    averages = [p.detach().clone() for p in network.parameters()]

    def confusion():
        for label, answer in zip(labels, answers, strict=True):
            counts[label, answer] += 1

    def among_five():
        best = scores.topk(5, 1, True, True)[1].t()
        right = best.eq(labels.view(1, -1).expand_as(best))
        return [right[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100 / 64).item() for k in (1, 5)]

    def average():
        with torch.no_grad():
            for mean, p in zip(averages, network.parameters(), strict=True):
                mean.mul_(0.99).add_(p, alpha=0.01)

    def returns():
        advantages, values, last = torch.zeros(32), torch.linspace(0, 1, 33), 0.0
        for t in reversed(range(32)):
            last = 1.0 + 0.99 * values[t + 1] - values[t] + 0.95 * 0.99 * last
            advantages[t] = last
        return (advantages - advantages.mean()) / (advantages.std() + 1e-8)

    return {
        "confusion matrix": confusion,
        "right among five": among_five,
        "moving average": average,
        "advantages": returns,
    }
