"""Programs: graphs of torch's operators, their text, and what runs them."""
