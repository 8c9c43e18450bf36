-- Lines of the bank's statement that show money which a person recorded before: receipts that were
-- sent back, and sweeps of fees. Such a line is matched with the movement, and nothing is booked.

ALTER TABLE bank_lines
    DROP CONSTRAINT bank_lines_use_check,
    DROP CONSTRAINT bank_lines_check3,
    DROP CONSTRAINT bank_lines_check5,
    ADD CONSTRAINT bank_lines_use_check CHECK (use IN ('topup', 'receipt', 'assigned', 'sent_back',
        'settled', 'returned', 'charge', 'matched', 'none')),
    ADD CONSTRAINT bank_lines_check3
        CHECK (use NOT IN ('charge', 'matched') OR tid IS NOT NULL AND amount < 0),
    ADD CONSTRAINT bank_lines_check5 CHECK ((use IN ('assigned', 'sent_back', 'charge', 'matched'))
        = (num_nulls(handled_at, handled_by) = 0));
-- A movement is matched by one line.
CREATE UNIQUE INDEX bank_lines_matched_once ON bank_lines (tid) WHERE use = 'matched';
CREATE INDEX bank_lines_sent_back ON bank_lines (amount) WHERE use = 'sent_back';
