"""What each command takes, a file a command: EXAMPLES, which its help begins with, and `arguments(parser)`."""
