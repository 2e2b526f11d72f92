"""Calls of a SummaryWriter, and the events that they have written, as text. Used with torch and with Rushlight."""

import os


def make_calls(torch, np, writer):
    """One call of each kind whose message does not depend on a picture library, with values written by hand."""
    ramp = torch.arange(40.0) / 8 - 2
    writer.add_scalar("a", 1.5, 1)
    writer.add_scalar("b", torch.tensor([2.25]), 2, new_style=True)
    writer.add_scalar("c", np.float64(0.1), 3, new_style=True, double_precision=True)
    writer.add_scalars("m/x", {"p": 1, "q": torch.tensor(2.0)}, 4)
    writer.add_histogram("h", ramp, 1)
    writer.add_histogram("h2", np.arange(50), bins="auto")
    writer.add_histogram("h3", ramp.abs(), bins=64, max_bins=10)
    writer.add_histogram("h4", torch.ones(5, dtype=torch.bfloat16))
    writer.add_histogram_raw("hr", 0, 1, 3, 2, 1, [0.5, 1.0], [1, 2])
    writer.add_text("t", "*text*", 5)
    writer.add_audio("s", ramp[None] / 4, 1)
    writer.add_pr_curve(
        "pr", np.arange(10) % 2, np.linspace(0, 1, 10), 1, num_thresholds=20, weights=np.linspace(0, 1, 10)
    )
    writer.add_pr_curve_raw("prr", [3, 2], [1, 0], [0, 1], [0, 1], [0.75, 1.0], [1.0, 0.6], 1, 2)
    writer.add_hparams({"lr": 0.1}, {"acc": 0.5}, {"lr": [0.1, 0.2]}, run_name="run", global_step=1)
    writer.add_hparams({"opt": "sgd", "none": None}, {"acc": 0.5}, {"opt": ["sgd", "adam"]}, run_name="run2")
    writer.add_hparams({"t": torch.tensor([2.0])}, {}, run_name="run3")
    writer.add_custom_scalars({"c": {"t": ["Multiline", ["a", "b"]], "u": ["Margin", ["a", "b", "c"]]}})
    writer.add_custom_scalars_multilinechart(["a", "b"])
    writer.add_mesh("me", ramp[:12].reshape(1, 4, 3), faces=torch.arange(6).reshape(1, 2, 3), config_dict={"z": 1})
    for values in ([1.5], [[1, 2]], [True], [1 + 2j]):
        writer.add_tensor("te", torch.tensor(values), 1)
    writer.add_embedding(np.eye(3), metadata=[["a", 1], ["b", 2], ["c", 3]], metadata_header=["n", "k"], tag="e/x")
    writer.close()


def events_below(folder):
    """[(place, text)] of all events without their times, and of the files beside them."""
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    found = []
    for root, _, files in sorted(os.walk(folder)):
        for name in sorted(files):
            path, place = os.path.join(root, name), os.path.relpath(root, folder)
            if "tfevents" not in name:
                with open(path, "rb") as file:
                    data = file.read()
                found.append([f"{place}/{name}", data.hex() if name.endswith(".png") else data.decode()])
                continue
            for raw in RawEventFileLoader(path).Load():
                event = Event.FromString(raw)
                event.wall_time = 0
                event.ClearField("source_metadata")
                found.append([place, str(event)])
    return found
