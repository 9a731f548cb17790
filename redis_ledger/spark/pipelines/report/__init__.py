"""The report of a reconciliation: one HTML file without external resources."""
