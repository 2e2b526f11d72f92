"""torchvision's data sets that Rushlight does not have: their names exist, making one raises NotImplementedError."""

from rushlight_vision.datasets.vision import VisionDataset


def _absent(name, what):
    def __init__(self, *args, **kwargs):
        raise NotImplementedError(f"torchvision.datasets.{name} ({what}) is not implemented in Rushlight")

    body = {"__init__": __init__, "__module__": __name__, "__doc__": f"{what}. Not implemented: raises when made."}
    return type(name, (VisionDataset,), body)


Cityscapes = _absent("Cityscapes", "street scenes with outlines")
HMDB51 = _absent("HMDB51", "films, which need a video reader")
INaturalist = _absent("INaturalist", "photographs of species")
Kinetics = _absent("Kinetics", "films, which need a video reader")
Kitti = _absent("Kitti", "street scenes with boxes")
LFWPairs = _absent("LFWPairs", "pairs of faces")
LFWPeople = _absent("LFWPeople", "faces with names")
PCAM = _absent("PCAM", "tissue in HDF5 files")
PhotoTour = _absent("PhotoTour", "corresponding image patches")
SBU = _absent("SBU", "photographs with captions, fetched one by one")
UCF101 = _absent("UCF101", "films, which need a video reader")
WIDERFace = _absent("WIDERFace", "photographs with boxes of faces")
FlyingChairs = _absent("FlyingChairs", "optical flow")
FlyingThings3D = _absent("FlyingThings3D", "optical flow")
HD1K = _absent("HD1K", "optical flow")
KittiFlow = _absent("KittiFlow", "optical flow")
Sintel = _absent("Sintel", "optical flow")
CarlaStereo = _absent("CarlaStereo", "stereo images")
CREStereo = _absent("CREStereo", "stereo images")
ETH3DStereo = _absent("ETH3DStereo", "stereo images")
FallingThingsStereo = _absent("FallingThingsStereo", "stereo images")
InStereo2k = _absent("InStereo2k", "stereo images")
Kitti2012Stereo = _absent("Kitti2012Stereo", "stereo images")
Kitti2015Stereo = _absent("Kitti2015Stereo", "stereo images")
Middlebury2014Stereo = _absent("Middlebury2014Stereo", "stereo images")
SceneFlowStereo = _absent("SceneFlowStereo", "stereo images")
SintelStereo = _absent("SintelStereo", "stereo images")
