"""Programs that work on the project itself."""
