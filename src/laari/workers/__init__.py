"""What runs in the background process."""
