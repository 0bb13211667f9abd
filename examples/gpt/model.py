# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""A small GPT over packed rows: attention stays within a document's piece."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


def within_pieces(position_ids: torch.Tensor) -> torch.Tensor:
    """position_ids [B, S], from 0 in each piece → mask [B, 1, S, S]: causal, and of one piece."""
    piece = (position_ids == 0).cumsum(1)
    same = piece[:, :, None] == piece[:, None, :]
    return (same & torch.ones(same.shape[1:], dtype=torch.bool).tril())[:, None]


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        b, s, width = x.shape
        q, k, v = (part.view(b, s, self.heads, -1).transpose(1, 2) for part in self.mix(self.before(x)).chunk(3, -1))
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(b, s, width)
        x = x + self.out(seen)
        made: torch.Tensor = x + self.down(F.gelu(self.up(self.between(x))))
        return made


class GPT(nn.Module):
    def __init__(self, vocabulary: int, seq_len: int, width: int = 64, layers: int = 2, heads: int = 4) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(seq_len, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.last = nn.LayerNorm(width)
        nn.init.normal_(self.tokens.weight, std=0.02)
        nn.init.normal_(self.places.weight, std=0.02)

    def forward(self, tokens: torch.Tensor, position_ids: torch.Tensor) -> torch.Tensor:
        """tokens, position_ids [B, S] → mean loss of the next token within each piece."""
        x = self.tokens(tokens) + self.places(position_ids)
        mask = within_pieces(position_ids)
        for block in self.blocks:
            x = block(x, mask)
        logits = self.last(x) @ self.tokens.weight.T
        # What follows in another piece is not to be predicted.
        wanted = tokens[:, 1:].masked_fill(position_ids[:, 1:] == 0, -100)
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), wanted.flatten(), ignore_index=-100)
