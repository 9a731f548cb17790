"""Who somebody is: proofs of a password that is not kept."""
