"""Connections to PostgreSQL: made, pooled, bounded in time; and the migrations."""
