"""Selling by hand: the counter of a till, its static code, and reusable links."""

from laari.edge.pages.routes import Routes
from laari.edge.pages.tills import closing, codes, counter, shell

ROUTES: Routes = [*counter.ROUTES, *closing.ROUTES, *shell.ROUTES, *codes.ROUTES]
