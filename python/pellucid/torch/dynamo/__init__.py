# SPDX-License-Identifier: Apache-2.0
"""One transformed frame: from Dynamo's bytecode to source that may run in its place."""
