"""The tests' jobs have a key of their own, in the environment, and leave the user's alone."""

import os

os.environ.setdefault("RUSHLIGHT_JOB_KEY", os.urandom(16).hex())
