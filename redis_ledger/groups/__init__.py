"""Consumer groups in the memory of the broker that owns them."""
