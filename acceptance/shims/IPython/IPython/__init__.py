"""`IPython` without a notebook, as matplotlib and programs ask for it: what would be shown there is not."""

version_info = (9, 18, 1)


def get_ipython():
    """There is none."""
