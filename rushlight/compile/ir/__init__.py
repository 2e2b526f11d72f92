"""What passes work on: graphs of windows onto memory, and scalar expressions for loops."""
