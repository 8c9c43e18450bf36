"""Settings: the environment read once into one frozen object."""

from __future__ import annotations
