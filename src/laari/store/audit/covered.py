"""The coverage of every table of the schema."""

from laari.store.audit import covered_money, covered_payments, covered_people

TABLES = {**covered_payments.TABLES, **covered_money.TABLES, **covered_people.TABLES}
