"""Who has acknowledged what: subscriptions and their cursors."""
