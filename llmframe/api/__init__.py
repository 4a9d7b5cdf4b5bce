"""The composition root: the verbs over any frame, and what one run is."""
