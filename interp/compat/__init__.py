"""Stand-ins for other packages: modules with their names, over this one. Each is imported only where a program asks for it."""
