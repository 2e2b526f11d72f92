"""torchvision's names for video, which torchvision 0.28 leaves to the package torchcodec: they raise when called."""


def _absent(name):
    def function(*args, **kwargs):
        raise NotImplementedError(
            f"torchvision.io.{name} is not implemented in Rushlight; the packages 'av' and 'torchcodec' read video"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Not implemented: raises when called."
    return function


read_video = _absent("read_video")
read_video_timestamps = _absent("read_video_timestamps")
write_video = _absent("write_video")
