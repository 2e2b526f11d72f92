"""Names of the classes that the published weights know."""

from functools import cache
from pathlib import Path


@cache
def categories(which):
    """The list of class names of 'imagenet' (1000), 'kinetics' (400), 'voc' (21), 'coco' (91) or 'coco_person' (2)."""
    if which in ("imagenet", "kinetics"):
        return (Path(__file__).parent / f"{which}_classes.txt").read_text().splitlines()
    return {"voc": _VOC_CATEGORIES, "coco": _COCO_CATEGORIES, "coco_person": _COCO_PERSON_CATEGORIES}[which]


def keypoint_names(which):
    """The list of the joints of 'coco_person' (17)."""
    return {"coco_person": _COCO_PERSON_KEYPOINT_NAMES}[which]


_VOC_CATEGORIES = [
    "__background__",
    *[
        "aeroplane",
        "bicycle",
        "bird",
        "boat",
        "bottle",
        "bus",
        "car",
        "cat",
        "chair",
        "cow",
        "diningtable",
        "dog",
        "horse",
        "motorbike",
        "person",
        "pottedplant",
        "sheep",
        "sofa",
        "train",
        "tvmonitor",
    ],
]
_COCO_PERSON_CATEGORIES = ["no person", "person"]
_PAIRED = ("eye", "ear", "shoulder", "elbow", "wrist", "hip", "knee", "ankle")
_COCO_PERSON_KEYPOINT_NAMES = ["nose", *(f"{side}_{part}" for part in _PAIRED for side in ("left", "right"))]
# by COCO's numbers, of which 11 were never given to a class
_COCO_CATEGORIES = [
    "__background__",
    "person",
    "bicycle",
    "car",
    "motorcycle",
    "airplane",
    "bus",
    "train",
    "truck",
    "boat",
    "traffic light",
    "fire hydrant",
    "N/A",
    "stop sign",
    "parking meter",
    "bench",
    "bird",
    "cat",
    "dog",
    "horse",
    "sheep",
    "cow",
    "elephant",
    "bear",
    "zebra",
    "giraffe",
    "N/A",
    "backpack",
    "umbrella",
    "N/A",
    "N/A",
    "handbag",
    "tie",
    "suitcase",
    "frisbee",
    "skis",
    "snowboard",
    "sports ball",
    "kite",
    "baseball bat",
    "baseball glove",
    "skateboard",
    "surfboard",
    "tennis racket",
    "bottle",
    "N/A",
    "wine glass",
    "cup",
    "fork",
    "knife",
    "spoon",
    "bowl",
    "banana",
    "apple",
    "sandwich",
    "orange",
    "broccoli",
    "carrot",
    "hot dog",
    "pizza",
    "donut",
    "cake",
    "chair",
    "couch",
    "potted plant",
    "bed",
    "N/A",
    "dining table",
    "N/A",
    "N/A",
    "toilet",
    "N/A",
    "tv",
    "laptop",
    "mouse",
    "remote",
    "keyboard",
    "cell phone",
    "microwave",
    "oven",
    "toaster",
    "sink",
    "refrigerator",
    "N/A",
    "book",
    "clock",
    "vase",
    "scissors",
    "teddy bear",
    "hair drier",
    "toothbrush",
]


def __getattr__(name):
    if name in ("_IMAGENET_CATEGORIES", "_KINETICS400_CATEGORIES"):
        return categories("imagenet" if name == "_IMAGENET_CATEGORIES" else "kinetics")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
