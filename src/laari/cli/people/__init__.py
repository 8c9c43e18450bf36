"""Commands about merchants, customers and the people who work for them."""
