"""Operators of the private domain interp: what passes write in place of the standard's, a file a family."""
