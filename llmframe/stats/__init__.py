"""Numbers about labels: sequences in, numbers with what they are worth out; no frame, no key."""
