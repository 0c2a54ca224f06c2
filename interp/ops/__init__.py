"""Operators, a file a family."""
