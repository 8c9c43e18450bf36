"""Commands about customers, the operator and the people of merchants."""
