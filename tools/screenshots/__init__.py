"""Pictures of the pages, for the documentation and for the eye."""
