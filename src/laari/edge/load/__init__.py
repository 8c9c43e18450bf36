"""Limits on work: admission, rates, turns for heavy work, and the metrics of it."""
