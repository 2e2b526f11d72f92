"""What a tensor is: types, memory and views, history, operators and how a call reaches them, modes, random streams."""

from . import requirements as requirements
