"""The page that a reconciliation leaves: one HTML file that needs nothing else."""
