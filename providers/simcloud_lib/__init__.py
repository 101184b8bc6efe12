"""What `providers/simcloud` is made of."""
