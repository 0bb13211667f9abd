# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Thin modules for trainers: where each of them knows that a checkpoint is durable."""
