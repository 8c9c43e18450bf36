"""Queries that change nothing, one module for each resource."""
