# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The experiments of the paper beside real peers: turns, raw data, a report (bench/README.md)."""
