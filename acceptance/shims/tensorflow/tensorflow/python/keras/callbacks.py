"""The four callback classes that DeepCTR-Torch takes from Keras, as far as its training loop calls them."""


class Callback:
    def set_model(self, model):
        self.model = model

    def on_train_begin(self, logs=None):
        pass

    on_train_end = on_train_begin

    def on_epoch_begin(self, epoch, logs=None):
        pass

    on_epoch_end = on_epoch_begin


class CallbackList:
    def __init__(self, callbacks):
        self.callbacks = callbacks

    def set_model(self, model):
        self.model = model
        for callback in self.callbacks:
            callback.set_model(model)

    def __getattr__(self, name):
        if not name.startswith("on_"):
            raise AttributeError(name)

        def call(*args):
            for callback in self.callbacks:
                getattr(callback, name)(*args)

        return call


class History(Callback):
    def on_train_begin(self, logs=None):
        self.epoch, self.history = [], {}

    def on_epoch_end(self, epoch, logs=None):
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class EarlyStopping(Callback):
    pass


class ModelCheckpoint(Callback):
    pass
