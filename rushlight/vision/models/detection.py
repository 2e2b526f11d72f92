"""Models that find objects: not implemented, each raises when called."""

from rushlight.vision.models._absent import absent

__all__ = [
    "FCOS",
    "SSD",
    "FasterRCNN",
    "KeypointRCNN",
    "MaskRCNN",
    "RetinaNet",
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "fasterrcnn_mobilenet_v3_large_fpn",
    "fasterrcnn_resnet50_fpn",
    "fasterrcnn_resnet50_fpn_v2",
    "fcos_resnet50_fpn",
    "keypointrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn_v2",
    "retinanet_resnet50_fpn",
    "retinanet_resnet50_fpn_v2",
    "ssd300_vgg16",
    "ssdlite320_mobilenet_v3_large",
]

FCOS = absent("detection", "FCOS")
FasterRCNN = absent("detection", "FasterRCNN")
KeypointRCNN = absent("detection", "KeypointRCNN")
MaskRCNN = absent("detection", "MaskRCNN")
RetinaNet = absent("detection", "RetinaNet")
SSD = absent("detection", "SSD")
fasterrcnn_mobilenet_v3_large_320_fpn = absent("detection", "fasterrcnn_mobilenet_v3_large_320_fpn")
fasterrcnn_mobilenet_v3_large_fpn = absent("detection", "fasterrcnn_mobilenet_v3_large_fpn")
fasterrcnn_resnet50_fpn = absent("detection", "fasterrcnn_resnet50_fpn")
fasterrcnn_resnet50_fpn_v2 = absent("detection", "fasterrcnn_resnet50_fpn_v2")
fcos_resnet50_fpn = absent("detection", "fcos_resnet50_fpn")
keypointrcnn_resnet50_fpn = absent("detection", "keypointrcnn_resnet50_fpn")
maskrcnn_resnet50_fpn = absent("detection", "maskrcnn_resnet50_fpn")
maskrcnn_resnet50_fpn_v2 = absent("detection", "maskrcnn_resnet50_fpn_v2")
retinanet_resnet50_fpn = absent("detection", "retinanet_resnet50_fpn")
retinanet_resnet50_fpn_v2 = absent("detection", "retinanet_resnet50_fpn_v2")
ssd300_vgg16 = absent("detection", "ssd300_vgg16")
ssdlite320_mobilenet_v3_large = absent("detection", "ssdlite320_mobilenet_v3_large")
