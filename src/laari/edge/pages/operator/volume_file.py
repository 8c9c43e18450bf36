"""Sales by day and merchant as a CSV file, for the desk and `laari volume`."""

from laari.edge.pages.csv_files import BYTE_ORDER_MARK, csv_text, guarded
from laari.rules.money import rufiyaa
from laari.rules.records.tenants import Mode
from laari.store.reads.figures import Figures
from laari.store.reads.money.volume import MerchantDay


def volume_csv(mode: Mode, rows: list[MerchantDay]) -> bytes:
    lines = [["day", "mode", "merchant_id", "merchant", *Figures._fields, "net"]]
    for row in rows:
        sums = row.figures
        lines.append(
            [
                str(row.day),
                mode,
                row.merchant_id,
                guarded(row.merchant_name),
                str(sums.payments),
                rufiyaa(sums.gross),
                rufiyaa(sums.fees),
                str(sums.refunds),
                rufiyaa(sums.refunded),
                rufiyaa(sums.net),
            ]
        )
    return (BYTE_ORDER_MARK + csv_text(lines)).encode()
