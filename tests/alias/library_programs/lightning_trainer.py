"""Lightning: Trainer.fit with validation, callbacks, a checkpoint and a CSV log; the same under both of its packages."""

import csv
import importlib
import logging
import os
import tempfile
import warnings
from pathlib import Path

import fixed
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)


def trained(package):
    pl = importlib.import_module(package)

    class Classifier(pl.LightningModule):
        def __init__(self, width=8, lr=0.05):
            super().__init__()
            self.save_hyperparameters()
            self.layers = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 3))

        def forward(self, x):
            return self.layers(x)

        def training_step(self, batch, index):
            loss = nn.functional.cross_entropy(self(batch[0]), batch[1])
            self.log("train_loss", loss, on_step=True, on_epoch=True)
            return loss

        def validation_step(self, batch, index):
            self.log("val_loss", nn.functional.cross_entropy(self(batch[0]), batch[1]), prog_bar=True)

        test_step = validation_step

        def predict_step(self, batch, index):
            return self(batch[0]).argmax(1)

        def configure_optimizers(self):
            optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.lr)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)]

    pl.seed_everything(7)
    data = TensorDataset(fixed.numbers(24, 6), fixed.whole_numbers(24, below=3))
    callbacks = importlib.import_module(f"{package}.callbacks")
    loggers = importlib.import_module(f"{package}.loggers")
    with tempfile.TemporaryDirectory() as folder:
        logger = loggers.CSVLogger(folder, name="log", version=0)
        best = callbacks.ModelCheckpoint(f"{folder}/checkpoints", monitor="val_loss")
        trainer = pl.Trainer(
            max_epochs=3, accelerator="cpu", logger=logger, log_every_n_steps=1, enable_progress_bar=False,
            enable_model_summary=True, callbacks=[best, callbacks.EarlyStopping("val_loss"), callbacks.LearningRateMonitor()],
            gradient_clip_val=1.0, accumulate_grad_batches=1, num_sanity_val_steps=1,
        )  # fmt: skip
        model = Classifier()
        trainer.fit(model, DataLoader(data, 8, shuffle=True), DataLoader(data, 8))
        logger.save()
        with open(Path(logger.log_dir) / "metrics.csv") as file:
            rows = list(csv.DictReader(file))
        again = Classifier.load_from_checkpoint(best.best_model_path)
        tested = trainer.test(again, DataLoader(data, 8), verbose=False)
        predicted = torch.cat(trainer.predict(again, DataLoader(data, 8)))
        resumed = pl.Trainer(
            max_epochs=4, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
        )
        resumed.fit(Classifier(), DataLoader(data, 8), DataLoader(data, 8), ckpt_path=best.best_model_path)
        files = sorted(os.listdir(logger.log_dir))
    columns = ("train_loss_step", "train_loss_epoch", "val_loss", "lr-Adam")
    found = {name: [float(row[name]) for row in rows if row.get(name)] for name in columns}
    return {
        **found,
        "tested": tested[0]["val_loss"],
        "predicted": predicted.tolist(),
        "resumed": [resumed.current_epoch, resumed.global_step, float(resumed.callback_metrics["val_loss"])],
        "files": len(files),
    }


def manual():
    """Manual optimization with two optimizers, and Fabric's loop."""
    import lightning

    class Two(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = False
            self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 3)
            self.losses = []

        def training_step(self, batch, index):
            first, second = self.optimizers()
            loss = nn.functional.cross_entropy(self.b(torch.tanh(self.a(batch[0]))), batch[1])
            first.zero_grad()
            second.zero_grad()
            self.manual_backward(loss)
            first.step()
            second.step()
            self.losses.append(loss.item())

        def configure_optimizers(self):
            return torch.optim.SGD(self.a.parameters(), 0.1), torch.optim.Adam(self.b.parameters(), 0.01)

    lightning.seed_everything(3)
    data = DataLoader(TensorDataset(fixed.numbers(24, 6), fixed.whole_numbers(24, below=3)), 8)
    model = fixed.fill(Two())
    lightning.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
    ).fit(model, data)
    return model.losses


def fabric():
    """Fabric: a loop of one's own."""
    from lightning.fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.seed_everything(5)
    model = nn.Linear(6, 3)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), 0.1))
    data = fabric.setup_dataloaders(
        DataLoader(TensorDataset(fixed.numbers(24, 6), fixed.whole_numbers(24, below=3)), 8, shuffle=True)
    )
    losses = []
    for x, y in data:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        fabric.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    return losses


fixed.main({
    "pytorch_lightning": lambda: trained("pytorch_lightning"),
    "lightning": lambda: trained("lightning.pytorch"),
    "manual": manual,
    "fabric": fabric,
})  # fmt: skip
