"""What a user calls: ``prepare_debug``, ``debug``, ``find_nan``, the command line."""
