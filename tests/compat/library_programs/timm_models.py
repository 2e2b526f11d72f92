"""Three training steps of small members of timm's families."""

import fixed
import timm
import torch

FAMILIES = {
    "resnet18": {},
    "resnet50": {},
    "resnext50_32x4d": {},
    "densenet121": {},
    "regnety_002": {},
    "efficientnet_b0": {},
    "mobilenetv3_small_100": {},
    "ghostnet_100": {},
    "convnext_atto": {},
    "convnextv2_atto": {},
    "vgg11_bn": {},
    "vit_tiny_patch16_224": {"img_size": 32, "depth": 2},
    "deit_tiny_patch16_224": {"img_size": 32, "depth": 2},
    "deit3_small_patch16_224": {"img_size": 32, "depth": 2},
    "swin_tiny_patch4_window7_224": {"img_size": 32, "window_size": 2, "embed_dim": 24, "depths": (2, 2), "num_heads": (2, 4)},
    "swinv2_tiny_window8_256": {"img_size": 32, "window_size": 2, "embed_dim": 24, "depths": (2, 2), "num_heads": (2, 4)},
    "mixer_s32_224": {"img_size": 32},
    "resmlp_12_224": {"img_size": 32},
    "gmlp_ti16_224": {"img_size": 32},
    "beit_base_patch16_224": {"img_size": 32, "depth": 2, "embed_dim": 48, "num_heads": 3},
    "eva02_tiny_patch14_224": {"img_size": 28, "depth": 2},
    "cait_xxs24_224": {"img_size": 32, "depth": 2},
    "xcit_nano_12_p16_224": {"img_size": 32, "depth": 2},
    "poolformer_s12": {},
    "maxvit_rmlp_pico_rw_256": {"img_size": 64},
    "levit_128s": {},
    "mobilevit_xxs": {},
    "repvgg_a0": {},
    "nfnet_f0": {},
    "edgenext_xx_small": {},
    "pvt_v2_b0": {},
    "twins_svt_small": {"img_size": 32},
    "visformer_tiny": {"img_size": 32},
    "fastvit_t8": {},
    "mambaout_femto": {},
    "hiera_tiny_224": {"img_size": 64},
}


def family(name):
    options = FAMILIES[name]
    size = options.get("img_size", 64)
    images, labels = fixed.numbers(2, 3, size, size), torch.tensor([1, 3])
    return fixed.both(
        lambda: timm.create_model(name, num_classes=5, **options),
        lambda model: torch.nn.functional.cross_entropy(model(images), labels),
        lambda model: torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9),
    )


fixed.main({name: (lambda name=name: family(name)) for name in FAMILIES})
