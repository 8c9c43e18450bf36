"""Laari: merchant payments and wallets in Maldivian rufiyaa."""

__version__ = "0.1.0"
