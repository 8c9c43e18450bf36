"""The rows the rules decide over, as immutable values. Amounts are laari, always `int`.

The fields of a record are the columns of its table: the store derives statements from them.
"""
