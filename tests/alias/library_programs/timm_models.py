"""Three training steps of small members of timm's families."""

import fixed
import timm
import torch

FAMILIES = {
    "resnet18": {},
    "resnet50": {},
    "densenet121": {},
    "regnety_002": {},
    "efficientnet_b0": {},
    "mobilenetv3_small_100": {},
    "ghostnet_100": {},
    "convnext_atto": {},
    "convnextv2_atto": {},
    "vit_tiny_patch16_224": {"img_size": 32, "depth": 2},
    "deit_tiny_patch16_224": {"img_size": 32, "depth": 2},
    "swin_tiny_patch4_window7_224": {
        "img_size": 32,
        "window_size": 2,
        "embed_dim": 24,
        "depths": (2, 2),
        "num_heads": (2, 4),
    },
    "swinv2_tiny_window8_256": {
        "img_size": 32,
        "window_size": 2,
        "embed_dim": 24,
        "depths": (2, 2),
        "num_heads": (2, 4),
    },
    "mixer_s32_224": {"img_size": 32},
    "resmlp_12_224": {"img_size": 32},
    "gmlp_ti16_224": {"img_size": 32},
    "beit_base_patch16_224": {"img_size": 32, "depth": 2, "embed_dim": 48, "num_heads": 3},
    "eva02_tiny_patch14_224": {"img_size": 28, "depth": 2},
    "cait_xxs24_224": {"img_size": 32, "depth": 2},
    "poolformer_s12": {},
    "mobilevit_xxs": {},
    "repvgg_a0": {},
    "nf_regnet_b0": {},
    "pvt_v2_b0": {},
    "fastvit_t8": {},
}


def family(name):
    options = FAMILIES[name]
    size = options.get("img_size", 64)
    images, labels = fixed.numbers(2, 3, size, size), torch.tensor([1, 3])
    return fixed.both(
        lambda: timm.create_model(name, num_classes=5, **options),
        lambda model: torch.nn.functional.cross_entropy(model(images), labels),
        lambda model: torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9),
        longest=1.0,
    )


fixed.main({name: (lambda name=name: family(name)) for name in FAMILIES})
