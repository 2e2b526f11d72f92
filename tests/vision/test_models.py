"""Models against torchvision's: parameters, state dicts, seeded weights, outputs; and the functions that find them."""

import hashlib
import json
import warnings
from pathlib import Path

import pytest
from rushlight.vision import models
from rushlight.vision.models._utils import IntermediateLayerGetter
from rushlight.vision.models.feature_extraction import create_feature_extractor, get_graph_node_names

import rushlight as torch
from rushlight import nn

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "vision_models.json").read_text())


@pytest.mark.parametrize("name", GOLDEN)
def test_model_is_torchvisions(name):
    golden = GOLDEN[name]
    torch.manual_seed(3)
    model = models.get_model(name, **golden["options"]).eval()
    state = model.state_dict()
    described = [(key, list(value.shape), str(value.dtype).split(".")[-1]) for key, value in state.items()]
    assert sum(p.numel() for p in model.parameters()) == golden["parameters"]
    assert hashlib.sha256(json.dumps(described).encode()).hexdigest() == golden["state"]
    assert float(torch.rand(1)) == golden["after"]
    assert sum(float(value.double().sum()) for value in state.values()) == pytest.approx(golden["sum"], rel=1e-4)
    with torch.no_grad():
        out = model(torch.randn(1, 3, golden["size"], golden["size"]))
    out = out["out"] if isinstance(out, dict) else out
    found = [float(value) for value in out.flatten()[:6]] + [float(out.double().abs().sum())]
    assert found == pytest.approx(golden["output"], rel=2e-3, abs=1e-6)


@pytest.mark.parametrize("name", [name for name in GOLDEN if name not in ("fcn_resnet50",)])
def test_published_weights_say_how_many_parameters(name):
    enum = models.get_model_weights(name)
    assert issubclass(enum, models.WeightsEnum)
    counts = {member.meta["num_params"] for member in enum}
    if name in ("googlenet", "deeplabv3_mobilenet_v3_large"):  # counted without, or with, the auxiliary head
        assert counts != set()
    else:
        assert counts == {GOLDEN[name]["parameters"]}


DOCUMENTED = {
    "alexnet": 61100840,
    "resnet18": 11689512,
    "resnet34": 21797672,
    "resnet101": 44549160,
    "resnet152": 60192808,
    "vgg11": 132863336,
    "vgg16_bn": 138365992,
    "densenet121": 7978856,
    "efficientnet_b7": 66347960,
    "regnet_y_128gf": 644812894,
    "vit_b_16": 86567656,
    "swin_v2_b": 87930848,
}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_documented_counts(name):
    assert DOCUMENTED[name] in {member.meta["num_params"] for member in models.get_model_weights(name)}


def test_the_imagenet_examples_listing():
    names = sorted(
        name
        for name in models.__dict__
        if name.islower() and not name.startswith("__") and callable(models.__dict__[name])
    )
    assert {"resnet18", "vgg16_bn", "vit_b_16", "regnet_y_400mf", "swin_t", "mobilenet_v2"} <= set(names)
    assert not {"segmentation", "resnet", "vgg"} & set(names)
    assert models.__dict__["resnet18"]().fc.out_features == 1000


def test_models_by_name():
    assert models.list_models(include="resnet*", exclude=["*152", "*101"]) == ["resnet18", "resnet34", "resnet50"]
    assert "fcn_resnet50" in models.list_models(models.segmentation)
    assert models.get_model("SqueezeNet1_1", num_classes=3).num_classes == 3
    with pytest.raises(ValueError, match="Unknown model nosuch"):
        models.get_model("nosuch")


def test_weights_by_name():
    weights = models.get_weight("ResNet50_Weights.IMAGENET1K_V2")
    assert weights is models.ResNet50_Weights.DEFAULT and repr(weights) == "ResNet50_Weights.IMAGENET1K_V2"
    assert weights.url.endswith("resnet50-11ad3fa6.pth")
    assert len(weights.meta["categories"]) == 1000 and weights.meta["categories"][281] == "tabby"
    assert models.ResNet50_Weights.verify("IMAGENET1K_V1") is models.ResNet50_Weights.IMAGENET1K_V1
    with pytest.raises(ValueError, match="Invalid weight name"):
        models.get_weight("ResNet50_Weights")
    with pytest.raises(ValueError, match="couldn't be retrieved"):
        models.get_weight("Nosuch_Weights.V1")
    with pytest.raises(TypeError, match="Invalid Weight class provided"):
        models.resnet18(weights=models.ResNet50_Weights.DEFAULT)


def test_transforms_of_weights():
    transforms = models.ResNet50_Weights.IMAGENET1K_V2.transforms()
    assert (transforms.crop_size, transforms.resize_size) == ([224], [232])
    out = transforms(torch.zeros(3, 300, 260, dtype=torch.uint8))
    assert out.shape == (3, 224, 224)
    assert out[:, 0, 0].tolist() == pytest.approx([-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225], rel=1e-5)


