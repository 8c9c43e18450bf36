"""Selling by hand: the counter of a till, and its static code."""

from laari.edge.pages.routes import Routes
from laari.edge.pages.tills import closing, counter, static_code

ROUTES: Routes = [*counter.ROUTES, *closing.ROUTES, *static_code.ROUTES]
