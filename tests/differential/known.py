"""Differences that stay, with their reasons: (theme, pattern of the statement, pattern of what differs, reason)."""

KNOWN: list[tuple[str, str, str, str]] = []
