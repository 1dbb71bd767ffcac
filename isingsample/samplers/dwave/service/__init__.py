"""The way to a solver: settings, connection, arguments, and failures in plain words."""
