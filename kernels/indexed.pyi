"""What a list of offsets names, taken out of an array or put into one."""
FOLDS: tuple[str, ...]
