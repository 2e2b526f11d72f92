"""How the processes of a job meet, and whether they are still there."""
