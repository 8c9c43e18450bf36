"""The merchant's dashboard. Each mode has addresses of its own: `/dashboard/live`, `/sandbox`."""
