"""What goes out later, webhooks and messages: leased by senders, and recorded."""
