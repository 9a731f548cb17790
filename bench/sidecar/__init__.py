"""Measures acknowledgements: consumers, the store, and what is stored of them."""
