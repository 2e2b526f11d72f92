"""`python -m tools.site [folder]`: build the site (by default into build/site), with warnings as errors.

Needs the extra `docs`. The pages are those of the repository: `sources.py` copies README, CONTRIBUTING and docs/, and adds what
is generated, the API reference (`api.py`), the coverage of torch's names (`coverage.py`) and a notebook for each lesson
(`notebooks.py`); Sphinx makes HTML of them (decision 42). The lessons' pictures are drawn by `python -m tools.site.pictures`.
"""
