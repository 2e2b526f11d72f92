"""`wandb` that keeps nothing: the calls of a training script go nowhere."""


class _Run:
    config = type("Config", (dict,), {"update": lambda self, *args, **kwargs: None})()

    def log(self, *args, **kwargs):
        pass

    def finish(self):
        pass


class Image:
    def __init__(self, data, **options):
        self.data = data


class Histogram(Image):
    pass


def init(**options):
    return _Run()


def log(*args, **kwargs):
    pass
