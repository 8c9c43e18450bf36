"""What a request may hold: fields, JSON, cursors, and hints for mistakes."""
