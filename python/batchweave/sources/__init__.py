# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Inputs of producers that need packages of others: `parquet` (pyarrow), `hf` (datasets)."""
