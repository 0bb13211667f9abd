# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A module each: eNN_name.py, with one EXPERIMENT."""
