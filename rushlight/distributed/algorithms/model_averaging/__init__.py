"""Averages of parameters, for processes that train on their own in between."""
