"""Selling by hand: the counter of a till, its static code, and reusable links."""

from laari.edge.pages.routes import Routes
from laari.edge.pages.tills import closing, counter, reusable_link, static_code

ROUTES: Routes = [*counter.ROUTES, *closing.ROUTES, *static_code.ROUTES, *reusable_link.ROUTES]
