"""Reads about people: their places, their invitations."""
