"""Measures the service beside what it is compared with, in one run on one machine."""
