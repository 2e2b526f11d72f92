"""Measurements of Rushlight against torch. `python -m benchmarks eager|operators|imports|inference|pipelines|cifar10|steps|busy|doctor|scale`; torch is optional."""

import argparse

from . import busy, cifar10, doctor, eager, imports, inference, operators, pipelines, scale, steps

parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Rushlight against torch, in one run.")
commands = parser.add_subparsers(dest="command", required=True)
commands.add_parser("eager", help=eager.__doc__).add_argument(
    "pattern", nargs="?", default="", help="only calls that contain this"
)
commands.add_parser("pipelines", help=pipelines.__doc__).add_argument(
    "pattern", nargs="?", default="", help="only cases that contain this"
)
commands.add_parser("imports", help=imports.__doc__)
commands.add_parser("cifar10", help=cifar10.__doc__)
commands.add_parser("doctor", help=doctor.__doc__).add_argument(
    "case", nargs="?", default="", help="only cases that contain this"
)
inference.add_options(commands.add_parser("inference", help=inference.__doc__))
operators.add_options(commands.add_parser("operators", help=operators.__doc__))
steps.add_options(commands.add_parser("steps", help=steps.__doc__))
busy.add_options(commands.add_parser("busy", help=busy.__doc__))
scale.add_options(commands.add_parser("scale", help=scale.__doc__))

if __name__ == "__main__":
    arguments = vars(parser.parse_args())
    modules = {
        "eager": eager,
        "operators": operators,
        "imports": imports,
        "pipelines": pipelines,
        "inference": inference,
        "cifar10": cifar10,
        "steps": steps,
        "busy": busy,
        "doctor": doctor,
        "scale": scale,
    }
    modules[arguments.pop("command")].main(**arguments)
