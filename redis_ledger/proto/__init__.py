"""Messages at rest, generated from proto/ by `make proto`; each message's comment names its writer and its reader."""
