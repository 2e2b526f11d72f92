"""torch's behaviour by theme: sessions recorded from torch, repeated under Rushlight (`test_themes.py`)."""
