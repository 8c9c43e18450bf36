"""Writes the packaged list of common passwords anew, from the list that comes with zxcvbn.

    pip install zxcvbn && python tools/common_passwords.py

The list serves two purposes: passwords long enough to be chosen, which are refused as they are,
and shorter words, which are refused with digits or signs around them. So all of the former are
kept, and of the latter those that stand at the top.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from laari.rules.passwords import LIST, MIN_LENGTH, plain

SHORT_WORDS = 9_000  # kept of those shorter than a password may be
SHORTEST_WORD = 4

ABOUT = """\
# Common passwords, in lower case, sorted. Made by tools/common_passwords.py from the list in
# zxcvbn 4.5.0, which is under the MIT licence:
#
# Copyright (c) 2016 Daniel Wolf
#
# Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
# associated documentation files (the "Software"), to deal in the Software without restriction,
# including without limitation the rights to use, copy, modify, merge, publish, distribute,
# sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
# furnished to do so, subject to the following conditions:
#
# The above copyright notice and this permission notice shall be included in all copies or
# substantial portions of the Software.
#
# THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
# NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
# NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
# DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT
# OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""
# What people here would choose, and other lists do not have.
OF_THIS_PLACE = """maldives dhivehi raajje rufiyaa laari fahipay dhiraagu ooredoo hulhumale
addu fuvahmulah thaana bodumas assalaamu bismillah alhamdulillah wallet payment merchant dashboard
sandbox changeme letmein welcome"""


def main() -> None:
    lists = importlib.import_module("zxcvbn.frequency_lists").FREQUENCY_LISTS
    ranked = [plain(word) for word in lists["passwords"]]
    long = [word for word in ranked if len(word) >= MIN_LENGTH]
    short = [word for word in ranked if SHORTEST_WORD <= len(word) < MIN_LENGTH][:SHORT_WORDS]
    words = sorted({*long, *short, *OF_THIS_PLACE.split()})
    Path(LIST).write_text(ABOUT + "\n".join(words) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
