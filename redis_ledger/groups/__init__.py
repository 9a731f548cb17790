"""Who reads what: consumer groups, as the broker that owns them keeps them in memory."""
