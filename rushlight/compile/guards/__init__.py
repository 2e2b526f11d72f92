"""What has to be as it was when a function was captured, found by watching it run, and compared before each replay."""
