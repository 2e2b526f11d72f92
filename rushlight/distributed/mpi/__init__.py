"""How processes move data by MPI (the extra `rushlight[mpi]`): the library, its start, its calls, and waiting for them."""
