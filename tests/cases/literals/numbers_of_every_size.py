"""Integers, floats and complex numbers come back exactly."""
small = [0, 1, -1, 255, 256, 65536, -2147483648]
big = [123456789012345678901234567890, -98765432109876543210, 2 ** 100000]
floats = [0.0, -0.0, 1.5, 1e100, 1e-320, 0.1, 3.141592653589793, 1e22]
infinite = [1e309, -1e309]
imaginary = [1j, -1j, 0j, 1.5j, 1e309j]
hexes = [0xffffffff, 0o777, 0b1010]