def test_local_weights_load_through_the_hubs_folder(tmp_path, monkeypatch):
    """weights= takes a file that is in the hub's folder already."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    torch.manual_seed(11)
    model = models.squeezenet1_1()
    name = models.SqueezeNet1_1_Weights.IMAGENET1K_V1.url.rpartition("/")[2]
    torch.save(model.state_dict(), folder / name)
    again = models.squeezenet1_1(weights="DEFAULT")
    assert all((a == b).all() for a, b in zip(model.parameters(), again.parameters(), strict=True))


def test_older_arguments():
    with pytest.warns(UserWarning) as caught:
        model = models.squeezenet1_1(pretrained=False)
    assert isinstance(model, models.SqueezeNet)
    assert ["'pretrained' is deprecated" in str(w.message) for w in caught] == [True, False]
    with pytest.warns(UserWarning, match="positional parameter"):
        models.squeezenet1_1(None)
    with pytest.raises(ValueError, match="No weights available"), pytest.warns(UserWarning):
        models.vit_h_14(pretrained=True)


def test_options_that_weights_determine():
    with pytest.raises(ValueError, match="'num_classes' expected value 1000 but got 10"):
        models.resnet18(weights="DEFAULT", num_classes=10)
    with pytest.raises(ValueError, match="'groups' expected value 32 but got 2"):
        models.resnext50_32x4d(groups=2)


@pytest.mark.parametrize("name", ["resnet18", "shufflenet_v2_x0_5", "squeezenet1_1", "mobilenet_v3_small"])
def test_a_training_step_lowers_the_loss(name):
    torch.manual_seed(0)
    model = models.get_model(name, num_classes=4)
    images, labels = torch.randn(4, 3, 64, 64), torch.arange(4)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_auxiliary_outputs_in_training():
    with pytest.warns(FutureWarning, match="init_weights"):
        model = models.googlenet(num_classes=3)
    out = model(torch.randn(2, 3, 64, 64))
    assert isinstance(out, models.GoogLeNetOutputs) and [part.shape for part in out] == [(2, 3)] * 3
    model = models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5)
    assert model(torch.randn(2, 3, 64, 48))["out"].shape == (2, 5, 64, 48)


def test_densenet_reads_the_older_keys():
    model = models.densenet121(num_classes=2)
    older = {
        key.replace("norm1", "norm.1").replace("conv2", "conv.2"): value for key, value in model.state_dict().items()
    }
    assert set(older) != set(model.state_dict())
    assert str(model.load_state_dict(older)) == "<All keys matched successfully>"


def test_layers_by_name():
    backbone = IntermediateLayerGetter(models.resnet18(), {"layer1": "low", "layer3": "high"})
    out = backbone(torch.randn(1, 3, 64, 64))
    assert {name: tuple(value.shape) for name, value in out.items()} == {"low": (1, 64, 16, 16), "high": (1, 256, 4, 4)}
    assert "layer4" not in backbone
    with pytest.raises(ValueError, match="not present"):
        IntermediateLayerGetter(models.resnet18(), {"nosuch": "x"})


def test_feature_extraction():
    model = models.resnet18().eval()
    extractor = create_feature_extractor(model, {"layer1": "low", "layer4.1.relu": "high"})
    image = torch.randn(1, 3, 64, 64)
    out = extractor(image)
    expected = model.layer1(model.maxpool(model.relu(model.bn1(model.conv1(image)))))
    assert (out["low"] == expected).all() and out["high"].shape == (1, 512, 2, 2)
    assert list(extractor.state_dict()) == list(model.state_dict())
    assert "layer2.0.conv1" in get_graph_node_names(model)[0]
    with pytest.raises(ValueError, match="node: 'nosuch' is not present"):
        create_feature_extractor(model, ["nosuch"])


@pytest.mark.parametrize(
    "call",
    [
        lambda: models.quantization.resnet18(),
        lambda: models.video.r3d_18(),
        lambda: models.optical_flow.raft_small(),
    ],
)
def test_absent_models_raise_by_name(call):
    with pytest.raises(NotImplementedError, match=r"torchvision\.models\."):
        call()


def test_positions_of_a_vision_transformer_interpolate():
    from rushlight.vision.models.vision_transformer import VisionTransformer, interpolate_embeddings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small = VisionTransformer(32, 8, 1, 2, 16, 32, num_classes=3)
    state = interpolate_embeddings(64, 8, small.state_dict(), reset_heads=True)
    large = VisionTransformer(64, 8, 1, 2, 16, 32, num_classes=5)
    missing = large.load_state_dict(state, strict=False)
    assert missing.missing_keys == ["heads.head.weight", "heads.head.bias"]
    assert large(torch.randn(2, 3, 64, 64)).shape == (2, 5)
