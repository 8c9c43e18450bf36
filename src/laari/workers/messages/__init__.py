"""Messages to people: their texts, and their delivery by email and SMS."""
