"""How findings are shown: in the terminal, as JSON, as SARIF, as a page."""
