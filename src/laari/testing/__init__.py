"""A sandbox for the tests of a shop: pytest fixtures, and what they are made of.

pytest finds the fixtures by itself where `laari[testing]` is installed; `plugin.py` has them. This
package is imported at the start of every pytest run, so nothing is imported here.
"""
