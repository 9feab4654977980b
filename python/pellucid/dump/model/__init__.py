# SPDX-License-Identifier: Apache-2.0
"""The data model of a capture: plain, frozen values, and names that are the same in every run."""
