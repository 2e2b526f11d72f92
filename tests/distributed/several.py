"""Runs functions in several processes that meet through a file; what each returns comes back."""

import pickle
from datetime import timedelta

from rushlight.multiprocessing import start_processes


def _run(rank, size, folder, functions):
    import rushlight.distributed as dist

    dist.init_process_group("gloo", f"file://{folder}/meet", timedelta(seconds=60), world_size=size, rank=rank)
    results = {function.__name__: function(rank, size) for function in functions}
    dist.barrier()
    dist.destroy_process_group()
    with open(f"{folder}/{rank}", "wb") as file:
        pickle.dump(results, file)


def results_of(functions, size, folder):
    """[{function's name: what it returned} for each rank]"""
    start_processes(_run, (size, str(folder), functions), nprocs=size, start_method="spawn")
    results = []
    for rank in range(size):
        with open(f"{folder}/{rank}", "rb") as file:
            results.append(pickle.load(file))
    return results
