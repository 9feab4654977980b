"""Faults that are put into one stage of a compile, by the stage that they are put into."""

from . import aot, captured, generated, larger, post_grad
from .kit import FAULTS, kernel, plain

__all__ = ["FAULTS", "aot", "captured", "generated", "kernel", "larger", "plain", "post_grad"]
